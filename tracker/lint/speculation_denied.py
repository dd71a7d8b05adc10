"""Acceptance was measured on a server that is said not to speculate."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement
from tracker.lint._subject import pooled
from tracker.lint.base import Subject


class SpeculationDenied:
    """The answers carry verify steps or an accept length, and the server's description has no speculation.

    A server that does not speculate counts no verify steps (SGLang 0.4.5 to 0.5.23 leave `spec_verify_ct` out then,
    vLLM its draft counters), so the description, the log or the counters are of another server than the results.
    Whatever was measured would be filed under the wrong flags: in a comparison the run would even pass for a baseline.

    Source: answers of SGLang 0.5.17 on an H200 with and without a drafter; vLLM's `vllm:spec_decode_*` counters.
    """

    codes = ("SPECULATION_DENIED",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the contradiction, with the number that shows it."""
        if subject.speculation is None or subject.speculation.enabled:
            return
        shown = next((text for cell in pooled(subject) if (text := _acceptance(cell)) is not None), None)
        if shown is None:
            return
        yield Finding(
            code=self.codes[0],
            severity="error",
            message=f"The results hold {shown}, but the server is described as one that does not speculate: the "
            "description is of another server.",
            fix="Log the results with the log, /server_info or command of the server that gave them.",
            confidence="certain",
            voids=("acceptance", "speed"),
        )


def _acceptance(cell: Measurement) -> str | None:
    """Return what shows that drafts were verified, in words."""
    if cell.verify_steps:
        return f"{cell.verify_steps} verify steps"
    length = cell.accept_length
    return f"accept length {length:.3g}" if length is not None and length > 1 else None


RULE = SpeculationDenied()
