"""Verdict by load, when more than one load was measured."""

from __future__ import annotations

from collections.abc import Sequence

from tracker.analysis.results import LoadVerdict, Point
from tracker.report import numbers as num
from tracker.report._least_certain import crossing
from tracker.report._resolution import resolution
from tracker.report._verdict_text import WORDS, load_list, load_words, runs_of
from tracker.report.figures import LoadData, LoadPoint, LoadSeries
from tracker.report.naming import short_words
from tracker.report.reading import Reading
from tracker.report.spans import Part, Rich, Span, capital, known, label, listing, number, quote, rich, sentence
from tracker.report.view_parts import Block, Cell, Facts, FigureView, RowHead, Section, TableRow, TableView

MAX_SERIES = 6


def loads(reading: Reading) -> Section | None:
    """Return the section; None with fewer than two loads that have a speed-up."""
    verdicts = compared(reading)
    if len(verdicts) < 2:
        return None
    blocks: list[Block] = []
    figure = load_figure(reading)
    if figure is not None:
        blocks.append(figure)
    blocks.append(_table(reading, verdicts))
    reasons = _reasons(verdicts)
    if reasons is not None:
        blocks.append(reasons)
    shown = resolution(reading)
    if shown is not None:
        blocks.append(shown)
    return Section(key="loads", label="Verdict by load", heading=_heading(verdicts), blocks=tuple(blocks))


def compared(reading: Reading) -> list[LoadVerdict]:
    """Return the loads with a speed-up."""
    return [item for item in reading.analysis.verdict.by_concurrency if item.speedup.value is not None]


def _heading(verdicts: Sequence[LoadVerdict]) -> Rich:
    first, last = verdicts[0].status, verdicts[-1].status
    if first == "faster" and last == "slower":
        return rich("The drafter pays alone and costs in a crowd")
    if first == "slower" and last == "faster":
        return rich("The drafter costs alone and pays in a crowd")
    statuses = {item.status for item in verdicts}
    if statuses == {"faster"}:
        return rich("The drafter pays at every measured load")
    if statuses == {"slower"}:
        return rich("The drafter costs at every measured load")
    return rich("What the drafter does depends on the load")


def load_figure(reading: Reading) -> FigureView | None:
    """Return speed-up over load; None where no run was measured at two loads."""
    series = _series(reading)
    if not series:
        return None
    data = LoadData(series=series, crossing=crossing(reading))
    return FigureView(
        key="load",
        question="Up to which load does the drafter pay?",
        answer=_answer(reading),
        data=data,
        source=_source(reading, data),
        drawn=rich(
            "Log scale of streams; lines join measured points, and no crossing point is drawn.",
            "" if data.crossing is None else " The shaded span holds the best contender's crossing.",
        ),
        title="Speed-up over the baseline at each measured load",
        description=_description(data),
    )


def _series(reading: Reading) -> tuple[LoadSeries, ...]:
    lead = reading.best.run_id if reading.best is not None else None
    rows: dict[str, list[Point]] = {}
    for point in reading.analysis.points:
        usable = point.configuration.speculative and point.excluded_reason is None and not point.step_time_only
        if usable and point.speedup.value is not None and point.concurrency is not None:
            rows.setdefault(point.run_id, []).append(point)
    long = {run_id: points for run_id, points in rows.items() if len(points) > 1}
    order = sorted(long, key=lambda run_id: (run_id != lead, -max(p.speedup.value or 0.0 for p in long[run_id])))
    return tuple(
        LoadSeries(
            label=short_words(reading.names.row(long[run_id][0]).replace(" samples", ""), 19),
            name=reading.names.row(long[run_id][0]),
            points=tuple(_load_point(point) for point in sorted(long[run_id], key=lambda p: p.concurrency or 0)),
            lead=run_id == lead,
        )
        for run_id in order[:MAX_SERIES]
    )


def _load_point(point: Point) -> LoadPoint:
    return LoadPoint(
        concurrency=known(point.concurrency),
        speedup=known(point.speedup.value),
        low=point.speedup.low,
        high=point.speedup.high,
        text=num.speedup_ratio(point.speedup, (point.run_id,), mark=""),
    )


def _answer(reading: Reading) -> Rich:
    verdicts = compared(reading)
    faster = [item for item in verdicts if item.status == "faster"]
    lost = [item for item in verdicts if item.status == "slower"]
    if faster and lost:
        return rich("It pays at ", load_words(faster[-1].concurrency), "; the lead is gone by ", _count(lost[0]), ".")
    if faster and len(faster) == len(verdicts):
        return rich("It pays up to ", load_words(faster[-1].concurrency), ", the highest load measured.")
    if lost and len(lost) == len(verdicts):
        return rich("It pays at none of the measured loads.")
    unknown = [item.concurrency for item in verdicts if item.status == "undecided"]
    shown = [item.concurrency for item in faster or lost]
    if not shown:
        return rich("The data decide at no load.")
    start = "It pays at " if faster else "It does not pay at "
    return rich(start, load_list(shown), "; at ", load_list(unknown), " the data do not decide.")


