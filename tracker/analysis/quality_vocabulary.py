"""A draft vocabulary that covers less than was accepted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tracker.analysis.acceptance import vocabulary_ceiling
from tracker.analysis.observations import Observation
from tracker.analysis.results import Note, Point
from tracker.analysis.words import percent


def vocabulary_notes(observations: Sequence[Observation], points: Sequence[Point]) -> Iterable[Note]:
    """Yield one note a run whose whole interval of accept length a perfect drafter could not reach with its words."""
    drafters = {item.run_id: item.record.drafter for item in observations}
    told: set[str] = set()
    for point in points:
        drafter, steps, length = drafters[point.run_id], point.configuration.num_steps, point.accept_length
        coverage = None if drafter is None else drafter.vocabulary_coverage_fraction
        if coverage is None or not 0 < coverage <= 1 or steps is None or point.run_id in told:
            continue
        most = vocabulary_ceiling(coverage, steps)
        if length.value is not None and length.low is not None and most < length.low <= steps + 1:
            told.add(point.run_id)
            yield Note(
                topic="vocabulary coverage",
                message=(
                    f"{point.name}: accept length {length.value:.2f} is more than a vocabulary that covers "
                    f"{percent(coverage)} of the tokens allows ({most:.2f}): the coverage was counted on other text, "
                    "and says nothing about these prompts."
                ),
                run_ids=(point.run_id,),
            )
