"""Printed accept rates and lengths: what they counted, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tracker.analysis.observations import Observation
from tracker.analysis.results import Note


def rate_notes(observations: Sequence[Observation]) -> Iterable[Note]:
    """Yield what printed rates were taken for, the runs whose rate says nothing, and lengths that cannot be."""
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
            and item.cell.reported_accept_length is None
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
    for item in observations:
        printed = item.cell.reported_accept_length
        if item.speculative and not item.step_time_only and item.length is None and printed is not None:
            yield Note(
                topic="accept length",
                message=(
                    f"{item.record.name}: an accept length of {printed.value:.2f} is less than the bonus token of "
                    "every step, so something else was logged under that name: no break-even follows."
                ),
                run_ids=(item.run_id,),
            )
