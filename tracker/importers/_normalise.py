"""The one place where a printed number gets its meaning: rounding, percent, bonus token, rate convention."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from tracker.domain.finding import Finding
from tracker.domain.measurement import RateConvention, Reported

_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)?(\.\d*)?([eE][+-]?\d+)?")
# Doubles print 15 to 17 digits; a number with this many was never rounded for a reader.
_UNROUNDED_DIGITS = 12
# Widths of a draft that are looked for where the settings are not known; beyond them every rate fits some width.
_WIDTHS = range(2, 65)
_GAPS_FRACTION = 0.03
# Averages of rounded or windowed values do not meet an identity exactly; half a per cent covers what tools show.
_SLACK_FRACTION = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class RateReading:
    """What a printed accept rate means, found out from the accept length beside it."""

    convention: RateConvention
    """The definition that fits; `unknown` when none or several do."""
    findings: tuple[Finding, ...] = ()
    """A contradiction, when no definition fits."""


def number(text: str) -> float | None:
    """Return the finite number a text holds (thousands separators allowed); None when it holds none."""
    stripped = text.strip()
    if not any(char.isdigit() for char in stripped) or not _NUMBER.fullmatch(stripped):
        return None
    value = float(stripped.replace(",", ""))
    return value if math.isfinite(value) else None


def reported(text: str, *, scale: float = 1.0) -> Reported | None:
    """Return a printed number with half a unit of its last digit (`2.1` -> 0.05, `90.0` -> 0.05); None if it is none.

    Args:
        text: The digits as printed.
        scale: Factor to the field's unit, e.g. 0.01 for per cent.
    """
    value = number(text)
    if value is None:
        return None
    half_width = _half_width(text.strip().replace(",", ""))
    return Reported(value=_scaled(value, scale), half_width=None if half_width is None else _scaled(half_width, scale))


def from_json(value: float | None, *, scale: float = 1.0) -> Reported | None:
    """Return a JSON number with the rounding its digits show; None stays None."""
    return None if value is None else reported(repr(value), scale=scale)


def _half_width(digits: str) -> float | None:
    """Return half a unit of the last digit; None when there are too many digits for a rounded number."""
    try:
        parts = Decimal(digits).as_tuple()
    except InvalidOperation:
        return None
    if len(parts.digits) >= _UNROUNDED_DIGITS or not isinstance(parts.exponent, int):
        return None
    return float(Decimal((0, (5,), parts.exponent - 1)))


def _scaled(value: float, scale: float) -> float:
    """Return value x scale without binary dust: 31.16 % is 0.3116."""
    return value if scale == 1.0 else float(Decimal(repr(value)) * Decimal(repr(scale)))


def rate_scale(value: float, *, unit: str | None) -> float:
    """Return the factor that makes a printed rate a fraction.

    A rate above 1.5 can only be a percentage: SGLang's early definition could pass 1, but not by half.

    Args:
        value: The rate as printed.
        unit: `percent` or `fraction` where the source says so, else None.
    """
    if unit is not None:
        return 0.01 if unit == "percent" else 1.0
    return 0.01 if value > 1.5 else 1.0


def length_with_bonus(length: Reported, *, includes_bonus: bool) -> Reported:
    """Return the accept length with the bonus token, which TensorRT-LLM and SpecForge training leave out."""
    if includes_bonus:
        return length
    return Reported(value=length.value + 1, half_width=length.half_width)


def unconditional_rates(conditional: Sequence[float]) -> tuple[float, ...]:
    """Return per-position rates over all steps from rates given that the position before was accepted."""
    rates: list[float] = []
    for rate in conditional:
        rates.append(rate * (rates[-1] if rates else 1.0))
    return tuple(rates)


def length_from_positions(positions: Sequence[Reported]) -> Reported:
    """Return 1 + the sum of unconditional per-position rates; half widths add up."""
    return Reported(
        value=1 + sum(rate.value for rate in positions),
        half_width=sum(rate.half_width or 0.0 for rate in positions) or None,
    )


def drafts_from_gaps(rate: Reported, *, itl_ms: float, tpot_ms: float) -> int | None:
    """Return the drafts a step that a printed rate and the gaps between chunks agree on; None unless one number fits.

    Each chunk carries one verify step, so ITL over TPOT is the accept length within 3 % (C59), and 1 + drafts x rate
    is it as well.
    """
    if rate.value <= 0 or tpot_ms <= 0:
        return None
    low, high = ((itl_ms / tpot_ms * (1 + error) - 1) / rate.value for error in (-_GAPS_FRACTION, _GAPS_FRACTION))
    fitting = range(max(1, math.ceil(low)), math.floor(high) + 1) if high < _WIDTHS.stop else range(0)
    return fitting[0] if len(fitting) == 1 else None


def read_rate(
    *,
    length: Reported | None,
    rate: Reported | None,
    num_draft_tokens: int | None,
    num_steps: int | None,
) -> RateReading:
    """Return which definition of accept rate agrees with the accept length, within the rounding of both.

    SGLang changed it twice (PR 11572, PR 13212, PR 23530): accepted drafts over steps x num_steps, accept length over
    num_draft_tokens, accepted over proposed. Only the accept length beside a rate tells them apart; where the width of
    a draft is not known, the definition is told by the only one that any width explains.
    """
    if rate is None or length is None:
        return RateReading(convention="unknown")
    if not num_draft_tokens:  # a printed 0 is no width either
        explained = {name for width in _WIDTHS for name in _fitting(length, rate, width, None)}
        if not explained:
            return RateReading(convention="unknown", findings=(_contradiction(length, rate, "any number of", {}),))
        return RateReading(convention=explained.pop() if len(explained) == 1 else "unknown")
    fitting = _fitting(length, rate, num_draft_tokens, num_steps)
    if len(fitting) == 1:
        return RateReading(convention=fitting[0])
    # 0.5.4 divided by num_steps + 1, which is the width of a chain but not of a tree.
    if fitting or (num_steps and "length_over_draft_tokens" in _fitting(length, rate, num_steps + 1, None)):
        return RateReading(convention="unknown")
    expected = _expected_rates(length.value, num_draft_tokens, num_steps)
    return RateReading(convention="unknown", findings=(_contradiction(length, rate, num_draft_tokens, expected),))


def _fitting(length: Reported, rate: Reported, num_draft_tokens: int, num_steps: int | None) -> list[RateConvention]:
    """Return the definitions under which rate and length agree, within the rounding of both."""
    expected = _expected_rates(length.value, num_draft_tokens, num_steps)
    spread = _expected_rates(length.value + (length.half_width or 0.0), num_draft_tokens, num_steps)
    return [
        name
        for name, value in expected.items()
        if abs(value - rate.value)
        <= (spread[name] - value) + (rate.half_width or 0.0) + _SLACK_FRACTION * max(value, rate.value)
    ]


def _expected_rates(length: float, num_draft_tokens: int, num_steps: int | None) -> dict[RateConvention, float]:
    """Return the rate each definition gives for an accept length."""
    rates: dict[RateConvention, float] = {"length_over_draft_tokens": length / num_draft_tokens}
    if num_draft_tokens > 1:
        rates["accepted_over_proposed"] = (length - 1) / (num_draft_tokens - 1)
    if num_steps and num_steps != num_draft_tokens - 1:
        rates["drafts_over_steps_times_num_steps"] = (length - 1) / num_steps
    return rates


def _contradiction(
    length: Reported, rate: Reported, num_draft_tokens: int | str, expected: dict[RateConvention, float]
) -> Finding:
    """Return the finding for a rate that no definition explains."""
    wanted = ", ".join(f"{name} {value:.3f}" for name, value in sorted(expected.items()))
    return Finding(
        code="RATE_CONVENTION_CONTRADICTS_LENGTH",
        severity="warning",
        message=(
            f"Accept rate {rate.value:g} fits no definition at accept length {length.value:g} with "
            f"{num_draft_tokens} draft tokens{f' (expected {wanted})' if wanted else ''}."
        ),
        fix="Trust the accept length; check whether both numbers come from the same run.",
    )
