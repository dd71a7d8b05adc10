"""What the configuration that served the sizes allows: its depth, and the tokens that the draft vocabulary covers."""

from __future__ import annotations

from collections.abc import Sequence

from tracker.analysis._forms import Chain
from tracker.analysis.acceptance import vocabulary_ceiling
from tracker.analysis.priors import Priors
from tracker.analysis.scaling_points import SizePoint


def chain_of(points: Sequence[SizePoint], priors: Priors) -> tuple[Chain, int | None]:
    """Return what the served configuration allows, and the number of steps that had to be assumed, if any."""
    recorded = points[0].observation.configuration.num_steps
    steps = priors.assumed_num_steps if recorded is None else recorded
    longest = _longest(points)
    coverage = min((found for found in _coverages(points) if vocabulary_ceiling(found, steps) >= longest), default=1.0)
    return (
        Chain(
            num_steps=steps,
            max_acceptance=min(coverage, priors.acceptance_ceiling),
            max_length=vocabulary_ceiling(coverage, steps),
        ),
        steps if recorded is None else None,
    )


def contradicted_coverage(points: Sequence[SizePoint], steps: int) -> float | None:
    """Return a coverage that allows less than the longest accept length measured, beyond its error; None without one.

    Coverage is counted on some text and accept length served on another: where they disagree the served one holds.
    """
    longest = _longest(points)
    return min((found for found in _coverages(points) if vocabulary_ceiling(found, steps) < longest), default=None)


def _longest(points: Sequence[SizePoint]) -> float:
    """Return the longest accept length less twice its error: what was surely served."""
    return max(point.length - 2 * point.se for point in points)


def _coverages(points: Sequence[SizePoint]) -> list[float]:
    drafters = [point.observation.record.drafter for point in points]
    known = [drafter.vocabulary_coverage_fraction for drafter in drafters if drafter is not None]
    return [found for found in known if found is not None and 0 < found <= 1]
