"""Cheap experiments and what their outcome is worth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.refits import lengths_at
from tracker.analysis.results import NextExperiment
from tracker.analysis.uncertainty import FloatArray
from tracker.analysis.untested_chains import Untested
from tracker.analysis.value import evsi, net_gpu_hours, saved_fraction
from tracker.analysis.words import listed, percent, size, streams
from tracker.options._experiment import TEST_LOG_SD, Experiment
from tracker.options._pricing import benchmark_gpu_hours, training_gpu_hours
from tracker.options._repeats import repeats
from tracker.options.tune_configuration import LEAST_CHANCE

# Standard error of one served accept length on a fixed prompt set.
_LENGTH_SE = 0.05
# An experiment whose value cannot be computed is still proposed when it is nearly free and its chance is not small.
_FAIR_CHANCE = 0.2
# Chances below this are called none.
_NO_CHANCE = 0.01


def considered_experiments(evidence: Evidence, valued: Sequence[Valued]) -> tuple[NextExperiment, ...]:
    """Return every cheap experiment with its net value, those not worth their price included.

    First what everything else waits for, then what tells most per GPU-hour: the expected value of the information
    over the price, which also tells a repeat of an undecided comparison from a new configuration. Last, the cheapest
    first, what has no such value.
    """
    hours = evidence.campaign.costs.horizon_gpu_hours
    # Without a length of use the same question is asked of an hour of it, whatever the options cost.
    rows = [
        net_gpu_hours(
            option.saved_fraction,
            horizon_gpu_hours=1.0 if hours is None else hours,
            cost_gpu_hours=0.0 if hours is None else option.cost_gpu_hours,
        )
        for option in valued
        if option.saved_fraction is not None and option.cost_gpu_hours is not None
    ]
    useless = do_not_test(evidence)
    found = []
    for experiment in _experiments(evidence):
        cost, told = experiment.shown.cost_gpu_hours, _information(experiment, rows, evidence)
        net = None if told is None or cost is None or hours is None else told - cost
        shown = replace(experiment.shown, net_value_gpu_hours=net, do_not_test=useless)
        found.append((_order(experiment, told), shown))
    return tuple(shown for _, shown in sorted(found, key=lambda pair: pair[0]))


def next_experiment(considered: Sequence[NextExperiment]) -> NextExperiment | None:
    """Return the first experiment worth doing, None when nothing cheap is."""
    return next((found for found in considered if _worth_doing(found)), None)


def _worth_doing(found: NextExperiment) -> bool:
    value, chance = found.net_value_gpu_hours, found.p_success
    if value is not None:
        return value > 0
    return chance is None or chance >= _FAIR_CHANCE


def do_not_test(evidence: Evidence) -> tuple[str, ...]:
    """Return one sentence on untested configurations that cannot win at any plausible acceptance."""
    base = evidence.baseline_tok_s
    hopeless = [found for found in evidence.untested if float((found.speedup > 1).mean()) < LEAST_CHANCE]
    if base is None or not hopeless:
        return ()
    names = listed([found.label.removesuffix(" draft tokens") for found in hopeless], last="or")
    speeds = listed([f"{base * float(np.mean(found.speedup)):.1f}" for found in hopeless])
    tail = " draft tokens" if all(found.label.endswith(" draft tokens") for found in hopeless) else ""
    best = max(float((found.speedup > 1).mean()) for found in hopeless)
    chance = "no chance" if best < _NO_CHANCE else f"a chance of {percent(best)} at most"
    return (f"{names}{tail}: predicted {speeds} tok/s, {chance} to beat {base:.1f}.",)


def _order(found: Experiment, told: float | None) -> tuple[int, float, float, str]:
    price = math.inf if found.shown.cost_gpu_hours is None else found.shown.cost_gpu_hours
    if found.comes_first or told is None or math.isinf(price):
        return (0 if found.comes_first else 2, 0.0, price, found.shown.title)
    return (1, -told / price if price > 0 else -math.inf, price, found.shown.title)


def _information(experiment: Experiment, rows: Sequence[FloatArray], evidence: Evidence) -> float | None:
    """Return the expected value of the outcome, gross; None where it cannot be computed."""
    rows = rows if experiment.decides is None else experiment.decides
    if experiment.signals is None or not rows:
        return None
    utilities = np.stack([*rows, *experiment.opens])
    return evsi(utilities, experiment.signals, experiment.noise, seed=evidence.seed + 41)


def _experiments(evidence: Evidence) -> Iterable[Experiment]:
    yield from _after_fix(evidence)
    yield from _baseline(evidence)
    yield from repeats(evidence)
    yield from _tests(evidence)
    yield from _sizes(evidence)


def _after_fix(evidence: Evidence) -> Iterable[Experiment]:
    cause = evidence.analysis.root_cause
    if cause is not None and not cause.fixed:
        flag = cause.finding.flag_after
        yield _unvalued(
            "Start the server with the corrected flag and repeat the benchmark",
            f"{cause.finding.code} voids what was measured so far.",
            benchmark_gpu_hours(evidence),
            () if flag is None else (flag,),
        )


def _baseline(evidence: Evidence) -> Iterable[Experiment]:
    if evidence.best is not None and evidence.baseline is None:
        yield _unvalued(
            f"Benchmark the plain server at {streams(evidence.load)} on the same workload",
            "Without a baseline nothing here can be called faster or slower.",
            benchmark_gpu_hours(evidence),
        )


def _unvalued(title: str, why: str, cost: float, flags: tuple[str, ...] = ()) -> Experiment:
    shown = NextExperiment(title=title, why=why, flags=flags, cost_gpu_hours=cost)
    return Experiment(shown=shown, signals=None, noise=np.array([1.0]), comes_first=True)


def _tests(evidence: Evidence) -> Iterable[Experiment]:
    for found in evidence.untested:
        chance = float((found.speedup > 1).mean())
        if chance < LEAST_CHANCE:
            continue
        rival, needed = evidence.baseline_tok_s, found.break_even
        if evidence.verdict is not None and evidence.verdict.status == "faster" and evidence.speedup is not None:
            # Today's drafter wins already, so it is the one to beat; the noise that both share cancels.
            needed = found.break_even * evidence.speedup
            rival = None if evidence.best is None else evidence.best.throughput_tok_s.value
        bar = "" if rival is None else f" {rival:.1f} tok/s"
        low, high = (float(part) for part in np.quantile(needed, (0.1, 0.9)))
        expected_low, expected_high = (float(part) for part in np.quantile(found.length, (0.1, 0.9)))
        shown = NextExperiment(
            title=f"Benchmark {found.label}, the baseline before and after",
            why=(
                f"It beats{bar} above {low:.2f} to {high:.2f} tokens a step, and {expected_low:.2f} to "
                f"{expected_high:.2f} are "
                f"expected: {found.basis}."
            ),
            flags=found.flags,
            cost_gpu_hours=benchmark_gpu_hours(evidence),
            p_success=chance,
            p_beats_best=None if evidence.speedup is None else float((found.speedup > evidence.speedup).mean()),
            p_is_judgement=found.is_judgement,
        )
        yield Experiment(
            shown=shown,
            signals=np.log(found.speedup)[None, :],
            noise=np.array([TEST_LOG_SD]),
            opens=tuple(_with_training(evidence, found)),
        )


def _with_training(evidence: Evidence, found: Untested) -> Iterable[FloatArray]:
    """What a tested configuration opens: itself, and every training size served on it."""
    known = evidence.campaign.costs.horizon_gpu_hours
    if evidence.accept_length is None:
        return
    hours = (1.0 if known is None else known) * evidence.load_share
    test = 0.0 if known is None else benchmark_gpu_hours(evidence)
    yield net_gpu_hours(saved_fraction(found.speedup), horizon_gpu_hours=hours, cost_gpu_hours=test)
    carried = found.length / evidence.accept_length
    for samples, length in evidence.sizes.items():
        cost = test + (0.0 if known is None else training_gpu_hours(evidence, samples))
        saved = saved_fraction(length * carried / found.break_even)
        yield net_gpu_hours(saved, horizon_gpu_hours=hours, cost_gpu_hours=cost)


def _sizes(evidence: Evidence) -> Iterable[Experiment]:
    """Train smaller sizes for the slope, or the next larger one as a first stage."""
    current = evidence.current_samples
    if current is None or not evidence.sizes:
        return
    noise = math.hypot(_LENGTH_SE, evidence.priors.tau)
    plans: list[tuple[str, tuple[int, ...]]] = []
    small = tuple(samples for samples in (current // 10, 3 * current // 10) if samples >= 100)
    if len(evidence.analysis.scaling.points) == 1 and len(small) == 2:
        plans.append((f"Train on {size(small[0])} and {size(small[1])} of the same samples and serve both", small))
    first = min(evidence.sizes)
    plans.append((f"Train on {size(first)} samples first and serve that", (first,)))
    for title, sizes in plans:
        lengths = lengths_at(evidence.curve, sizes, evidence.seed)
        if not lengths:
            continue
        cost = sum(training_gpu_hours(evidence, samples) for samples in sizes)
        shown = NextExperiment(
            title=title,
            why="It shows how far more data helps, which is what the larger trainings rest on.",
            cost_gpu_hours=cost + benchmark_gpu_hours(evidence, len(sizes)),
        )
        yield Experiment(
            shown=shown, signals=np.stack([lengths[samples] for samples in sizes]), noise=np.full(len(sizes), noise)
        )
