"""How uncertainties combine: independent parts on a relative (logarithmic) scale, small samples by Student's t."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from tracker.analysis.results import SpreadPart
from tracker.domain.estimate import Estimate

FloatArray = npt.NDArray[np.float64]

LOW_QUANTILE = 0.1
HIGH_QUANTILE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One independent source of uncertainty of a ratio."""

    name: str
    """What it is, e.g. `noise between runs`."""
    sd: float
    """Standard deviation of the logarithm, which for small values is the relative standard deviation."""
    df: float = math.inf
    """Degrees of freedom behind `sd`; infinite when it is an assumption or exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Combined uncertainty of a logarithm."""

    sd: float
    """Standard deviation."""
    df: float
    """Welch-Satterthwaite degrees of freedom."""

    @property
    def half_width(self) -> float:
        """Half the 80 % interval of the logarithm."""
        return quantile(HIGH_QUANTILE, self.df) * self.sd

    def detectable(self, power: float = 0.8) -> float:
        """Return the smallest relative effect whose 80 % interval would exclude none with chance `power`."""
        return math.expm1((quantile(HIGH_QUANTILE, self.df) + quantile(power, math.inf)) * self.sd)


def quantile(p: float, df: float) -> float:
    """Return the `p` quantile of Student's t; of the normal distribution when `df` is infinite."""
    return float(special.ndtri(p) if math.isinf(df) else special.stdtrit(df, p))


Z80 = quantile(HIGH_QUANTILE, math.inf)
"""Standard deviations from the middle of a normal distribution to an end of its 80 % interval."""


def rounding_component(low: float, high: float, *, name: str = "rounding") -> Component:
    """Return the uncertainty of a positive value known to lie between `low` and `high`, all values equally likely."""
    return Component(name=name, sd=math.log(high / low) / math.sqrt(12))


def combine(components: Iterable[Component]) -> Spread:
    """Return the combined spread of independent components (Welch-Satterthwaite)."""
    parts = [part for part in components if part.sd > 0]
    variance = sum(part.sd**2 for part in parts)
    if not variance:
        return Spread(sd=0.0, df=math.inf)
    weight = sum(part.sd**4 / part.df for part in parts if not math.isinf(part.df))
    return Spread(sd=math.sqrt(variance), df=math.inf if not weight else max(1.0, variance**2 / weight))


def parts_of(components: Iterable[Component]) -> tuple[SpreadPart, ...]:
    """Return what an interval is made of, components of one name combined, largest first."""
    named: dict[str, list[Component]] = {}
    for part in components:
        named.setdefault(part.name, []).append(part)
    joined = {name: combine(parts) for name, parts in named.items()}
    found = [SpreadPart(name=name, sd=spread.sd, df=spread.df) for name, spread in joined.items() if spread.sd > 0]
    return tuple(sorted(found, key=lambda part: (-part.sd, part.name)))


def around(value: float, spread: Spread) -> Estimate:
    """Return `value` with its 80 % interval, symmetric on the logarithmic scale."""
    return Estimate(value=value, low=value * math.exp(-spread.half_width), high=value * math.exp(spread.half_width))


def pooled_sd(groups: Sequence[Sequence[float]]) -> tuple[float, int] | None:
    """Return the standard deviation pooled over groups of two or more values, and its degrees of freedom."""
    squares, freedom = 0.0, 0
    for group in groups:
        if len(group) >= 2:
            mean = math.fsum(group) / len(group)
            squares += math.fsum((value - mean) ** 2 for value in group)
            freedom += len(group) - 1
    return None if freedom == 0 else (math.sqrt(squares / freedom), freedom)


def join_default(sd: float, df: int, default_sd: float) -> tuple[float, float]:
    """Return (sd, df), joined with a default counting as one degree of freedom where there is only one.

    One difference says almost nothing about a spread (its own 80 % range is 0.6 to 8 times the estimate), so the
    default lends a second degree of freedom instead of being replaced.
    """
    if df >= 2:
        return sd, float(df)
    return math.sqrt((sd**2 + default_sd**2) / 2), 2.0


def summarise(draws: FloatArray, *, weights: FloatArray | None = None) -> Estimate:
    """Return the mean of `draws` with their 10 to 90 % range."""
    low, high = (
        float(part)
        for part in np.quantile(draws, (LOW_QUANTILE, HIGH_QUANTILE), method="inverted_cdf", weights=weights)
    )
    mean = float(np.average(draws, weights=weights))
    return Estimate(value=mean, low=low, high=high)
