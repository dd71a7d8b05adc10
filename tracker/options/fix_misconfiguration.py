"""Correct the flag that voided results, and measure again."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import OptionAssessment
from tracker.domain.finding import Finding
from tracker.options._pricing import benchmark_gpu_hours, price

_SHORT_FIX_WORDS = 10
_NEXT_SENTENCE = re.compile(r"[.?!]\s")


class FixMisconfiguration:
    """Start the server as the drafter needs it."""

    key = "fix_misconfiguration"

    def assess(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Yield the fix while no later healthy run shows it."""
        cause = evidence.analysis.root_cause
        if cause is None or cause.fixed:
            return
        finding = cause.finding
        yield price(
            evidence,
            Valued(
                key=self.key,
                title=_title(finding),
                cost_gpu_hours=benchmark_gpu_hours(evidence),
                evidence=" ".join(filter(None, (f"{finding.code}: {finding.message}", finding.fix))),
                would_change="The first healthy run.",
            ),
            speedup=None,
            missing="void runs say nothing about the speed after the fix",
        )


def _title(finding: Finding) -> str:
    """Return the flag, else the fix where it is one short sentence, as an order."""
    if finding.flag_after is not None:
        return f"Start with {finding.flag_after} and measure again"
    fix = "" if finding.fix is None else finding.fix.strip().removesuffix(".")
    if not fix or _NEXT_SENTENCE.search(fix) or len(fix.split()) > _SHORT_FIX_WORDS:
        return "Correct what voids the results and measure again"
    return f"{fix}; then measure again"


OPTION = FixMisconfiguration()
