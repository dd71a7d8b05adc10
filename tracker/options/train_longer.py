"""Train longer on the same data."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import OptionAssessment
from tracker.analysis.words import percent
from tracker.options._pricing import price, training_gpu_hours, training_split


class TrainLonger:
    """More passes over the same samples."""

    key = "train_longer"

    def assess(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Yield the retraining; published curves flatten after a few passes and then fall."""
        best, priors = evidence.best, evidence.priors
        point = max(evidence.analysis.scaling.points, key=lambda item: item.samples, default=None)
        if best is None or point is None:
            return
        short = point.epochs is not None and point.epochs < priors.longer_least_epochs
        change = np.random.default_rng(evidence.seed + 37).uniform(
            priors.longer_low_fraction, priors.longer_high_fraction, priors.draws
        )
        speedup = None if evidence.speedup is None or short else evidence.speedup * (1 + change)
        yield price(
            evidence,
            Valued(
                key=self.key,
                title="Train longer on the same data",
                configuration=best.configuration.label,
                cost_gpu_hours=training_gpu_hours(evidence, point.samples),
                cost_split=training_split(evidence, point.samples),
                evidence=(
                    f"Published: accept length changes by {percent(priors.longer_low_fraction)} to "
                    f"{percent(priors.longer_high_fraction)} with more passes. Priced like training these "
                    "samples anew, "
                    "which is an upper bound."
                ),
                would_change="Served accept length of two checkpoints of one training.",
            ),
            speedup=speedup,
            missing=f"this drafter saw its data {point.epochs:.1f} times; published curves start there"
            if short
            else "no measured speed to improve on",
        )


OPTION = TrainLonger()
