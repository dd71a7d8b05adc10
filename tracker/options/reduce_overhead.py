"""Engineer away part of the fixed overhead of a step."""

from __future__ import annotations

from collections.abc import Iterable

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import OptionAssessment
from tracker.options._pricing import price


class ReduceOverhead:
    """Cut the part of a step that is neither drafting nor checking."""

    key = "reduce_overhead"

    def assess(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Yield the work at the cost campaign.toml states."""
        fit = evidence.analysis.step_time
        if evidence.best is None or fit.example_step_ms is None:
            return
        length, bar, saved = evidence.accept_length, evidence.break_even, evidence.overhead_saved
        # The measured server is changed, not replaced by a new start: its break-even carries its noise already.
        speedup = None if length is None or bar is None or saved is None else length / (bar - saved)
        hours = evidence.campaign.costs.overhead_fix_gpu_hours
        fixed = fit.fixed_ms.value
        yield price(
            evidence,
            Valued(
                key=self.key,
                title="Cut overhead only",
                configuration=evidence.configuration_label,
                cost_gpu_hours=hours,
                evidence=None
                if fixed is None
                else f"{fixed:.1f} of {fit.example_step_ms:.1f} ms a step are fixed overhead.",
                would_change="A profile of one step, or a run with the overlap scheduler: how much of it can go.",
                unvalued_reason=None if hours is not None else "campaign.toml states no overhead_fix_gpu_hours",
            ),
            speedup=speedup,
            missing=f"the fixed overhead is not known: {fit.reason or 'the step time could not be split'}",
        )


OPTION = ReduceOverhead()
