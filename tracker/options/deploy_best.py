"""Serve the best configuration as it was measured."""

from __future__ import annotations

from collections.abc import Iterable

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import OptionAssessment
from tracker.options._pricing import price


class DeployBest:
    """Put today's best candidate into production."""

    key = "deploy_best"

    def assess(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Yield the best candidate; a slower one loses GPU-hours all the time."""
        best = evidence.best
        if best is None:
            return
        yield price(
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


OPTION = DeployBest()
