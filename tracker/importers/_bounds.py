"""What an accept rate says about the accept length where a table gives none: the length itself, or a bound."""

from __future__ import annotations

from tracker.domain.finding import Finding
from tracker.domain.measurement import Reported
from tracker.importers._rows import Cells


def from_rate(cells: Cells, rate: Reported) -> tuple[Reported | None, dict[str, float], list[Finding]]:
    """Return the accept length that a rate alone tells, or what it is at most, with the finding that says so.

    vLLM drafts K tokens at every step, so that 1 + K x rate is the accept length; llama.cpp may stop drafting before
    its window is full, so that it is no more than that.
    """
    drafts, window = cells.count("num_speculative_tokens"), cells.count("draft_window")
    if drafts:
        half = None if rate.half_width is None else drafts * rate.half_width
        length = Reported(value=1 + drafts * rate.value, half_width=half)
        message = f"No accept length is given; it is 1 + {drafts} drafts x {rate.value:g} = {length.value:.3f}."
        return length, {}, [Finding(code="ACCEPT_LENGTH_FROM_RATE", severity="info", message=message)]
    if window:
        most = 1 + window * rate.value
        message = (
            f"No accept length is given. It is at most 1 + {window} drafts x {rate.value:g} = {most:.3f}: llama.cpp "
            "may stop drafting before its window is full; kept as accept_length_at_most."
        )
        return None, {"accept_length_at_most": most}, [_at_most(message)]
    return None, {}, []


def _at_most(message: str) -> Finding:
    return Finding(
        code="ACCEPT_LENGTH_AT_MOST",
        severity="info",
        message=message,
        fix="Log the server's log: it counts the steps, and newer builds print the mean acceptance length.",
    )
