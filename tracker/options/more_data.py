"""Train the drafter on more data."""

from __future__ import annotations

from collections.abc import Iterable

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import OptionAssessment
from tracker.analysis.uncertainty import FloatArray
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
            speedup, configuration, how = _served(evidence, length)
            yield price(
                evidence,
                Valued(
                    key=f"{self.key}_{samples}",
                    title=f"Train on {size(samples)} samples",
                    configuration=configuration,
                    cost_gpu_hours=training_gpu_hours(evidence, samples),
                    cost_days=training_days(evidence, samples),
                    cost_split=training_split(evidence, samples),
                    evidence=f"Forecast; {percent(share)} of its slope comes from these data.{how}",
                    would_change="One more training size, far from the measured ones.",
                ),
                speedup=speedup,
                missing="no break-even to compare with",
            )


def _served(evidence: Evidence, length: FloatArray) -> tuple[FloatArray | None, str | None, str]:
    """Return the speed in the curve's configuration, or in the best one where that is faster, with its label."""
    fit = evidence.analysis.scaling
    label = None if fit.configuration is None else fit.configuration.label
    own, carried = evidence.sizes_speedup(length), evidence.carried_speedup(length)
    if own is None or carried is None or carried.mean() <= own.mean():
        return own, label, ""
    best = evidence.configuration_label
    return (
        carried,
        best,
        f" Served as {best}, the fastest here, whose accept length is taken to grow as {label}'s does.",
    )


OPTION = MoreData()
