"""Serve the best configuration as it was measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import OptionAssessment
from tracker.analysis.words import listed, percent, streams
from tracker.options._pricing import price, with_value
from tracker.options._traffic import Served, served_loads


class DeployBest:
    """Put today's best candidate into production."""

    key = "deploy_best"

    def assess(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Yield the best candidate; a slower one loses GPU-hours all the time."""
        best = evidence.best
        if best is None:
            return
        option = price(
            evidence,
            Valued(
                key=self.key,
                title="Deploy today's drafter",
                configuration=best.configuration.label,
                cost_gpu_hours=0.0,
                evidence=f"Measured: {best.name}.",
                would_change="Another measured speed: repeats on freshly started servers, the baseline in between.",
            ),
            speedup=evidence.speedup,
            missing="no baseline to compare it with",
            forced=True,
        )
        loads = served_loads(evidence, best)
        yield option if len(loads) < 2 or option.saved_fraction is None else _over_all(evidence, option, loads)


def _over_all(evidence: Evidence, option: Valued, loads: Sequence[Served]) -> Valued:
    """Return the option valued over every measured load of the traffic: the drafter serves them all."""
    saved = np.sum([item.share * (1 - 1 / item.speedup) for item in loads], axis=0)
    expected = sum(item.share * (1 - 1 / float(np.mean(item.speedup))) for item in loads)
    parts = listed(
        [
            f"{float(np.median(item.speedup)):.2f} at {streams(item.concurrency)} ({percent(item.share)} of the time)"
            for item in loads
        ]
    )
    words = f"{option.evidence} Over the baseline: {parts}."
    return replace(with_value(evidence, option, saved, expected=expected), evidence=words)


OPTION = DeployBest()
