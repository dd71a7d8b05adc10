"""Which chain is fastest for a drafter of a given quality, at every load: what a drafter should be trained for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tracker.analysis.acceptance import chain_length
from tracker.analysis.results import BreakEven, Configuration, ConfigurationCost
from tracker.report import format as fmt
from tracker.report.reading import Reading
from tracker.report.spans import Rich, label, number, rich
from tracker.report.view_parts import Cell, RowHead, TableRow, TableView

QUALITIES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
PREDICTED = "predicted"
_FORMULA = "(1 + a + ... + a^num_steps) / break_even"
TYPICAL = 0.7  # between the 0.65 and 0.82 of the two example campaigns


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A chain of one length at one load."""

    configuration: Configuration
    """Its flags."""
    num_steps: int
    """Draft steps."""
    break_even: BreakEven
    """What it must yield."""
    measured: bool
    """Whether its step time was measured rather than predicted."""
    run_ids: tuple[str, ...]
    """Runs behind it."""


def fastest_chains(reading: Reading) -> TableView | None:
    """Return the fastest chain by share of drafts accepted and by load; None below two measured chains at a load.

    A length nobody measured is named where it is predicted to be faster than all that were.
    """
    measured = [
        cost
        for cost in reading.analysis.costs
        if cost.configuration.eagle_topk == 1 and cost.configuration.num_steps is not None
    ]
    loads = [
        load
        for load in dict.fromkeys(cost.concurrency for cost in measured)
        if sum(cost.concurrency == load for cost in measured) > 1
    ]
    if not loads:
        return None
    at = [
        [*(_measured(cost) for cost in measured if cost.concurrency == load), *_predicted(reading, load)]
        for load in loads
    ]
    rows = tuple(_row(reading, share, at) for share in QUALITIES)
    predicted = any(PREDICTED in cell.text.text for row in rows for cell in row.cells)
    more = (
        " Predicted: a length nobody measured, on the line through its neighbours or up to two steps beyond; beneath "
        "it the fastest measured one."
    )
    return TableView(
        key="fastest-chains",
        caption=rich("The fastest chain for a drafter of each quality"),
        conditions=rich(
            "Times the baseline, if that share of the drafts is accepted at every position; real drafters lose along "
            "the chain. Small figures: 80 % interval of the step times.",
            more if predicted else "",
        ),
        head="Drafts accepted",
        columns=tuple("load not recorded" if load is None else fmt.streams(load) for load in loads),
        rows=rows,
    )


def _measured(cost: ConfigurationCost) -> Chain:
    return Chain(
        configuration=cost.configuration,
        num_steps=cost.configuration.num_steps or 0,
        break_even=cost.break_even,
        measured=True,
        run_ids=cost.run_ids,
    )


def _predicted(reading: Reading, load: int | None) -> list[Chain]:
    return [
        Chain(
            configuration=replace(bar.like, num_steps=bar.num_steps, num_draft_tokens=bar.num_steps + 1),
            num_steps=bar.num_steps,
            break_even=bar.break_even,
            measured=False,
            run_ids=bar.run_ids,
        )
        for bar in reading.analysis.chain_bars
        if bar.concurrency == load and not bar.measured
    ]


def _row(reading: Reading, share: float, loads: Sequence[Sequence[Chain]]) -> TableRow:
    text = fmt.percent(share, digits=0, signed=False)
    head = RowHead(text=rich(number(text, share, "share of drafts accepted, supposed", kind="assumed")))
    return TableRow(head=head, cells=tuple(_cell(reading, share, chains) for chains in loads))


def _speedup(share: float, chain: Chain) -> float:
    return chain_length(share, chain.num_steps) / chain.break_even.value


def _cell(reading: Reading, share: float, chains: Sequence[Chain]) -> Cell:
    best = max(chains, key=lambda chain: (_speedup(share, chain), chain.measured))
    named = _named(reading, share, best)
    tried = max((chain for chain in chains if chain.measured), key=lambda chain: _speedup(share, chain))
    if _speedup(share, best) < 1:
        return Cell(text=rich("none pays"), small=(named,))
    interval = _interval(share, best)
    small = [interval] if interval else []
    if not best.measured:
        small.append(_named(reading, share, tried))
    return Cell(text=named, small=tuple(small))


def _named(reading: Reading, share: float, chain: Chain) -> Rich:
    ratio = _speedup(share, chain)
    shown = number(f"{fmt.fixed(ratio, 2)}{fmt.TIMES}", ratio, _FORMULA, chain.run_ids)
    words = label(reading.names.configuration(chain.configuration))
    return rich(shown, ", ", words, "" if chain.measured else f" {PREDICTED}")


def _interval(share: float, chain: Chain) -> Rich:
    bar, length = chain.break_even, chain_length(share, chain.num_steps)
    low = number(fmt.fixed(length / bar.high, 2), length / bar.high, f"{_FORMULA}, lower end", chain.run_ids)
    high = number(fmt.fixed(length / bar.low, 2), length / bar.low, f"{_FORMULA}, upper end", chain.run_ids)
    return Rich() if low.text == high.text else rich(low, fmt.DASH, high)


def typical_chain(reading: Reading) -> ConfigurationCost | None:
    """Return the measured chain that is fastest at the headline's load for an ordinary drafter; None without one."""
    chains = [
        cost
        for cost in reading.costs_at_load
        if cost.configuration.eagle_topk == 1 and cost.configuration.num_steps is not None
    ]
    return max(chains, key=lambda cost: _speedup(TYPICAL, _measured(cost)), default=None)


def typical(reading: Reading) -> Rich:
    """Return what that chain would give, in a clause; empty where it would not pay."""
    chain = typical_chain(reading)
    ratio = 0.0 if chain is None else _speedup(TYPICAL, _measured(chain))
    if chain is None or ratio < 1:
        return Rich()
    share = number(
        fmt.percent(TYPICAL, digits=0, signed=False), TYPICAL, "share of drafts accepted, supposed", kind="assumed"
    )
    shown = number(f"{fmt.fixed(ratio, 2)}{fmt.TIMES}", ratio, _FORMULA, chain.run_ids)
    return rich(share, " of drafts accepted would give ", shown)
