"""Training samples for break-even and for target speed-ups, with open ends where draws never get there."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tracker.analysis.break_even import TARGET_SPEEDUPS, required_length, spread_of
from tracker.analysis.posterior import Posterior
from tracker.analysis.prefill import length_factor
from tracker.analysis.results import BreakEven, SamplesNeeded, TargetSamples
from tracker.analysis.uncertainty import HIGH_QUANTILE, LOW_QUANTILE, FloatArray
from tracker.analysis.words import percent, rounded_size, size

MAX_SAMPLES = 10_000_000
_GRID_PER_DECADE = 40


def break_even_draws(bar: BreakEven, count: int, seed: int) -> FloatArray:
    """Return draws of a break-even, log-normal around its value, shape (count,)."""
    score = np.random.default_rng(seed + 11).standard_normal(count)
    return np.asarray(bar.value * np.exp(spread_of(bar).sd * score), dtype=np.float64)


def samples_needed(
    posterior: Posterior, bar: BreakEven, seed: int, *, known: Sequence[TargetSamples] = ()
) -> SamplesNeeded:
    """Return training samples to break even; open ends are draws that never get there. `known` saves the work."""
    for item in known:
        if item.speedup == 1 and item.needed is not None:
            return item.needed
    (found,) = _needed(posterior, bar, (1.0,), seed)
    return found


def target_samples(
    posterior: Posterior,
    bar: BreakEven,
    *,
    best_measured: float,
    sizes: int,
    assumed: int | None,
    seed: int,
    prefill_fraction: float = 0.0,
) -> tuple[TargetSamples, ...]:
    """Return the samples for break-even and for each target speed-up.

    Args:
        posterior: The curve.
        bar: Break-even of the configuration that served the sizes.
        best_measured: Largest accept length measured.
        sizes: Number of distinct sizes; with one, only a range may be said.
        assumed: Number of draft steps where it had to be assumed.
        seed: Seed of the break-even's draws.
        prefill_fraction: Share of a baseline request that prefill takes; where it alone takes longer than a target
            allows, the target is left out.
    """
    factors = {speedup: length_factor(speedup, prefill_fraction) for speedup in (1.0, *TARGET_SPEEDUPS)}
    wanted = {speedup: factor for speedup, factor in factors.items() if factor is not None}
    most = posterior.chain.max_length
    found = []
    for (speedup, factor), needed in zip(
        wanted.items(), _needed(posterior, bar, tuple(wanted.values()), seed), strict=True
    ):
        goal = required_length(bar.value, factor)
        within = goal <= most
        found.append(
            TargetSamples(
                speedup=speedup,
                accept_length=goal,
                reachable=None if assumed is not None else within,
                needed=needed if within else None,
                note=_lead(speedup, goal)
                + (
                    _words(needed, posterior, reached=best_measured >= goal, sizes=sizes)
                    if within
                    else _out_of_reach(most, assumed)
                ),
            )
        )
    return tuple(found)


def _needed(posterior: Posterior, bar: BreakEven, factors: tuple[float, ...], seed: int) -> tuple[SamplesNeeded, ...]:
    start = posterior.priors.reference_samples if posterior.largest is None else posterior.largest
    lowest = min(1000.0, start / 10)
    grid = np.geomspace(lowest, MAX_SAMPLES, int(_GRID_PER_DECADE * math.log10(MAX_SAMPLES / lowest)) + 1)
    goals = [factor * break_even_draws(bar, len(posterior.discrepancy), seed) for factor in factors]
    first = [np.full(len(goal), np.inf) for goal in goals]
    for samples in grid[::-1]:
        lengths = posterior.lengths(float(samples))
        first = [np.where(lengths >= goal, samples, found) for goal, found in zip(goals, first, strict=True)]
    return tuple(_summary(found) for found in first)


def _summary(first: FloatArray) -> SamplesNeeded:
    low, median, high = (
        float(part) for part in np.quantile(first, (LOW_QUANTILE, 0.5, HIGH_QUANTILE), method="inverted_cdf")
    )
    return SamplesNeeded(
        low=_finite(low), median=_finite(median), high=_finite(high), p_never=float(np.isinf(first).mean())
    )


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value


def _lead(speedup: float, goal: float) -> str:
    what = "Break-even" if speedup == 1 else f"{speedup:g} times the baseline"
    return f"{what} takes {goal:.2f} tokens a step: "


def _out_of_reach(most: float, assumed: int | None) -> str:
    steps = "" if assumed is None else f" with the {assumed} draft steps assumed"
    return f"out of reach at any training size, a perfect drafter yields {most:.2f}{steps}."


def _words(needed: SamplesNeeded, posterior: Posterior, *, reached: bool, sizes: int) -> str:
    if reached:
        return "already reached."
    limit = size(needed.max_samples)
    if needed.low is None:
        return f"not by {limit} samples in {percent(needed.p_never)} of draws."
    low = rounded_size(needed.low)
    high = f"more than {limit}" if needed.high is None else rounded_size(needed.high)
    middle = "" if sizes < 3 or needed.median is None else f", median {rounded_size(needed.median)}"
    never = f"; not by {limit} in {percent(needed.p_never)} of draws" if needed.p_never > 0 else ""
    far = posterior.largest is not None and (needed.high is None or needed.high > 10 * posterior.largest)
    tail = " Beyond ten times the largest size measured this is speculation." if far else ""
    return f"{low} to {high} samples (80 %){middle}{never}.{tail}"
