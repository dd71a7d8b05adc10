"""Flags that nobody knows."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding, Severity
from tracker.domain.server import ServerConfig
from tracker.lint._fix import renamed_flag
from tracker.lint.base import Subject

_SHOWN = 8


class UnknownFlags:
    """The command holds flags that no version we know has.

    argparse refuses an unknown flag, so a server that did start has a fork's or a newer version's flag; before a
    launch it is more likely a typing mistake, and one that resembles a known flag almost certainly is. What a misspelt
    flag was to set is not set, so other checks cannot see it. The flags are kept in the record as typed.

    Source: our table of SGLang's flags, from the wheels 0.4.5 to 0.5.23. vLLM's and llama.cpp's tables hold the flags
    that matter here, so of theirs only misspellings are told.
    """

    codes = ("UNKNOWN_FLAG",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding for every misspelling, and one for all other flags of SGLang."""
        server = subject.server
        if server is None:
            return
        for wrong in server.unknown_flags:
            if wrong in server.flag_suggestions:
                yield _misspelt(server, wrong, server.flag_suggestions[wrong])
        rest = [name for name in server.unknown_flags if name not in server.flag_suggestions]
        if rest and server.engine == "sglang":
            more = f" and {len(rest) - _SHOWN} more" if len(rest) > _SHOWN else ""
            yield Finding(
                code=self.codes[0],
                severity=_severity(server),
                message=f"No SGLang version from 0.4.5 to 0.5.23 has {', '.join(rest[:_SHOWN])}{more}.",
                fix="Check the spelling; flags of a fork or a newer version may be ignored here.",
                confidence="medium",
            )


def _misspelt(server: ServerConfig, wrong: str, right: str) -> Finding:
    known = {"sglang": "SGLang", "vllm": "vLLM"}.get(server.engine or "", server.engine or "the engine")
    return Finding(
        code="UNKNOWN_FLAG",
        severity=_severity(server),
        message=f"{known} has no flag {wrong}; {right} is meant, it seems. What it was to set is not set.",
        fix=renamed_flag(server, wrong, right) if server.argv is not None else right,
        confidence="high",
        flag_before=wrong,
        flag_after=right,
    )


def _severity(server: ServerConfig) -> Severity:
    """Return how bad it is: a server that answered has started all the same."""
    return "info" if server.arguments else "warning"


RULE = UnknownFlags()
