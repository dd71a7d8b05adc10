"""Numbers of an analysis as spans: each with its rounding, unit, formula and runs."""

from __future__ import annotations

from tracker.analysis.results import BreakEven, Point
from tracker.domain.estimate import Estimate
from tracker.report import format as fmt
from tracker.report.spans import Rich, Span, known, number, rich

_SPEEDUP = "throughput of the contender / throughput of the baseline, on the prompts in common"
_LENGTH = "1 + accepted drafts / verify steps"
_STEP = "busy time / verify steps"
_BAR = "step_time_spec / step_time_base"


def tok_s(point: Point, decimals: int | None = None) -> Span:
    """Return a row's throughput as shown; an en dash where it was not measured.

    Args:
        point: The row.
        decimals: Decimals of its table column; None rounds it by its own size.
    """
    value = point.throughput_tok_s.value
    if value is None:
        return Span(text=fmt.DASH)
    return number(
        fmt.throughput(value) if decimals is None else fmt.fixed(value, decimals),
        value,
        "output tokens / wall seconds",
        [point.run_id],
        unit="tok/s",
        kind="measured",
    )


def speedup_ratio(estimate: Estimate, runs: tuple[str, ...], *, mark: str = fmt.TIMES) -> Span:
    """Return a speed-up: `1.32×`."""
    return number(f"{fmt.fixed(known(estimate.value), 2)}{mark}", known(estimate.value), _SPEEDUP, runs)


def speedup_range(estimate: Estimate, runs: tuple[str, ...]) -> Rich:
    """Return the interval of a speed-up: `1.22–1.42`; empty where there is none."""
    return interval(estimate, 2, f"80 % interval of {_SPEEDUP}", runs)


def difference(estimate: Estimate, runs: tuple[str, ...], *, signed: bool = True) -> Span:
    """Return a speed-up as a difference in per cent: `−8.6 %`; unsigned `8.6 %`."""
    fraction = known(estimate.value) - 1
    text = fmt.percent(fraction if signed else abs(fraction), digits=1, signed=signed)
    return number(text, fraction, f"{_SPEEDUP}, minus 1", runs)


def needs(point: Point) -> Span | None:
    """Return how much the accept length must still grow: `+9.4 %`."""
    if point.needs_fraction is None:
        return None
    return number(
        fmt.percent(point.needs_fraction),
        point.needs_fraction,
        "break_even / accept_length - 1",
        [point.run_id],
    )


def accept_length(point: Point) -> Span:
    """Return a row's accept length with two decimals, as in tables."""
    value = known(point.accept_length.value)
    return number(fmt.fixed(value, 2), value, _LENGTH, [point.run_id], unit="tokens/step", kind="measured")


def accept_length_short(point: Point) -> Span:
    """Return an accept length for a sentence: one decimal where it is not known to better than 0.02."""
    value = known(point.accept_length.value)
    half = point.accept_length.half_width
    if half is None and point.accept_length_rounding is not None:
        half = (point.accept_length_rounding[1] - point.accept_length_rounding[0]) / 2
    decimals = 1 if half is not None and half >= 0.02 else 2
    return number(fmt.fixed(value, decimals), value, _LENGTH, [point.run_id], unit="tokens/step", kind="measured")


def step_ms(point: Point, decimals: int) -> Span:
    """Return a row's step time in milliseconds."""
    value = known(point.step_time_ms.value)
    return number(fmt.fixed(value, decimals), value, _STEP, [point.run_id], unit="ms")


def step_decimals(value: float) -> int:
    """Return the decimals of a step time: tenths above ten milliseconds, hundredths below."""
    return 1 if value >= 10 else 2


def bar(break_even: BreakEven, runs: tuple[str, ...]) -> Span:
    """Return a break-even accept length: `2.30`."""
    return number(fmt.fixed(break_even.value, 2), break_even.value, _BAR, runs, unit="tokens/step")


def bar_range(break_even: BreakEven, runs: tuple[str, ...]) -> Rich:
    """Return the 80 % interval of a break-even."""
    return interval(
        Estimate(value=break_even.value, low=break_even.low, high=break_even.high),
        2,
        f"80 % interval of {_BAR}",
        runs,
        unit="tokens/step",
    )


def bar_rounding(break_even: BreakEven, runs: tuple[str, ...]) -> Rich:
    """Return what rounding alone leaves open of a break-even; empty where counts were at hand."""
    if break_even.rounding_low is None or break_even.rounding_high is None:
        return Rich()
    ends = Estimate(low=break_even.rounding_low, high=break_even.rounding_high)
    return interval(ends, 2, f"{_BAR}, over the range that the printed digits leave open", runs, unit="tokens/step")


def margin(fraction: float, runs: tuple[str, ...]) -> Span:
    """Return the difference below which speeds count as level: `2.0 %`."""
    formula = "equivalence margin, both one-sided tests at the 95 % level"
    return number(fmt.percent(fraction, signed=False), fraction, formula, runs, kind="assumed")


def interval(
    estimate: Estimate,
    decimals: int,
    formula: str,
    runs: tuple[str, ...],
    *,
    unit: str | None = None,
    signed: bool = False,
) -> Rich:
    """Return both ends of an interval as two traced numbers; empty where there is none."""
    if estimate.low is None or estimate.high is None:
        return Rich()
    low, high = estimate.low, estimate.high
    return ends(low, high, decimals, formula, runs, unit=unit, signed=signed)


def ends(
    low: float,
    high: float,
    decimals: int,
    formula: str,
    runs: tuple[str, ...],
    *,
    unit: str | None = None,
    signed: bool = False,
) -> Rich:
    """Return `2.27–2.33` as two traced numbers; one number where both round alike."""
    text = fmt.span(low, high, decimals, signed=signed)
    word = " to " if " to " in text else fmt.DASH
    first, second = text.split(word)
    if first == second:
        return rich(number(first, low, formula, runs, unit=unit))
    return rich(
        number(first, low, f"{formula}, lower end", runs, unit=unit),
        word,
        number(second, high, f"{formula}, upper end", runs, unit=unit),
    )
