"""The command that is right, made from the command that was wrong."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tracker.domain.server import ServerConfig


def corrected_command(server: ServerConfig | None, flag: str, value: str) -> str:
    """Return the whole launch command with one flag set, or just the flag where the command is not known.

    Args:
        server: How the server is launched.
        flag: The flag's full name, `--speculative-algorithm`.
        value: Its right value.
    """
    if server is None or server.argv is None:
        return f"{flag} {shlex.quote(value)}"
    return " ".join(_quote(word) for word in _with_flag(server.argv, flag, value))


def _quote(word: str) -> str:
    """Return a word quoted for the shell; a masked home folder stays open, so that the shell fills it in."""
    home, slash, rest = word.partition("/")
    return f"~/{shlex.quote(rest)}" if home == "~" and slash and rest else shlex.quote(word)


def _with_flag(argv: Sequence[str], flag: str, value: str) -> list[str]:
    words = list(argv)
    for index, word in enumerate(words):
        name, equals, _ = word.partition("=")
        if not _means(name, flag):
            continue
        if equals:
            words[index] = f"{name}={value}"
        elif index + 1 < len(words):
            words[index + 1] = value
        return words
    return [*words, flag, value]


def _means(name: str, flag: str) -> bool:
    """Return whether a typed name is this flag or an abbreviation that argparse takes for it.

    An abbreviation reaches into the flag's last word (`--speculative-algo`); anything shorter could be another flag.
    """
    return name == flag or (flag.startswith(name) and len(name) > flag.rindex("-") + 1 > 2)
