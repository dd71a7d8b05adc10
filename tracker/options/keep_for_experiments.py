"""Keep the drafter for experiments, out of production."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import NextExperiment, OptionAssessment
from tracker.analysis.words import count
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

    def settle(self, option: Valued, upcoming: NextExperiment | None, leading: OptionAssessment | None) -> Valued:
        """Return the option with what the next experiment is worth, or with the advice to archive the drafter."""
        if upcoming is None and leading is not None and leading.key != "keep_baseline":
            reason = f'"{leading.title}" leads and no cheap experiment would change that'
            return replace(option, unvalued_reason=reason)
        if upcoming is None:
            return replace(
                option,
                title="Archive the drafter",
                unvalued_reason="no cheap experiment is known that is worth its price: nothing is gained by keeping it",
                would_change="An experiment that could change the choice, or another drafter to test beside it.",
            )
        if upcoming.net_value_gpu_hours is None:
            return option
        worth = upcoming.net_value_gpu_hours
        shown = "under 1 GPU-hour" if worth < 1 else count(round(worth), "GPU-hour")
        reason = f"it is worth what the next experiment is worth, {shown} net of its price, and costs only attention"
        return replace(option, unvalued_reason=reason)


OPTION = KeepForExperiments()
