"""The campaign over time: every run at its moment against the baseline, jumps annotated."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from tracker.analysis.results import Point, StepChange
from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report.figures_history import HistoryChange, HistoryData, HistoryPoint
from tracker.report.naming import letter
from tracker.report.reading import Reading
from tracker.report.spans import Part, Rich, Span, known, label, number, quote, rich, sentence
from tracker.report.view_parts import Block, Facts, FigureView, Key, Section

LEAST_POINTS = 3
LEAST_SPAN = timedelta(hours=1)  # runs of one afternoon's sweep have no history yet
MAX_LABELS = 16
MAX_CHANGES = 6


def history(reading: Reading) -> Section | None:
    """Return the section; None where the runs span no time worth drawing and nothing jumped."""
    figure = history_figure(reading)
    changes = _facts(reading)
    blocks: tuple[Block, ...] = tuple(block for block in (figure, changes) if block is not None)
    if not blocks:
        return None
    return Section(key="history", label="History", heading=_heading(reading), blocks=blocks)


def _heading(reading: Reading) -> Rich:
    changes = reading.analysis.changes
    alarms = [change for change in changes if change.alarm]
    if alarms:
        return rich("A series jumped, and nobody wrote down why" if len(alarms) == 1 else _several(alarms))
    if changes:
        return rich("Every jump over time has a recorded cause")
    placed = _placed(reading)
    runs = [point.run_id for _, point in placed]
    days = max(1, round((placed[-1][0] - placed[0][0]).total_seconds() / 86400)) if placed else 0
    return rich(
        number(str(len(runs)), len(runs), "runs at this load with a throughput and a time", runs, kind="measured"),
        " runs over ",
        number(str(days), days, "last run - first run, in days", runs),
        " day against the baseline" if days == 1 else " days against the baseline",
    )


def _several(alarms: Sequence[StepChange]) -> Rich:
    count = number(str(len(alarms)), len(alarms), "jumps without an annotation", alarms[0].run_ids_after)
    return rich(count, " series jumped, and nobody wrote down why")


def history_figure(reading: Reading) -> FigureView | None:
    """Return the runs at the headline's load over time; None below three runs or an hour, or without a baseline."""
    base = reading.baseline
    if base is None or base.throughput_tok_s.value is None:
        return None
    placed = _placed(reading)
    if len(placed) < LEAST_POINTS or placed[-1][0] - placed[0][0] < LEAST_SPAN:
        return None
    named = len(placed) <= MAX_LABELS
    points = tuple(_point(reading, moment, point, named=named) for moment, point in placed)
    data = HistoryData(
        points=points,
        bar=base.throughput_tok_s.value,
        bar_text=Span(text=f"baseline {num.tok_s(base).text}", fact=num.tok_s(base).fact),
        unit="output tok/s",
        changes=_marks(reading),
    )
    return FigureView(
        key="history",
        question="What happened over time?",
        answer=_answer(reading, placed),
        data=data,
        source=_source(reading, placed),
        title="Throughput of every run over time against the baseline",
        description=_description(data),
        drawn=rich(
            "Squares: runs without speculation; discs: with a drafter; crosses: left out of the fits. "
            "Where marks crowd, some go without a name."
        ),
        keys=(Key(mark="measured", text=rich("measured")), Key(mark="bar", text=rich("baseline to beat"))),
    )


def _placed(reading: Reading) -> list[tuple[datetime, Point]]:
    rows = ((_moment(reading, point), point) for point in reading.at_load if point.throughput_tok_s.value is not None)
    return sorted(
        ((moment, point) for moment, point in rows if moment is not None), key=lambda pair: (pair[0], pair[1].record_id)
    )


def _moment(reading: Reading, point: Point) -> datetime | None:
    moment = point.measured_at or reading.context.logged_at.get(point.run_id)
    return None if moment is None else moment.astimezone(reading.context.timezone)


def _point(reading: Reading, moment: datetime, point: Point, *, named: bool) -> HistoryPoint:
    best = reading.best is not None and point.run_id == reading.best.run_id
    plain = not point.configuration.speculative
    return HistoryPoint(
        at=moment,
        value=known(point.throughput_tok_s.value),
        label=reading.names.run(point.run_id).text if named or best else "",
        name=reading.names.row(point),
        text=num.tok_s(point),
        kind="excluded" if point.excluded_reason else "baseline" if plain else "best" if best else "contender",
    )


def _shown(reading: Reading) -> list[tuple[str, StepChange]]:
    """Return the jumps with their letters, alarms first."""
    return [(letter(index).lower(), change) for index, change in enumerate(reading.analysis.changes[:MAX_CHANGES])]


def _marks(reading: Reading) -> tuple[HistoryChange, ...]:
    rows = {point.run_id: point for point in reading.at_load}
    marks = []
    for name, change in _shown(reading):
        point = rows.get(change.run_ids_after[0]) if change.run_ids_after else None
        moment = None if point is None or change.concurrency != reading.load else _moment(reading, point)
        if moment is not None:
            marks.append(HistoryChange(at=moment, letter=name, annotated=change.annotation is not None))
    return tuple(marks)


def _facts(reading: Reading) -> Facts | None:
    items = []
    for name, change in _shown(reading):
        runs = (*change.run_ids_before, *change.run_ids_after)
        parts: list[Part] = [sentence(quote(change.message, "changes.message", runs))]
        if change.annotation and change.annotation not in change.message:
            parts += [" Recorded: ", label(change.annotation), "."]
        items.append((f"Jump {name}", rich(*parts, " ", reading.names.runs(change.run_ids_after[:1]))))
    return Facts(items=tuple(items)) if items else None


def _answer(reading: Reading, placed: Sequence[tuple[datetime, Point]]) -> Rich:
    points = [point for _, point in placed if point.configuration.speculative and not point.excluded_reason]
    if not points:
        return rich("Only runs without speculation count so far.")
    first = points[0]
    best = max(points, key=lambda point: known(point.throughput_tok_s.value))
    if best.run_id == first.run_id:
        return rich("No later run passed the first one with a drafter, ", num.tok_s(first), " tok/s.")
    return rich(
        "From ", num.tok_s(first), " tok/s in the first run with a drafter to ", num.tok_s(best), " in the best."
    )


def _source(reading: Reading, placed: Sequence[tuple[datetime, Point]]) -> Rich:
    parts: list[Part] = ["Output tokens per second", _at(reading), " by when a run was measured"]
    logged = [point for _, point in placed if point.measured_at is None]
    parts.append("; where that is not recorded, by when it was logged." if logged else ".")
    left = len({point.run_id for point in reading.at_load}) - len(placed)
    if left:
        verb = "run has no throughput and is" if left == 1 else "runs have no throughput and are"
        parts += [" ", number(str(left), left, "runs at this load without throughput or time"), f" {verb} not shown."]
    return rich(*parts)


def _at(reading: Reading) -> Rich:
    if reading.load is None:
        return Rich()
    load = number(str(reading.load), reading.load, "concurrency, as measured", kind="measured")
    return rich(" at ", load, " stream" if reading.load == 1 else " streams")


def _description(data: HistoryData) -> Rich:
    parts: list[Part] = ["Baseline to beat: ", Span(text=fmt.throughput(data.bar), fact=data.bar_text.fact), "."]
    for point in data.points:
        parts += [" ", label(fmt.date_short(point.at)), " ", label(point.name), " ", point.text, ";"]
    return rich(*parts[:-1], ".")
