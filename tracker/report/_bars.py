"""What a drafter must yield where none was served: step times come from runs whose acceptance was set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tracker.analysis.acceptance import constant_acceptance
from tracker.analysis.results import ConfigurationCost
from tracker.report import format as fmt
from tracker.report.reading import Reading
from tracker.report.spans import Span, number


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One configuration's break-even with what it asks of every draft token."""

    cost: ConfigurationCost
    """The break-even."""
    acceptance: float | None
    """Share of draft tokens that must be accepted, alike at every position; None for trees, unrecorded steps and bars
    out of reach."""


def bar_of(cost: ConfigurationCost) -> Bar:
    """Return a break-even with the acceptance a chain needs for it."""
    configuration, value = cost.configuration, cost.break_even.value
    steps = configuration.num_steps
    chain = configuration.eagle_topk == 1 and steps is not None and 1 <= value <= steps + 1
    return Bar(cost=cost, acceptance=constant_acceptance(value, steps) if chain and steps is not None else None)


def bars_at(reading: Reading, load: int | None) -> list[Bar]:
    """Return the break-evens of a load, the one that asks least of a drafter first."""
    bars = [bar_of(cost) for cost in reading.analysis.costs if cost.concurrency == load]
    return sorted(
        bars,
        key=lambda bar: (
            bar.cost.reachable is False,
            1.0 if bar.acceptance is None else bar.acceptance,
            bar.cost.break_even.value,
        ),
    )


def by_depth(bars: Iterable[Bar]) -> list[Bar]:
    """Return bars as a table lists them: chains by length, then trees, then what is not recorded."""
    return sorted(
        bars,
        key=lambda bar: (
            bar.cost.configuration.eagle_topk or 1_000_000,
            bar.cost.configuration.num_steps or 1_000_000,
            bar.cost.configuration.num_draft_tokens or 0,
            bar.cost.configuration.label,
        ),
    )


def easiest(reading: Reading) -> Bar | None:
    """Return the break-even at the headline's load that asks least of a drafter; None without any."""
    return next(iter(bars_at(reading, reading.load)), None)


def lead_cost(reading: Reading) -> ConfigurationCost | None:
    """Return the break-even to speak of first where no run is the best: the one that asks least of a drafter."""
    lead = easiest(reading)
    return next(iter(reading.analysis.costs), None) if lead is None else lead.cost


def acceptance_span(bar: Bar) -> Span | None:
    """Return the share of draft tokens that must be accepted: `64 %`; None where it is not known."""
    if bar.acceptance is None:
        return None
    formula = "a with 1 + a + a^2 + ... + a^num_steps = break_even"
    text = fmt.percent(bar.acceptance, digits=0, signed=False)
    return number(text, bar.acceptance, formula, bar.cost.run_ids)
