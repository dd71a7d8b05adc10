"""One run at every load of the traffic where it was measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracker.analysis.decision import Evidence, log_normal_draws
from tracker.analysis.results import Point
from tracker.analysis.uncertainty import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Served:
    """One load of the traffic."""

    concurrency: int
    """Streams."""
    share: float
    """Share of the serving time."""
    speedup: FloatArray
    """Over the baseline there, on the traffic's categories, draws."""


def served_loads(evidence: Evidence, best: Point) -> tuple[Served, ...]:
    """Return the traffic's loads at which the run of `best` was compared with a baseline; none where not stated.

    One server serves them all, so a draw in which it is fast is fast at every load.
    """
    found = []
    for load, share in sorted(evidence.campaign.traffic.by_concurrency.items()):
        point = next(
            (item for item in evidence.analysis.points if (item.run_id, item.concurrency) == (best.run_id, load)), None
        )
        usable = point is not None and point.excluded_reason is None and share > 0
        if point is None or not usable:
            continue
        scores = np.random.default_rng(evidence.seed + 83)
        speedup = log_normal_draws(point.speedup, evidence.priors.draws, scores)
        if load == evidence.load and evidence.speedup is not None:
            found.append(Served(concurrency=load, share=share, speedup=evidence.speedup))
        elif speedup is not None:
            found.append(Served(concurrency=load, share=share, speedup=speedup * evidence.mix_factor))
    return tuple(found)
