"""Evidence: throughput of every configuration, and every run in a table."""

from __future__ import annotations

from collections.abc import Sequence

from tracker.analysis.results import Point
from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report._evidence_table import evidence_tables
from tracker.report._resolution import resolution
from tracker.report._section_loads import compared
from tracker.report.figures import BarGroup, BarRow, ThroughputData
from tracker.report.naming import configuration_words
from tracker.report.reading import Reading, in_noise
from tracker.report.spans import Part, Rich, Span, capital, known, number, quote, rich, sentence
from tracker.report.view_parts import Block, FigureView, Folded, Key, Paragraph, Section, TableView

MAX_BARS = 12
LEVEL = 0.01  # below one per cent two configurations count as level
ALL_KEYS = (
    Key(mark="measured", text=rich("measured")),
    Key(mark="predicted", text=rich("predicted")),
    Key(mark="bar", text=rich("bar to clear")),
    Key(mark="missing", text=rich("what is missing")),
    Key(mark="interval", text=rich("80 % interval")),
)


def evidence(reading: Reading) -> Section:
    """Return the evidence section."""
    blocks: list[Block] = []
    figure = throughput_figure(reading)
    if figure is not None:
        blocks.append(figure)
    first, *others = tuple(evidence_tables(reading)) or (None,)
    if first is not None:
        blocks.append(first)
    alone = resolution(reading) if len(compared(reading)) < 2 else None
    if alone is not None:
        blocks.append(alone)
    blocks.extend(_folded(table) for table in others)
    for note in reading.analysis.rejected:
        runs = reading.names.runs(note.run_ids)
        text = sentence(quote(f"Not compared: {note.message}", "rejected.message", note.run_ids))
        blocks.append(Paragraph(text=rich(text, " ", runs), small=True))
    return Section(key="evidence", label="Evidence", heading=_heading(reading), blocks=tuple(blocks))


def _folded(table: TableView) -> Folded:
    """Return the runs of a load that the headline does not speak of."""
    title = table.caption.text
    rows = [row for row in table.rows if row.role != "excluded"]
    best = next((row for row in rows if row.role == "best"), None)
    base = next((row for row in rows if row.role == "baseline"), None)
    parts: list[Part] = []
    if best is not None and base is not None:
        parts = ["Best: ", best.head.text, ", ", best.cells[0].text, " against ", base.cells[0].text, " tok/s."]
    else:
        count = number(str(len(rows)), len(rows), "rows at this load that are not excluded")
        noun = "run" if len(rows) == 1 else "runs"
        parts = [count, f" {noun}, none with a speed to compare."]
    return Folded(key=table.key, title=title, answer=rich(*parts), blocks=(table,))


def _heading(reading: Reading) -> Rich:
    rows, base = reading.contenders, reading.baseline
    if not reading.analysis.points:
        return rich("Nothing was measured that counts")
    if base is None or base.throughput_tok_s.value is None:
        return rich("What was measured, without a baseline to compare with")
    if reading.state == "no_drafter":
        return rich("Step times with acceptance set by hand, and the baseline")
    if not rows and any(point.configuration.speculative for point in reading.at_load):
        return rich("Only the baseline counts: what ran with the drafter is excluded")
    if not rows:
        return rich("Only the baseline was measured")
    beating = [point for point in rows if (point.speedup.value or 0.0) > 1.0]
    at = _at(reading)
    if not beating:
        tie = "; the best two are level" if _level(rows) else ""
        return rich("No configuration beats ", num.tok_s(base), f" tok/s{at}{tie}")
    runs = tuple(point.run_id for point in rows)
    count = number(str(len(beating)), len(beating), "contenders with speedup above 1", runs)
    total = number(str(len(rows)), len(rows), "contenders that count", runs)
    open_end: Part = beyond_noise(beating)
    if reading.verdict is not None and reading.verdict.status == "undecided":
        open_end = ", by less than the noise"
    if len(rows) == 1:
        return rich("The only configuration runs above ", num.tok_s(base), f" tok/s{at}", open_end)
    verb = "runs" if len(beating) == 1 else "run"
    return rich(count, " of ", total, f" configurations {verb} above ", num.tok_s(base), f" tok/s{at}", open_end)


def beyond_noise(rows: Sequence[Point]) -> Rich:
    """Return how many of several leads exceed the noise: `, 3 of them by more than the noise`; empty where all do."""
    beyond = [point.run_id for point in rows if not in_noise(point)]
    if len(beyond) == len(rows):
        return Rich()
    if len(rows) == 1:
        return rich(", by less than the noise")
    if not beyond:
        return rich(", all by less than the noise")
    count = number(str(len(beyond)), len(beyond), "rows whose interval of the speed-up lies above 1", beyond)
    return rich(", ", count, " of them by more than the noise")


def _at(reading: Reading) -> str:
    return f" at {fmt.streams(reading.load)}" if len(reading.loads) > 1 and reading.load is not None else ""


def _level(rows: Sequence[Point]) -> bool:
    values = [point.throughput_tok_s.value for point in rows[:2]]
    if len(values) < 2 or values[0] is None or values[1] is None:
        return False
    return abs(values[0] / values[1] - 1) < LEVEL


