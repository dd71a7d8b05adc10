"""What a benchmark of a given size can and cannot show: paired differences, Student's t throughout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from scipy import optimize, stats

from tracker.analysis.uncertainty import Spread, quantile
from tracker.domain.estimate import Estimate

Equivalence = Literal["equivalent", "different", "undecided"]


def power(effect: float, *, sd: float, prompts: int, level: float = 0.05) -> float:
    """Return the chance that a two-sided paired t-test at `level` shows a log ratio of `effect`.

    Args:
        effect: True difference of logs.
        sd: Standard deviation of paired differences of logs.
        prompts: Number of pairs, at least 2.
        level: Two-sided significance level.
    """
    df = prompts - 1
    bound = quantile(1 - level / 2, df)
    shift = effect * math.sqrt(prompts) / sd
    # The opposite tail is below 1e-6 from here on, and scipy's series for it ends in NaN.
    opposite = float(stats.nct.cdf(-bound, df, shift)) if abs(shift) < 4 else 0.0
    return float(stats.nct.sf(bound, df, shift)) + opposite


def minimal_detectable_effect(*, sd: float, prompts: int, level: float = 0.05, wanted: float = 0.8) -> float | None:
    """Return the smallest log ratio shown with chance `wanted`; None below two prompts."""
    if prompts < 2:
        return None
    high = sd / math.sqrt(prompts)
    while power(high, sd=sd, prompts=prompts, level=level) < wanted:
        high *= 1.5

    def gap(effect: float) -> float:
        return power(effect, sd=sd, prompts=prompts, level=level) - wanted

    return float(optimize.brentq(gap, 0.0, high, xtol=1e-9))


def prompts_needed(effect: float, *, sd: float, level: float = 0.05, wanted: float = 0.8) -> int:
    """Return the number of paired prompts that show a log ratio of `effect` with chance `wanted`.

    Raises:
        ValueError: More than a million would be needed.
    """
    low, high = 1, 2
    while power(effect, sd=sd, prompts=high, level=level) < wanted:
        low, high = high, high * 2
        if high > 2_000_000:
            raise ValueError(f"an effect of {effect:g} cannot be shown with fewer than a million prompts")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if power(effect, sd=sd, prompts=middle, level=level) < wanted else (low, middle)
    return high


def paired_ratio(log_differences: Sequence[float]) -> Estimate:
    """Return the geometric mean ratio of paired speeds with its 80 % t-interval."""
    count = len(log_differences)
    if count == 0:
        return Estimate(reason="no pairs")
    mean = math.fsum(log_differences) / count
    if count == 1:
        return Estimate(value=math.exp(mean), reason="one pair has no spread")
    sd = math.sqrt(math.fsum((part - mean) ** 2 for part in log_differences) / (count - 1))
    half = quantile(0.9, count - 1) * sd / math.sqrt(count)
    return Estimate(value=math.exp(mean), low=math.exp(mean - half), high=math.exp(mean + half))


def equivalence(speedup: float, spread: Spread, *, margin: float) -> Equivalence:
    """Return whether two speeds are equivalent within `margin` (two one-sided 95 % tests), different, or undecided."""
    half = quantile(0.95, spread.df) * spread.sd
    low, high = math.log(speedup) - half, math.log(speedup) + half
    if -math.log1p(margin) < low and high < math.log1p(margin):
        return "equivalent"
    return "different" if low > 0 or high < 0 else "undecided"
