"""Serve without speculation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import OptionAssessment
from tracker.domain.estimate import Estimate
from tracker.options._pricing import price


class KeepBaseline:
    """Stay on, or go back to, the plain server."""

    key = "keep_baseline"

    def assess(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Yield the baseline, which every other option is measured against."""
        baseline = evidence.baseline
        if baseline is None:
            return
        option = price(
            evidence,
            Valued(
                key=self.key,
                title="Keep the baseline",
                configuration=baseline.configuration.label,
                cost_gpu_hours=0.0,
                evidence=f"Measured: {baseline.name}.",
                would_change="A configuration whose whole interval lies above 1.",
            ),
            speedup=np.ones(evidence.priors.draws),
            missing="",
        )
        yield _exact(option, baseline.throughput_tok_s)


def _exact(option: Valued, speed: Estimate) -> Valued:
    return replace(option, p_beats_baseline=None, expected_tok_s=speed)


OPTION = KeepBaseline()