def throughput_figure(reading: Reading) -> FigureView | None:
    """Return throughput bars against the baseline; None without a baseline or a contender."""
    base = reading.baseline
    rows = [point for point in reading.contenders if point.throughput_tok_s.value is not None]
    if base is None or base.throughput_tok_s.value is None or not rows:
        return None
    shown = rows[:MAX_BARS]
    data = ThroughputData(
        baseline=base.throughput_tok_s.value, baseline_text=num.tok_s(base), groups=_groups(reading, shown)
    )
    return FigureView(
        key="throughput",
        question="Does any configuration beat the baseline?",
        answer=_answer(reading, rows),
        data=data,
        source=_source(reading, rows, len(shown)),
        title="Throughput of the speculative configurations against the baseline",
        description=_description(data),
        drawn=rich("Filled: with CUDA graph; outlined: without." if reading.names.graph_varies else ""),
        keys=ALL_KEYS,
        keys_label="In all charts",
    )


def _answer(reading: Reading, rows: Sequence[Point]) -> Rich:
    base, best = reading.baseline, rows[0]
    base = known(base)
    gap = known(best.throughput_tok_s.value) - known(base.throughput_tok_s.value)
    shown = number(
        fmt.fixed(abs(gap), 1 if known(base.throughput_tok_s.value) < 200 else 0),
        gap,
        "best contender - baseline",
        [best.run_id, base.run_id],
        unit="tok/s",
    )
    if gap <= 0:
        return rich("No. The best falls ", shown, " tok/s short.")
    verdict = reading.verdict
    if reading.level:
        return rich("Not by more than counts: the best is ", shown, " tok/s ahead.")
    if verdict is not None and verdict.status == "undecided":
        return rich("Not decidable. The best is ", shown, " tok/s ahead, inside the noise.")
    return rich("Yes. The best is ", shown, " tok/s ahead.")


def _groups(reading: Reading, rows: Sequence[Point]) -> tuple[BarGroup, ...]:
    if not reading.names.graph_varies:
        return (BarGroup(title=None, rows=tuple(_bar(reading, point, filled=True) for point in rows)),)
    groups = []
    for title, graph in (("With CUDA graph", True), ("Without CUDA graph", False), ("CUDA graph not recorded", None)):
        members = [point for point in rows if point.configuration.cuda_graph is graph]
        if members:
            bars = tuple(_bar(reading, point, filled=graph is not False) for point in members)
            groups.append(BarGroup(title=title, rows=bars))
    return tuple(groups)


def chart_label(reading: Reading, point: Point) -> str:
    """Return a row's words for a chart: without the CUDA graph, which is the group's title."""
    words = reading.names.row(point)
    if reading.names.graph_varies:
        full = configuration_words(point.configuration, graph=True)
        words = words.replace(full, configuration_words(point.configuration, graph=False))
    return capital(words)


def _bar(reading: Reading, point: Point, *, filled: bool) -> BarRow:
    value = point.throughput_tok_s.value
    value = known(value)
    runs = (point.run_id, reading.baseline.run_id if reading.baseline else "")
    against = num.difference(point.speedup, runs) if point.speedup.value is not None else Span(text="")
    best = reading.best is not None and point.run_id == reading.best.run_id
    return BarRow(
        label=chart_label(reading, point),
        value=value,
        low=point.throughput_tok_s.low,
        high=point.throughput_tok_s.high,
        text=num.tok_s(point),
        against=against,
        best=best,
        filled=filled,
    )


def _source(reading: Reading, rows: Sequence[Point], shown: int) -> Rich:
    parts: list[Part] = [f"Output tokens per second at {fmt.streams(reading.load)}."]
    if reading.load is not None:
        load = number(str(reading.load), reading.load, "concurrency, as measured", kind="measured")
        parts = ["Output tokens per second at ", load, " stream." if reading.load == 1 else " streams."]
    if all(point.throughput_tok_s.low is None for point in rows):
        parts.append(" One run each, no repeats: a bar has no interval of its own.")
    if _level(rows):
        parts += [" ", _level_words(rows)]
    if shown < len(rows):
        left = len(rows) - shown
        parts += [" ", number(str(left), left, "contenders beyond the bars drawn"), " more are in the table."]
    runs = [point.run_id for point in rows[:shown]]
    return rich(*parts, " ", reading.names.runs([*runs, reading.baseline.run_id] if reading.baseline else runs))


def _level_words(rows: Sequence[Point]) -> Rich:
    first, second = rows[0], rows[1]
    apart = abs(known(first.throughput_tok_s.value) / known(second.throughput_tok_s.value) - 1)
    size = number(
        fmt.percent(apart, digits=1, signed=False), apart, "first / second - 1", [first.run_id, second.run_id]
    )
    return rich(num.tok_s(first), " and ", num.tok_s(second), " are ", size, " apart and count as level.")


def _description(data: ThroughputData) -> Rich:
    parts: list[Part] = ["Baseline ", data.baseline_text, " tok/s."]
    for group in data.groups:
        parts.append(f" {group.title}: " if group.title else " ")
        for index, row in enumerate(group.rows):
            parts += ["; " if index else "", Span(text=row.label, style="label"), " ", row.text, " (", row.against, ")"]
        parts.append(".")
    return rich(*parts)
