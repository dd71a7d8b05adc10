"""The bar alone: what a drafter must yield in each configuration and load, and what an accept length would give."""

from __future__ import annotations

from collections.abc import Sequence

from tracker.analysis.results import ConfigurationCost
from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report._bars import Bar, acceptance_span, bars_at, by_depth, easiest
from tracker.report._fastest_chains import fastest_chains
from tracker.report._required import bar_cell, most_cell
from tracker.report._verdict_text import load_words
from tracker.report.figures import GapData, GapGroup, GapRow
from tracker.report.reading import Reading
from tracker.report.spans import Part, Rich, Span, capital, label, listing, number, rich
from tracker.report.view_parts import Block, Cell, FigureView, Folded, Key, RowHead, Section, TableRow, TableView

MAX_ROWS = 12
_LENGTHS = (1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0)
MAX_LENGTHS = 7


def bar_section(reading: Reading) -> Section | None:
    """Return the section; None unless no drafter was served and break-evens are known."""
    lead = easiest(reading)
    if reading.state != "no_drafter" or lead is None:
        return None
    found = (bar_figure(reading), _by_load(reading), fastest_chains(reading), _speeds(reading, reading.load))
    blocks: list[Block] = [block for block in found if block is not None]
    for load in sorted({cost.concurrency for cost in reading.analysis.costs}, key=lambda item: item or 0):
        if load != reading.load:
            blocks.append(_folded_speeds(reading, load))
    return Section(key="bar", label="Break-even", heading=_heading(reading, lead), blocks=tuple(blocks))


def _heading(reading: Reading, lead: Bar) -> Rich:
    cost = lead.cost
    words = label(reading.names.configuration(cost.configuration))
    return rich(
        "A drafter pays from ", num.bar(cost.break_even, cost.run_ids), " tokens a step with ", words, _at(reading)
    )


def _at(reading: Reading) -> Rich:
    return rich(" at ", load_words(reading.load)) if len(reading.loads) > 1 else Rich()


def bar_figure(reading: Reading) -> FigureView | None:
    """Return the bar of every configuration at the headline's load; None where a drafter was served."""
    bars = bars_at(reading, reading.load)[:MAX_ROWS]
    if reading.state != "no_drafter" or not bars:
        return None
    data = GapData(groups=(GapGroup(title=None, rows=tuple(_row(reading, bar) for bar in bars)),))
    return FigureView(
        key="bar",
        question="What must a drafter yield to pay?",
        answer=_answer(reading, bars),
        data=data,
        source=_source(reading, bars),
        title="Break-even accept length of each configuration",
        description=_description(data),
        keys=_keys(data),
    )


def _row(reading: Reading, bar: Bar) -> GapRow:
    cost = bar.cost
    steps = cost.configuration.num_steps
    share = acceptance_span(bar)
    asks = Span(text="")
    if share is not None:
        asks = Span(text=f"{share.text} accepted", fact=share.fact)
    elif cost.reachable is False:
        asks = Span(text="out of reach")
    return GapRow(
        label=capital(reading.names.configuration(cost.configuration)),
        yields=None,
        low=None,
        high=None,
        yields_text=Span(text=""),
        must=cost.break_even.value,
        must_text=num.bar(cost.break_even, cost.run_ids),
        gap_text=asks,
        ceiling=None if steps is None else float(steps + 1),
        ceiling_steps=steps,
        ceiling_assumed=False,
        best=bar is not None and cost.reachable is not False and bar.acceptance is not None and _is_lead(reading, bar),
    )


def _is_lead(reading: Reading, bar: Bar) -> bool:
    lead = easiest(reading)
    return lead is not None and lead.cost is bar.cost


def _answer(reading: Reading, bars: Sequence[Bar]) -> Rich:
    lead = bars[0]
    share = acceptance_span(lead)
    words = label(reading.names.configuration(lead.cost.configuration))
    if lead.cost.reachable is False:
        return rich("More than any of them can yield: no drafter would pay here.")
    if share is None:
        return rich("Least with ", words, ": ", num.bar(lead.cost.break_even, lead.cost.run_ids), " tokens a step.")
    return rich(
        "Least with ", words, ": ", num.bar(lead.cost.break_even, lead.cost.run_ids), " tokens a step, which is ",
        share, " of the draft tokens accepted.",
    )  # fmt: skip


def _source(reading: Reading, bars: Sequence[Bar]) -> Rich:
    runs = tuple(dict.fromkeys(run for bar in bars for run in bar.cost.run_ids))
    return rich(
        "Step time with speculation over step time without",
        _at(reading),
        ". Acceptance was set, so a step's time is measured and a drafter's acceptance is not. "
        "Valid for this hardware, build and load only. ",
        reading.names.runs(runs),
    )


def _keys(data: GapData) -> tuple[Key, ...]:
    keys = [Key(mark="bar", text=rich("must yield"))]
    if any(row.ceiling is not None for group in data.groups for row in group.rows):
        keys.append(Key(mark="hatch", text=rich("more than its steps can yield")))
    return tuple(keys)


