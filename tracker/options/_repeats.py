"""Repeats of undecided loads, and what their outcome is worth."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from tracker.analysis.decision import Evidence, log_normal_draws
from tracker.analysis.results import LoadVerdict, NextExperiment
from tracker.analysis.uncertainty import Z80, FloatArray
from tracker.analysis.value import net_gpu_hours, saved_fraction
from tracker.analysis.words import streams
from tracker.options._experiment import TEST_LOG_SD, Experiment
from tracker.options._pricing import benchmark_gpu_hours
from tracker.options.measure_missing import REPEATS


def repeats(evidence: Evidence) -> Iterable[Experiment]:
    """Yield repeats of the decision load, and of every other undecided load that serves a share of the time.

    Without shares of the traffic the first undecided load is asked for: its answer is worth having without a price too.
    """
    undecided = [
        item
        for item in evidence.analysis.verdict.by_concurrency
        if item.status == "undecided" and item.best_run_id is not None and item.baseline_run_id is not None
    ]
    here = [item for item in undecided if item.concurrency == evidence.load]
    shares = evidence.campaign.traffic.by_concurrency
    others = [item for item in undecided if item not in here and shares.get(item.concurrency or 0, 0.0) > 0]
    if not shares and not here:
        others = undecided[:1]
    for item in here:
        yield _repeat(evidence, item, speedup=evidence.speedup)
    for item in others:
        yield _elsewhere(evidence, item)


def _elsewhere(evidence: Evidence, item: LoadVerdict) -> Experiment:
    """Return the repeat at another load, which is routed to the drafter or to the plain server on its own.

    The same draws as everywhere: one server serves all loads, so where it is fast it is fast at each.
    """
    share = evidence.campaign.traffic.by_concurrency.get(item.concurrency or 0)
    drawn = log_normal_draws(item.speedup, evidence.priors.draws, np.random.default_rng(evidence.seed + 83))
    if share is None or drawn is None:
        return _repeat(evidence, item, speedup=None)
    speedup = drawn * evidence.mix_factor
    known = evidence.campaign.costs.horizon_gpu_hours
    hours = share * (1.0 if known is None else known)
    served = net_gpu_hours(saved_fraction(speedup, forced=True), horizon_gpu_hours=hours, cost_gpu_hours=0.0)
    return _repeat(evidence, item, speedup=speedup, decides=(np.zeros_like(served), served))


def _repeat(
    evidence: Evidence,
    item: LoadVerdict,
    *,
    speedup: FloatArray | None,
    decides: tuple[FloatArray, ...] | None = None,
) -> Experiment:
    spread = item.speedup
    noise = TEST_LOG_SD
    if spread.low is not None and spread.high is not None:
        noise = max(TEST_LOG_SD, math.log(spread.high / spread.low) / (2 * Z80) / math.sqrt(REPEATS))
    own = "" if decides is None else " Whether to speculate there is a choice of its own."
    shown = NextExperiment(
        title=f"Repeat {streams(item.concurrency)} {REPEATS} times on fresh servers, the baseline in between",
        why=f"The data do not decide at {streams(item.concurrency)}: {item.reason or 'the interval contains 1.'}{own}",
        cost_gpu_hours=benchmark_gpu_hours(evidence, 2 * REPEATS, load=item.concurrency),
    )
    signals = None if speedup is None else np.log(speedup)[None, :]
    return Experiment(shown=shown, signals=signals, noise=np.array([noise]), decides=decides)
