"""Train the drafter on more data."""

from __future__ import annotations

from collections.abc import Iterable

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import OptionAssessment
from tracker.analysis.words import percent, size
from tracker.options._pricing import price, training_days, training_gpu_hours, training_split


class MoreData:
    """Pay for more training samples, at several sizes."""

    key = "more_data"

    def assess(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Yield one variant a size; one unvalued variant where the scaling fit is refused."""
        fit = evidence.analysis.scaling
        if fit.configuration is None:
            return
        if not evidence.sizes:
            yield Valued(
                key=self.key,
                title="Train on more data",
                configuration=fit.configuration.label,
                concurrency=evidence.load,
                would_change=fit.cure,
                unvalued_reason=fit.reason if fit.status == "refused" else "no larger size is offered",
            )
            return
        share = 0.0 if fit.data_share is None else fit.data_share
        for samples, length in sorted(evidence.sizes.items()):
            yield price(
                evidence,
                Valued(
                    key=f"{self.key}_{samples}",
                    title=f"Train on {size(samples)} samples",
                    configuration=fit.configuration.label,
                    cost_gpu_hours=training_gpu_hours(evidence, samples),
                    cost_days=training_days(evidence, samples),
                    cost_split=training_split(evidence, samples),
                    evidence=f"Forecast; {percent(share)} of its slope comes from these data.",
                    would_change="One more training size, far from the measured ones.",
                ),
                speedup=evidence.sizes_speedup(length),
                missing="no break-even to compare with",
            )


OPTION = MoreData()
