"""Flags that nobody knows."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint.base import Subject

_SHOWN = 8


class UnknownFlags:
    """The command holds flags that no version we know has.

    argparse refuses an unknown flag, so a server that did start has a fork's or a newer version's flag; before a
    launch it is more likely a typing mistake. The flags are kept in the record as typed.

    Source: our table of SGLang's flags, from the wheels 0.4.5 to 0.5.23.
    """

    codes = ("UNKNOWN_FLAG",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the flags; only SGLang's are known completely enough to be judged."""
        server = subject.server
        if server is None or server.engine != "sglang" or not server.unknown_flags:
            return
        names = ", ".join(server.unknown_flags[:_SHOWN])
        yield Finding(
            code=self.codes[0],
            severity="info" if server.arguments else "warning",
            message=f"No SGLang version from 0.4.5 to 0.5.23 has {names}.",
            fix="Check the spelling; flags of a fork or a newer version may be ignored here.",
            confidence="medium",
        )


RULE = UnknownFlags()
