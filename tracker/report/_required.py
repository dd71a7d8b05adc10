"""What target speed-ups take: accept length for each configuration and load, and whether a step can yield it."""

from __future__ import annotations

from collections.abc import Sequence

from tracker.analysis.results import ConfigurationCost
from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report._bars import lead_cost
from tracker.report._verdict_text import load_words
from tracker.report.reading import Reading
from tracker.report.spans import Part, Rich, Span, capital, label, listing, number, rich
from tracker.report.view_parts import Block, Cell, Folded, RowHead, TableRow, TableView

MAX_ROWS = 24


def required(reading: Reading) -> Folded | None:
    """Return the folded tables; None without a break-even."""
    costs = ordered_costs(reading)
    lead = reading.best_cost or lead_cost(reading)
    if lead is None or not lead.required:
        return None
    shown = costs[:MAX_ROWS]
    blocks: list[Block] = [_table(reading, shown, len(costs) - len(shown))]
    whole = [cost for cost in shown if cost.prefill is not None]
    if whole:
        blocks.append(_whole_requests(reading, whole))
    return Folded(
        key="targets", title="What more speed would take", answer=_answer(reading, lead), blocks=tuple(blocks)
    )


def ordered_costs(reading: Reading) -> list[ConfigurationCost]:
    """Return every break-even, the headline's load first, the lowest first within a load."""
    return sorted(
        reading.analysis.costs,
        key=lambda cost: (cost.concurrency != reading.load, cost.concurrency or 0, cost.break_even.value),
    )


def _answer(reading: Reading, cost: ConfigurationCost) -> Rich:
    goals = [_goal(key) for key in cost.required]
    lengths = [_length(cost, key) for key in cost.required]
    parts: list[Part] = [
        label(capital(reading.names.configuration(cost.configuration))),
        " needs ",
        listing(lengths),
        " tokens a step for ",
        listing(goals),
        " times the baseline",
    ]
    steps = cost.configuration.num_steps
    if steps is not None:
        parts += ["; at most ", number(str(steps + 1), steps + 1, "num_steps + 1", cost.run_ids), " can be yielded"]
    return rich(*parts, ".")


def _goal(key: str) -> Span:
    return number(key, float(key), "target speed-up", kind="assumed")


def _length(cost: ConfigurationCost, key: str) -> Span:
    value = cost.required[key]
    return number(fmt.fixed(value, 2), value, f"{key} * break_even", cost.run_ids, unit="tokens/step")


def _table(reading: Reading, costs: Sequence[ConfigurationCost], left: int) -> TableView:
    keys = list(costs[0].required)
    more: Part = ""
    if left > 0:
        more = rich(" ", number(str(left), left, "break-evens beyond those shown"), " more are in memo.json.")
    return TableView(
        key="required",
        caption=rich("Accept length that each speed takes"),
        conditions=rich("Tokens a step, bonus token included, against the baseline of the same load.", more),
        head="Configuration",
        columns=("yields at best", "at most", "break-even", *(f"{key}{fmt.TIMES}" for key in keys)),
        rows=tuple(_row(reading, cost, keys) for cost in costs),
    )


def configuration_head(reading: Reading, cost: ConfigurationCost) -> RowHead:
    """Return the head of a configuration's row, with its load where several were measured."""
    words = label(capital(reading.names.configuration(cost.configuration)))
    small = (load_words(cost.concurrency),) if len(reading.loads) > 1 else ()
    return RowHead(text=rich(words), small=small)


def most_cell(cost: ConfigurationCost) -> Cell:
    """Return the most that a step can yield; empty where its steps are not recorded."""
    steps = cost.configuration.num_steps
    if steps is None:
        return Cell(text=Rich())
    return Cell(text=rich(number(str(steps + 1), steps + 1, "num_steps + 1", cost.run_ids, unit="tokens/step")))


def bar_cell(reading: Reading, cost: ConfigurationCost) -> Cell:
    """Return a break-even with its interval, and what speculation alone costs where that is another ratio."""
    small = [num.bar_range(cost.break_even, cost.run_ids)]
    own, ratio = cost.attribution_run_id, cost.attribution_ratio
    if own is not None and ratio is not None and own != cost.run_ids[-1]:
        shown = number(
            fmt.fixed(ratio, 2), ratio, "step_time_spec / step_time of the plain run with these flags", [own]
        )
        small.append(rich(shown, " against its own flags, ", reading.names.run(own)))
    if cost.reachable is False:
        small.append(rich("out of reach"))
    elif cost.reachable_note:
        small.append(rich("open: its steps are not recorded"))
    return Cell(text=rich(num.bar(cost.break_even, cost.run_ids)), small=tuple(line for line in small if line))


def _row(reading: Reading, cost: ConfigurationCost, keys: Sequence[str]) -> TableRow:
    best = cost.best_accept_length.value
    yields = Rich()
    if best is not None:
        yields = rich(
            number(
                fmt.fixed(best, 2),
                best,
                "1 + accepted drafts / verify steps, highest",
                cost.run_ids,
                unit="tokens/step",
            )
        )
    return TableRow(
        head=configuration_head(reading, cost),
        cells=(
            Cell(text=yields),
            most_cell(cost),
            bar_cell(reading, cost),
            *(_target_cell(cost, key) for key in keys),
        ),
        role="best" if reading.best_cost is cost else "plain",
    )


def _target_cell(cost: ConfigurationCost, key: str) -> Cell:
    if key not in cost.required:
        return Cell(text=Rich())
    small = (rich("out of reach"),) if cost.required_reachable.get(key) is False else ()
    return Cell(text=rich(_length(cost, key)), small=small)


def _whole_requests(reading: Reading, costs: Sequence[ConfigurationCost]) -> TableView:
    keys = list(costs[0].prefill.required) if costs[0].prefill is not None else []
    return TableView(
        key="required-whole",
        caption=rich("The same for whole requests, with the time to the first token"),
        conditions=rich("A prompt takes its time on both servers, so a whole request gains less than its decoding."),
        head="Configuration",
        columns=("prompt's share", "break-even, decoding only", *(f"{key}{fmt.TIMES}" for key in keys)),
        rows=tuple(_whole_row(reading, cost, keys) for cost in costs),
    )


def _whole_row(reading: Reading, cost: ConfigurationCost, keys: Sequence[str]) -> TableRow:
    found = cost.prefill
    if found is None:
        return TableRow(head=configuration_head(reading, cost), cells=())
    share = number(
        fmt.percent(found.baseline_prefill_fraction, signed=False),
        found.baseline_prefill_fraction,
        "time to the first token / time of a baseline request",
        cost.run_ids[-1:],
    )
    bar = number(
        fmt.fixed(found.break_even, 2),
        found.break_even,
        "decoding step time_spec / decoding step_time_base",
        cost.run_ids,
    )
    cells = [Cell(text=rich(share)), Cell(text=rich(bar))]
    for key in keys:
        value = found.required.get(key)
        if value is None:
            cells.append(Cell(text=rich("never: the prompt alone takes longer")))
            continue
        formula = f"accept length at which a whole request runs {key} times as fast"
        cells.append(Cell(text=rich(number(fmt.fixed(value, 2), value, formula, cost.run_ids, unit="tokens/step"))))
    return TableRow(head=configuration_head(reading, cost), cells=tuple(cells))
