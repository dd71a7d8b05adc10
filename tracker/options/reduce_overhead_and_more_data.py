"""Cut overhead first, then train on more data."""

from __future__ import annotations

from collections.abc import Iterable

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import OptionAssessment
from tracker.analysis.words import percent, size
from tracker.options._pricing import price, training_days, training_gpu_hours, training_split


class ReduceOverheadAndMoreData:
    """Both levers together, at several sizes."""

    key = "reduce_overhead_and_more_data"

    def assess(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Yield one variant a size, where both parts can be priced."""
        fit, hours = evidence.analysis.scaling, evidence.campaign.costs.overhead_fix_gpu_hours
        saved = evidence.overhead_saved
        if fit.configuration is None or hours is None or saved is None or evidence.sizes_break_even is None:
            return
        share = 0.0 if fit.data_share is None else fit.data_share
        for samples, length in sorted(evidence.sizes.items()):
            yield price(
                evidence,
                Valued(
                    key=f"{self.key}_{samples}",
                    title=f"Cut overhead, train on {size(samples)} samples",
                    configuration=fit.configuration.label,
                    cost_gpu_hours=hours + training_gpu_hours(evidence, samples),
                    cost_days=training_days(evidence, samples),
                    cost_split=training_split(evidence, samples, engineering_gpu_hours=hours),
                    evidence=(
                        f"Split of the step time and forecast; {percent(share)} of its slope comes from these data."
                    ),
                    would_change="How much overhead can go, and one more training size.",
                ),
                speedup=evidence.sizes_speedup(length, saved=saved),
                missing="",
            )


OPTION = ReduceOverheadAndMoreData()