def _description(data: GapData) -> Rich:
    parts: list[Part] = []
    for row in data.groups[0].rows:
        parts += ["; " if parts else "", label(row.label), " must yield ", row.must_text]
        if row.gap_text.text:
            parts += [" (", row.gap_text, ")"]
    return rich(*parts, ".")


def _by_load(reading: Reading) -> TableView:
    loads = list(dict.fromkeys(cost.concurrency for cost in reading.analysis.costs))
    found = {(cost.configuration.label, cost.concurrency): cost for cost in reading.analysis.costs}
    ordered = by_depth(bar for load in loads for bar in bars_at(reading, load))
    labels = list(dict.fromkeys(bar.cost.configuration.label for bar in ordered))
    return TableView(
        key="bars",
        caption=rich("Break-even accept length by load"),
        conditions=rich("Tokens a step, bonus token included. Small figures: 80 % interval."),
        head="Configuration",
        columns=("at most", *(_load_head(load) for load in loads)),
        rows=tuple(_bars_row(reading, [found.get((name, load)) for load in loads]) for name in labels),
    )


def _load_head(load: int | None) -> str:
    return "load not recorded" if load is None else fmt.streams(load)


def _bars_row(reading: Reading, costs: Sequence[ConfigurationCost | None]) -> TableRow:
    known = next(cost for cost in costs if cost is not None)
    cells = [Cell(text=Rich()) if cost is None else bar_cell(reading, cost) for cost in costs]
    words = label(capital(reading.names.configuration(known.configuration)))
    return TableRow(head=RowHead(text=rich(words)), cells=(most_cell(known), *cells))


def _folded_speeds(reading: Reading, load: int | None) -> Folded:
    bars = bars_at(reading, load)
    lead = bars[0]
    words = label(reading.names.configuration(lead.cost.configuration))
    bar = num.bar(lead.cost.break_even, lead.cost.run_ids)
    answer = rich(capital("least with "), words, ", from ", bar, " tokens a step.")
    if lead.cost.reachable is False:
        answer = rich("No configuration measured can yield as much as it must.")
    return Folded(
        key=f"speeds-{load}",
        title=f"What an accept length would give at {fmt.streams(load)}",
        answer=answer,
        blocks=(_speeds(reading, load),),
    )


def _speeds(reading: Reading, load: int | None) -> TableView:
    bars = by_depth(bars_at(reading, load))
    lengths = _lengths(bars)
    base = _baseline_tok_s(reading, load)
    against: Part = ""
    if base is not None:
        against = rich(" The baseline makes ", base, " tok/s.")
    supposed = [number(fmt.fixed(length, 1), length, "accept length supposed", kind="assumed") for length in lengths]
    return TableView(
        key=f"speeds-{load}",
        caption=rich("What ", listing(supposed), " tokens a step would give at ", load_words(load)),
        conditions=rich(
            "Output tok/s, and beneath it times the baseline with its 80 % interval.",
            against,
            " No drafter is known to yield any of these.",
        ),
        head="Configuration",
        columns=tuple(fmt.fixed(length, 1) for length in lengths),
        rows=tuple(_speed_row(reading, bar, lengths, base) for bar in bars),
    )


def _lengths(bars: Sequence[Bar]) -> list[float]:
    """Return accept lengths around the bars, none above what every configuration can yield."""
    most = [bar.cost.configuration.num_steps for bar in bars]
    top = max(
        (steps + 1.0 for steps in most if steps is not None), default=max(b.cost.break_even.value for b in bars) * 2
    )
    fitting = [length for length in _LENGTHS if length <= top] or [top]
    return fitting[:MAX_LENGTHS]


def _baseline_tok_s(reading: Reading, load: int | None) -> Span | None:
    verdict = next((item for item in reading.analysis.verdict.by_concurrency if item.concurrency == load), None)
    point = None if verdict is None else reading.point(verdict.baseline_run_id, load)
    return None if point is None or point.throughput_tok_s.value is None else num.tok_s(point)


def _speed_row(reading: Reading, bar: Bar, lengths: Sequence[float], base: Span | None) -> TableRow:
    words = label(capital(reading.names.configuration(bar.cost.configuration)))
    return TableRow(
        head=RowHead(text=rich(words)), cells=tuple(_speed_cell(bar.cost, length, base) for length in lengths)
    )


def _speed_cell(cost: ConfigurationCost, length: float, base: Span | None) -> Cell:
    steps, bar = cost.configuration.num_steps, cost.break_even
    if steps is not None and length > steps + 1:
        return Cell(text=Rich())
    ratio = length / bar.value
    shown = number(f"{fmt.fixed(ratio, 2)}{fmt.TIMES}", ratio, "accept length / break_even", cost.run_ids)
    ends = num.ends(length / bar.high, length / bar.low, 2, "accept length / break_even, 80 %", cost.run_ids)
    if base is None or base.fact is None or base.fact.value is None:
        return Cell(text=rich(shown), small=(ends,))
    speed = base.fact.value * ratio
    decimals = 1 if base.fact.value < 100 else 0  # equal in a table, where speeds differ by a factor of two or three
    formula = "baseline tok/s * accept length / break_even"
    return Cell(
        text=rich(number(fmt.fixed(speed, decimals), speed, formula, cost.run_ids, unit="tok/s")),
        small=(rich(shown), ends),
    )
