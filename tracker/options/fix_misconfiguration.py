"""Correct the flag that voided results, and measure again."""

from __future__ import annotations

from collections.abc import Iterable

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import OptionAssessment
from tracker.options._pricing import benchmark_gpu_hours, price


class FixMisconfiguration:
    """Start the server as the drafter needs it."""

    key = "fix_misconfiguration"

    def assess(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Yield the fix while no later healthy run shows it."""
        cause = evidence.analysis.root_cause
        if cause is None or cause.fixed:
            return
        fix = cause.finding.flag_after or cause.finding.fix
        yield price(
            evidence,
            Valued(
                key=self.key,
                title="Fix the flag and measure again" if fix is None else f"Start with {fix} and measure again",
                cost_gpu_hours=benchmark_gpu_hours(evidence),
                evidence=f"{cause.finding.code}: {cause.finding.message}",
                would_change="The first healthy run.",
            ),
            speedup=None,
            missing="void runs say nothing about the speed after the fix",
        )


OPTION = FixMisconfiguration()
