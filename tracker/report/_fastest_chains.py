"""Which chain is fastest for a drafter of a given quality, at every load: what a drafter should be trained for."""

from __future__ import annotations

from collections.abc import Sequence

from tracker.analysis.acceptance import chain_length
from tracker.analysis.results import ConfigurationCost
from tracker.report import format as fmt
from tracker.report.reading import Reading
from tracker.report.spans import Rich, label, number, rich
from tracker.report.view_parts import Cell, RowHead, TableRow, TableView

QUALITIES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
TYPICAL = 0.7  # between the 0.65 and 0.82 of the two example campaigns


def fastest_chains(reading: Reading) -> TableView | None:
    """Return the fastest measured chain by share of drafts accepted and by load; None below two chains at a load."""
    chains = [
        cost
        for cost in reading.analysis.costs
        if cost.configuration.eagle_topk == 1 and cost.configuration.num_steps is not None
    ]
    loads = [
        load
        for load in dict.fromkeys(cost.concurrency for cost in chains)
        if sum(cost.concurrency == load for cost in chains) > 1
    ]
    if not loads:
        return None
    at = {load: [cost for cost in chains if cost.concurrency == load] for load in loads}
    return TableView(
        key="fastest-chains",
        caption=rich("The fastest chain for a drafter of each quality"),
        conditions=rich(
            "Times the baseline, if that share of the drafts is accepted at every position; real drafters lose along "
            "the chain. Small figures: 80 % interval of the step times."
        ),
        head="Drafts accepted",
        columns=tuple("load not recorded" if load is None else fmt.streams(load) for load in loads),
        rows=tuple(_row(reading, share, list(at.values())) for share in QUALITIES),
    )


def _row(reading: Reading, share: float, loads: Sequence[Sequence[ConfigurationCost]]) -> TableRow:
    text = fmt.percent(share, digits=0, signed=False)
    head = RowHead(text=rich(number(text, share, "share of drafts accepted, supposed", kind="assumed")))
    return TableRow(head=head, cells=tuple(_cell(reading, share, costs) for costs in loads))


def _speedup(share: float, cost: ConfigurationCost) -> float:
    return chain_length(share, cost.configuration.num_steps or 0) / cost.break_even.value


def _cell(reading: Reading, share: float, costs: Sequence[ConfigurationCost]) -> Cell:
    best = max(costs, key=lambda cost: _speedup(share, cost))
    ratio, formula = _speedup(share, best), "(1 + a + ... + a^num_steps) / break_even"
    words = label(reading.names.configuration(best.configuration))
    shown = number(f"{fmt.fixed(ratio, 2)}{fmt.TIMES}", ratio, formula, best.run_ids)
    if ratio < 1:
        return Cell(text=rich("none pays"), small=(rich(words, " ", shown),))
    named = rich(shown, ", ", words)
    bar = best.break_even
    length = ratio * bar.value
    low = number(fmt.fixed(length / bar.high, 2), length / bar.high, f"{formula}, lower end", best.run_ids)
    high = number(fmt.fixed(length / bar.low, 2), length / bar.low, f"{formula}, upper end", best.run_ids)
    interval = Rich() if low.text == high.text else rich(low, fmt.DASH, high)
    return Cell(text=named, small=(interval,) if interval else ())


def typical_chain(reading: Reading) -> ConfigurationCost | None:
    """Return the chain that is fastest at the headline's load for a drafter of ordinary quality; None without one."""
    chains = [
        cost
        for cost in reading.costs_at_load
        if cost.configuration.eagle_topk == 1 and cost.configuration.num_steps is not None
    ]
    return max(chains, key=lambda cost: _speedup(TYPICAL, cost), default=None)


def typical(reading: Reading) -> Rich:
    """Return what that chain would give, in a clause; empty where it would not pay."""
    chain = typical_chain(reading)
    if chain is None or _speedup(TYPICAL, chain) < 1:
        return Rich()
    share = number(
        fmt.percent(TYPICAL, digits=0, signed=False), TYPICAL, "share of drafts accepted, supposed", kind="assumed"
    )
    ratio = _speedup(TYPICAL, chain)
    shown = number(
        f"{fmt.fixed(ratio, 2)}{fmt.TIMES}", ratio, "(1 + a + ... + a^num_steps) / break_even", chain.run_ids
    )
    return rich(share, " of drafts accepted would give ", shown)
