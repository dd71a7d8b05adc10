"""The command that is right, made from the command that was wrong."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tracker.domain.server import ServerConfig

_NOTHING: Mapping[str, str] = MappingProxyType({})


def corrected_command(server: ServerConfig | None, flag: str, value: str) -> str:
    """Return the whole launch command with one flag set, or just the flag where the command is not known.

    Args:
        server: How the server is launched.
        flag: The flag's full name, `--speculative-algorithm`.
        value: Its right value.
    """
    if server is None or server.argv is None:
        return f"{flag} {shlex.quote(value)}"
    return command(_with_flag(server.argv, flag, value))


def with_command(
    server: ServerConfig | None, step: str, *, sets: Mapping[str, str] = _NOTHING, drops: Sequence[str] = ()
) -> str:
    """Return a step with the whole corrected command behind it, or the step alone where the command is not known.

    Args:
        server: How the server is launched.
        step: What to do, a sentence.
        sets: Flags and their right values.
        drops: Flags to leave out, values with them.
    """
    if server is None or server.argv is None or server.argv[0].startswith("-"):
        return step
    words: Sequence[str] = server.argv
    for flag in drops:
        words = without_flag(words, flag)
    for flag, value in sets.items():
        words = _with_flag(words, flag, value)
    return step if words == server.argv else f"{step.rstrip('.')}: {' '.join(_quote(word) for word in words)}"


def with_json(server: ServerConfig | None, flag: str, key: str, value: object) -> str | None:
    """Return the whole command with one key of a flag's JSON set; None where the command or its JSON is not known."""
    words = list(server.argv) if server is not None and server.argv is not None else []
    for index, word in enumerate(words):
        name, equals, attached = word.partition("=")
        at = index if equals else index + 1
        if name.replace("_", "-") != flag or at >= len(words):
            continue
        try:
            content = json.loads(attached if equals else words[at])
        except ValueError:
            return None
        if isinstance(content, dict):
            text = json.dumps({**content, key: value})
            words[at] = f"{name}={text}" if equals else text
            return command(words)
    return None


def without_flag(argv: Sequence[str], flag: str) -> list[str]:
    """Return the words without a flag and the values that follow it."""
    words: list[str] = []
    dropping = False
    for word in argv:
        if word.startswith("-") and not word[1:2].isdigit():
            name, equals, _ = word.partition("=")
            dropping = _means(name, flag)
            if dropping:
                dropping = not equals
                continue
        if not dropping:
            words.append(word)
    return words


def renamed_flag(server: ServerConfig, wrong: str, right: str) -> str:
    """Return the whole command with one flag's name put right."""
    words = [
        right + word[len(wrong) :] if word == wrong or word.startswith(f"{wrong}=") else word
        for word in server.argv or ()
    ]
    return command(words)


def command(words: Sequence[str]) -> str:
    """Return words as one line for the shell."""
    return " ".join(_quote(word) for word in words)


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
