"""Printed accept rates: what they counted, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tracker.analysis.observations import Observation
from tracker.analysis.results import Note


def rate_notes(observations: Sequence[Observation]) -> Iterable[Note]:
    """Yield what printed rates were taken for, and the runs whose rate says nothing."""
    old = tuple(
        dict.fromkeys(
            item.run_id for item in observations if item.cell.accept_rate_convention == "length_over_draft_tokens"
        )
    )
    if old:
        yield Note(
            topic="accept rate",
            message=(
                "Printed accept rates are accept length over draft tokens, as older SGLang builds print them; "
                "they were "
                "recomputed to accepted over proposed drafts."
            ),
            run_ids=old,
        )
    mute = tuple(
        dict.fromkeys(
            item.run_id
            for item in observations
            if item.speculative
            and item.length is None
            and not item.step_time_only
            and item.cell.reported_accept_rate is not None
        )
    )
    if mute:
        yield Note(
            topic="accept rate",
            message=(
                "Accept rates were printed without an accept length, and nothing says what they count or how many "
                "tokens were drafted: no break-even follows. Log the accept length, or the server's flags and tool."
            ),
            run_ids=mute,
        )
