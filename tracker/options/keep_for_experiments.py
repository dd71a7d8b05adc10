"""Keep the drafter for experiments, out of production."""

from __future__ import annotations

from collections.abc import Iterable

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import OptionAssessment
from tracker.options._pricing import price


class KeepForExperiments:
    """Archive the drafter with its configuration and go on testing."""

    key = "keep_for_experiments"

    def assess(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Yield the option while today's drafter is not plainly faster."""
        if evidence.best is None or (evidence.verdict is not None and evidence.verdict.status == "faster"):
            return
        yield price(
            evidence,
            Valued(
                key=self.key,
                title="Keep the drafter for experiments",
                configuration=evidence.configuration_label,
                cost_gpu_hours=0.0,
                evidence="Production is not touched; the option to learn from it stays open.",
                would_change="No cheap experiment left that could change the choice: then archive it.",
            ),
            speedup=None,
            missing="it is worth what the next experiment is worth, and costs only attention",
        )


OPTION = KeepForExperiments()
