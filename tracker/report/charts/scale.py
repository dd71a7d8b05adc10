"""Axes: values to per cent, and ticks at round values."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tracker.report.charts.marks import Anchor, Line, Mark, Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A linear or logarithmic axis."""

    low: float
    """Value at the left end."""
    high: float
    """Value at the right end."""
    left: float = 2.0
    """Left end, per cent."""
    right: float = 98.0
    """Right end, per cent."""
    log: bool = False
    """Whether values are taken as logarithms."""

    def at(self, value: float) -> float:
        """Return the position of `value`, kept inside the axis."""
        low, high, value = self._map(self.low), self._map(self.high), self._map(value)
        share = 0.5 if high == low else (value - low) / (high - low)
        return round(self.left + min(1.0, max(0.0, share)) * (self.right - self.left), 3)

    def _map(self, value: float) -> float:
        return math.log10(max(value, 1e-9)) if self.log else value


def step_of(span: float, count: int) -> float:
    """Return the round step (1, 2, 2.5 or 5 times a power of ten) that gives about `count` ticks over `span`."""
    rough = max(span, 1e-12) / max(count, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    return next((factor * power for factor in (1.0, 2.0, 2.5, 5.0) if factor * power >= rough), 10 * power)


def ticks_of(low: float, high: float, count: int) -> tuple[float, ...]:
    """Return round values inside an interval."""
    step = step_of(high - low, count)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(round(index * step, 10) for index in range(first, last + 1))


def covering(values: Iterable[float], *, pad: float = 0.08) -> tuple[float, float]:
    """Return an interval around `values`, padded by a fraction of its width."""
    known = [value for value in values if math.isfinite(value)]
    low, high = min(known), max(known)
    margin = (high - low or abs(high) or 1.0) * pad
    return low - margin, high + margin


def x_axis(scale: Scale, y: float, ticks: Iterable[tuple[float, str]]) -> list[Mark]:
    """Return an axis line with ticks and labels below it."""
    marks: list[Mark] = [Line(x1=scale.left, y1=y, x2=scale.right, y2=y, css="axis")]
    for value, text in ticks:
        x = scale.at(value)
        anchor: Anchor = "start" if x < 1.5 else "end" if x > 98.5 else "middle"
        marks.append(Line(x1=x, y1=y, x2=x, y2=y + 5, css="axis"))
        marks.append(Text(x=x, y=y + 19, text=text, css="t2 tick", anchor=anchor))
    return marks


def beside(x: float, *, gap: float, room: float = 80.0) -> tuple[Anchor, float]:
    """Return anchor and shift of a label beside a mark: to its right, or to its left where no room is left."""
    return ("start", gap) if x < room else ("end", -gap)


def apart(positions: list[float], gap: float, *, low: float, high: float) -> list[float]:
    """Return label positions moved as little as needed to keep `gap` pixels between neighbours, order kept."""
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    placed = [positions[index] for index in order]
    for index in range(1, len(placed)):
        placed[index] = max(placed[index], placed[index - 1] + gap)
    overflow = max(0.0, placed[-1] - high) if placed else 0.0
    placed = [max(low, value - overflow) for value in placed]
    for index in range(len(placed) - 2, -1, -1):
        placed[index] = min(placed[index], placed[index + 1] - gap)
    out = list(positions)
    for index, value in zip(order, placed, strict=True):
        out[index] = value
    return out