def _count(item: LoadVerdict) -> Span:
    return number(str(item.concurrency), item.concurrency, "concurrency, as measured", kind="measured")


def _source(reading: Reading, data: LoadData) -> Rich:
    parts: list[Part] = ["Speed-up over the baseline at the same load."]
    usable = {p.run_id for p in reading.analysis.points if p.speedup.value is not None and not p.excluded_reason}
    total = len({p.run_id for p in reading.analysis.points if p.configuration.speculative} & usable)
    if total > len(data.series):
        left = total - len(data.series)
        parts += [" ", number(str(left), left, "runs beyond the lines drawn"), " more in the tables below."]
    return rich(*parts)


def _description(data: LoadData) -> Rich:
    parts: list[Part] = []
    for series in data.series:
        parts += ["; " if parts else "", label(series.name), ": "]
        for index, point in enumerate(series.points):
            load = number(str(point.concurrency), point.concurrency, "concurrency, as measured", kind="measured")
            parts += [", " if index else "", point.text, " at ", load]
    return rich(*parts, ".")


def _table(reading: Reading, verdicts: Sequence[LoadVerdict]) -> TableView:
    return TableView(
        key="loads",
        caption=rich("One verdict per load"),
        conditions=rich("Best contender at each load, output tok/s, 80 % intervals."),
        head="Streams",
        columns=("best contender", "with drafter", "baseline", "speed-up", "yields", "break-even", "verdict"),
        rows=tuple(_row(reading, item) for item in verdicts),
        text_columns=frozenset({0}),
    )


def _reasons(verdicts: Sequence[LoadVerdict]) -> Facts | None:
    """Return what each verdict rests on, loads with the same reason together."""
    groups: dict[str, list[LoadVerdict]] = {}
    for item in verdicts:
        if item.reason:
            groups.setdefault(item.reason, []).append(item)
    items = []
    for reason, members in groups.items():
        loads = listing([str(item.concurrency) for item in members if item.concurrency is not None]).text
        unit = "stream" if loads == "1" else "streams"
        text = sentence(quote(capital(reason), "verdict.by_concurrency.reason"))
        items.append((f"{loads} {unit}" if loads else "Load not recorded", text))
    return Facts(items=tuple(items), title="What the verdicts rest on") if items else None


def _row(reading: Reading, item: LoadVerdict) -> TableRow:
    best = reading.point(item.best_run_id, item.concurrency)
    base = reading.point(item.baseline_run_id, item.concurrency)
    runs = runs_of(item)
    shown = num.speedup_range(item.speedup, runs)
    load = Rich() if item.concurrency is None else rich(_count(item))
    who = Rich()
    if best is not None:
        who = rich(label(reading.names.row(best)), ", ", reading.names.run(best.run_id))
    return TableRow(
        head=RowHead(text=load or rich("not recorded"), small=_common(item)),
        cells=(
            Cell(text=who),
            Cell(text=rich(num.tok_s(best)) if best is not None else Rich()),
            Cell(text=rich(num.tok_s(base)) if base is not None else Rich()),
            Cell(text=rich(num.speedup_ratio(item.speedup, runs)), small=(shown,) if shown else ()),
            _yields(best),
            _bar(best),
            Cell(text=rich(WORDS[item.status].lower()), mark=item.status, small=_level(item)),
        ),
    )


def _level(item: LoadVerdict) -> tuple[Rich, ...]:
    """Return that a load counts as level, where both one-sided tests say so."""
    if item.equivalence != "equivalent" or item.equivalence_margin is None:
        return ()
    return (rich("level within ", num.margin(item.equivalence_margin, runs_of(item))),)


def _common(item: LoadVerdict) -> tuple[Rich, ...]:
    if item.prompts_in_common is None:
        return ()
    count = number(
        str(item.prompts_in_common),
        item.prompts_in_common,
        "prompts that both runs answered",
        runs_of(item),
        kind="measured",
    )
    return (rich(count, " prompts in common"),)


def _yields(best: Point | None) -> Cell:
    if best is None or best.accept_length.value is None:
        return Cell(text=Rich())
    return Cell(text=rich(num.accept_length(best)))


def _bar(best: Point | None) -> Cell:
    if best is None or best.break_even is None:
        return Cell(text=Rich())
    small: list[Rich] = [num.bar_range(best.break_even, (best.run_id,))]
    if best.reachable is False and best.configuration.num_steps is not None:
        most = best.configuration.num_steps + 1
        small.append(rich("out of reach, at most ", number(str(most), most, "num_steps + 1", [best.run_id])))
    return Cell(text=rich(num.bar(best.break_even, (best.run_id,))), small=tuple(line for line in small if line))
