"""Serve a configuration that was predicted but never measured."""

from __future__ import annotations

from collections.abc import Iterable

from tracker.analysis.decision import Evidence, Valued, noise_at
from tracker.analysis.results import OptionAssessment
from tracker.analysis.words import percent
from tracker.options._pricing import benchmark_gpu_hours, price

# Below this chance a configuration is listed as not worth a test instead.
LEAST_CHANCE = 0.05


class TuneConfiguration:
    """Change steps, branches or draft tokens with today's drafter."""

    key = "tune_configuration"

    def assess(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Yield untested configurations that may beat the baseline."""
        for found in evidence.untested:
            speedup = found.speedup
            if float((speedup > 1).mean()) < LEAST_CHANCE:
                continue
            yield price(
                evidence,
                Valued(
                    key=f"{self.key}_{found.key}",
                    title=f"Tune to {found.label}",
                    configuration=found.label,
                    cost_gpu_hours=benchmark_gpu_hours(evidence),
                    evidence=f"Predicted, not measured: {found.basis}. {_noise_words(evidence)}",
                    would_change="One benchmark of it, the baseline before and after.",
                ),
                speedup=speedup,
                missing="",
            )


def _noise_words(evidence: Evidence) -> str:
    noise = noise_at(evidence.analysis, evidence.load, evidence.priors)
    where = "an assumption" if noise.source == "default" else "measured"
    return f"The chance carries what servers of one configuration differ by: {percent(noise.sd)}, {where}."


OPTION = TuneConfiguration()
