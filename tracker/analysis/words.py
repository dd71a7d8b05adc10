"""Numbers in words, the same way in every sentence of the analysis."""

from __future__ import annotations

from collections.abc import Sequence


def percent(fraction: float) -> str:
    """Return a fraction as per cent: one decimal below 10, none above."""
    value = 100 * fraction
    if value == 0:
        return "0 %"
    return f"{value:.1f} %" if abs(value) < 9.95 else f"{value:.0f} %"


def streams(load: int | None) -> str:
    """Return a load in words."""
    if load is None:
        return "an unrecorded load"
    return "1 stream" if load == 1 else f"{load} streams"


def listed(parts: Sequence[str], *, last: str = "and") -> str:
    """Return `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def count(number: int, noun: str) -> str:
    """Return a number with its noun, plural where needed."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def size(samples: int) -> str:
    """Return a number of samples with thousands separators."""
    return f"{samples:,}"
