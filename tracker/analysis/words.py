"""Numbers in words, the same way in every sentence of the analysis."""

from __future__ import annotations

from collections.abc import Sequence


def percent(fraction: float) -> str:
    """Return a fraction as per cent: one decimal below 10, none above."""
    value = 100 * fraction
    if value == 0:
        return "0 %"
    sign, magnitude = "−" if value < 0 else "", abs(value)
    return f"{sign}{magnitude:.1f} %" if magnitude < 9.95 else f"{sign}{magnitude:.0f} %"


def chance(probability: float) -> str:
    """Return a probability with two decimals; `<0.01` and `>0.99` at the ends, for draws prove no certainty."""
    if probability > 0.99:
        return ">0.99"
    return "<0.01" if probability < 0.01 else f"{probability:.2f}"


def streams(load: int | None) -> str:
    """Return a load in words."""
    if load is None:
        return "an unrecorded load"
    return "1 stream" if load == 1 else f"{load} streams"


def loads(found: Sequence[int | None]) -> str:
    """Return several loads in words: `1, 8 and 32 streams`."""
    known = [load for load in found if load is not None]
    if len(known) < 2 or len(known) < len(found):
        return listed([streams(load) for load in found])
    return f"{listed([str(load) for load in known])} streams"


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


def rounded_size(samples: float) -> str:
    """Return a forecast number of samples with two significant digits, as much as it carries."""
    return f"{int(float(f'{samples:.1e}')):,}"
