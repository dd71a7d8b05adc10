"""Lines of the explanation: equations that a calculator, or a test, can redo."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracker.analysis.results import SpreadPart
from tracker.analysis.uncertainty import HIGH_QUANTILE, Component, combine, quantile


def plain(value: float) -> str:
    """Return a number with six significant digits, without an exponent where it is of ordinary size."""
    text = f"{value:.6g}"
    return f"{value:.0f}" if "e+" in text else text


def equation(name: str, expression: str, value: float, unit: str = "") -> str:
    """Return `name = expression = value unit`."""
    tail = f" {unit}" if unit else ""
    return f"  {name} = {expression} = {plain(value)}{tail}"


def fact(name: str, value: str) -> str:
    """Return `name: value`."""
    return f"  {name}: {value}"


def heading(text: str) -> list[str]:
    """Return a heading with its rule and the empty line before it."""
    return ["", text, "-" * len(text)]


def interval(value: float, parts: Sequence[SpreadPart], *, name: str) -> list[str]:
    """Return how an 80 % interval follows from its parts: squares add, Student's t for small samples."""
    if not parts:
        return []
    spread = combine(Component(name=part.name, sd=part.sd, df=part.df) for part in parts)
    squares = " + ".join(f"{plain(part.sd)}^2" for part in parts)
    lines = [
        fact("relative standard deviations", ", ".join(f"{part.name} {plain(part.sd)}" for part in parts)),
        equation("sd", f"sqrt({squares})", spread.sd),
    ]
    finite = [part for part in parts if part.df < 1e9]
    if finite:
        fourths = " + ".join(f"{plain(part.sd)}^4 / {plain(part.df)}" for part in finite)
        lines.append(equation("degrees of freedom", f"max(1, ({squares})^2 / ({fourths}))", spread.df))
    factor = quantile(HIGH_QUANTILE, spread.df)
    lines.append(fact("t", f"{plain(factor)}, the 90 % point of {_distribution(spread.df)}"))
    for side, sign in (("low", "-"), ("high", "")):
        half = -spread.half_width if side == "low" else spread.half_width
        expression = f"{plain(value)} * exp({sign}{plain(factor)} * {plain(spread.sd)})"
        lines.append(equation(f"{name} {side}", expression, value * _exp(half)))
    return lines


def _distribution(df: float) -> str:
    return f"Student's t with {plain(df)} degrees of freedom" if df < 1e9 else "the normal distribution"


def _exp(value: float) -> float:
    return math.exp(value)
