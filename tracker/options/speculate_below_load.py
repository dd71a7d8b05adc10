"""Speculate only at loads where it pays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import LoadVerdict, OptionAssessment, Point
from tracker.analysis.words import listed, percent, streams
from tracker.analysis.words import loads as in_words
from tracker.domain.estimate import Estimate
from tracker.options._pricing import with_cost, with_value
from tracker.options._traffic import served_loads


class SpeculateBelowLoad:
    """Route low load to the drafter and the rest to the baseline."""

    key = "speculate_below_load"

    def assess(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Yield the split where loads differ and at least one is faster."""
        verdicts = [(load.concurrency, load) for load in evidence.analysis.verdict.by_concurrency]
        known = [(count, load) for count, load in verdicts if count is not None]
        faster = [(count, load) for count, load in known if load.status == "faster"]
        others = [(count, load) for count, load in known if load.status != "faster"]
        if not faster or not others:
            return
        highest, top = max(faster, key=lambda pair: pair[0])
        best = _row(evidence, top.best_run_id, highest)
        base = _row(evidence, top.baseline_run_id, highest)
        if best is None or base is None:
            return
        option = with_cost(
            evidence,
            Valued(
                key=self.key,
                title=_title([load for load, _ in faster], [load for load, _ in others]),
                configuration=best.configuration.label,
                concurrency=highest,
                cost_gpu_hours=0.0,
                evidence=f"Faster at {in_words([count for count, _ in faster])}; {_others(others)}.",
                would_change="A measurement between the two loads, or repeats where the data do not decide.",
                unvalued_reason="its value needs the share of traffic at each load: [traffic] by_concurrency of "
                "campaign.toml",
            ),
        )
        value, speed = top.speedup, base.throughput_tok_s.value
        if speed is not None and value.value is not None and value.low is not None and value.high is not None:
            expected = Estimate(value=speed * value.value, low=speed * value.low, high=speed * value.high)
            option = replace(option, expected_tok_s=expected)
        yield _valued(evidence, option, best, {load for load, _ in faster})


def _valued(evidence: Evidence, option: Valued, best: Point, faster: set[int]) -> Valued:
    """Return the split valued over the loads that are routed to the drafter; the plain server serves the rest."""
    if not evidence.campaign.traffic.by_concurrency:
        return option
    routed = [item for item in served_loads(evidence, best) if item.concurrency in faster]
    if not routed:
        reason = "[traffic] by_concurrency gives the loads where speculation pays no share of the time"
        return replace(option, unvalued_reason=reason)
    saved = np.sum([item.share * (1 - 1 / item.speedup) for item in routed], axis=0)
    expected = sum(item.share * (1 - 1 / float(np.mean(item.speedup))) for item in routed)
    share = sum(item.share for item in routed)
    words = f"{option.evidence} {percent(share)} of the serving time is routed to the drafter."
    option = replace(option, evidence=words, p_beats_baseline=float((saved > 0).mean()))
    return with_value(evidence, option, saved, expected=expected)


def _others(others: Sequence[tuple[int, LoadVerdict]]) -> str:
    statuses = sorted({load.status for _, load in others})
    return listed(
        [f"{status} at {in_words([count for count, load in others if load.status == status])}" for status in statuses]
    )


def _title(faster: Sequence[int], others: Sequence[int]) -> str:
    if max(faster) < min(others):
        return f"Speculate at up to {streams(max(faster))}, plain server above"
    return f"Speculate only at {in_words(faster)}, plain server otherwise"


def _row(evidence: Evidence, run_id: str | None, load: int) -> Point | None:
    rows = evidence.analysis.points
    return next((point for point in rows if (point.run_id, point.concurrency) == (run_id, load)), None)


OPTION = SpeculateBelowLoad()
