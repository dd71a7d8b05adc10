"""Figure: what each configuration yields against what it must yield."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracker.analysis.results import Point
from tracker.report import format as fmt
from tracker.report import numbers as num
from tracker.report._section_evidence import MAX_BARS, beyond_noise, chart_label
from tracker.report.figures import GapData, GapGroup, GapRow
from tracker.report.reading import Reading, in_noise
from tracker.report.spans import Part, Rich, Span, join, known, label, number, rich
from tracker.report.view_parts import FigureView, Key

OUT_OF_SIGHT = 0.5  # a configuration that needs half as much again is out of sight of its bar


def gap_figure(reading: Reading) -> FigureView | None:
    """Return accept length against break-even per row; None where no row has both."""
    points = [point for point in reading.contenders if point.break_even is not None and point.accept_length.value]
    if not points:
        return None
    rows = [(point, _row(reading, point)) for point in points[:MAX_BARS]]
    data = GapData(groups=_groups(reading, rows))
    return FigureView(
        key="gap",
        question="How far is each configuration from paying for itself?",
        answer=_answer(reading, points),
        data=data,
        source=_source(reading, points),
        title="Accept length against break-even for each configuration",
        description=_description(data),
        drawn=_drawn([row for _, row in rows]),
        keys=_keys([row for _, row in rows]),
    )


def _row(reading: Reading, point: Point) -> GapRow:
    ends = point.accept_length_rounding
    if point.accept_length.low is not None and point.accept_length.high is not None:
        ends = (point.accept_length.low, point.accept_length.high)
    steps, assumed = _ceiling_steps(point)
    return GapRow(
        label=chart_label(reading, point),
        yields=known(point.accept_length.value),
        low=ends[0] if ends else None,
        high=ends[1] if ends else None,
        yields_text=num.accept_length_short(point) if point.accept_length.low is None else num.accept_length(point),
        must=known(point.break_even).value,
        must_text=num.bar(known(point.break_even), (point.run_id,)),
        gap_text=_gap_text(point),
        ceiling=None if steps is None else float(steps + 1),
        ceiling_steps=steps,
        ceiling_assumed=assumed,
        best=reading.best is not None and point.run_id == reading.best.run_id,
        in_noise=in_noise(point),
    )


def _ceiling_steps(point: Point) -> tuple[int | None, bool]:
    """Return the draft steps whose ceiling cuts the bar off, and whether they are assumed; None where none does."""
    steps = point.configuration.num_steps
    if steps is not None:
        return (steps, False) if known(point.break_even).value > steps + 1 else (None, False)
    if point.reachable_note is None:
        return None, False
    return math.ceil(known(point.break_even).value) - 2, True


def _gap_text(point: Point) -> Span:
    share = num.needs(point)
    if share is None or share.fact is None or point.needs_fraction is None:
        return Span(text="")
    if point.needs_fraction > 0:
        return Span(text=f"needs {share.text}", fact=share.fact)
    text = fmt.percent(abs(point.needs_fraction), signed=False)
    return number(f"clears by {text}", point.needs_fraction, share.fact.formula, share.fact.run_ids)


def _groups(reading: Reading, rows: Sequence[tuple[Point, GapRow]]) -> tuple[GapGroup, ...]:
    if not reading.names.graph_varies:
        return (GapGroup(title=None, rows=tuple(row for _, row in rows)),)
    titles = (("With CUDA graph", True), ("Without CUDA graph", False), ("CUDA graph not recorded", None))
    groups = (
        GapGroup(title=title, rows=tuple(row for point, row in rows if point.configuration.cuda_graph is graph))
        for title, graph in titles
    )
    return tuple(group for group in groups if group.rows)


def _answer(reading: Reading, points: Sequence[Point]) -> Rich:
    needs = {point.run_id: point.needs_fraction for point in points if point.needs_fraction is not None}
    clear = [run for run, value in needs.items() if value <= 0]
    if clear:
        count = number(str(len(clear)), len(clear), "rows with accept_length above break_even", clear)
        noise = beyond_noise([point for point in points if point.run_id in clear])
        if len(needs) == 1:
            return rich("The only one yields more tokens a step than it must", noise, ".")
        total = number(str(len(needs)), len(needs), "rows with a break-even", needs)
        return rich(
            count,
            " of ",
            total,
            " yield more tokens a step than they must" if len(clear) > 1 else " yields more tokens a step than it must",
            noise,
            ".",
        )
    graph = [p for p in points if p.configuration.cuda_graph is True and p.run_id in needs]
    plain = [p for p in points if p.configuration.cuda_graph is False and p.run_id in needs]
    if reading.names.graph_varies and graph and plain:
        far = min(needs[p.run_id] for p in plain) > OUT_OF_SIGHT
        without: Part = "without it, out of sight" if far else rich("without it ", _short(plain, needs))
        return rich("With CUDA graph ", _short(graph, needs), " short; ", without, ".")
    return rich("None pays yet: they are ", _short(list(points), needs), " short.")


def _short(points: Sequence[Point], needs: dict[str, float]) -> Rich:
    values = [needs[point.run_id] for point in points]
    runs = tuple(point.run_id for point in points)
    shown = num.ends(min(values) * 100, max(values) * 100, 0, "break_even / accept_length - 1", runs, unit="%")
    return rich(*(" to " if span.text == fmt.DASH else span for span in shown.spans), " %")


def _keys(rows: Sequence[GapRow]) -> tuple[Key, ...]:
    keys = [Key(mark="measured", text=rich("yields")), Key(mark="bar", text=rich("must yield"))]
    steps = sorted({row.ceiling_steps for row in rows if row.ceiling_steps is not None})
    if steps:
        count, most = steps[0], steps[0] + 1.0
        limit = number(fmt.fixed(most, 1), most, "num_steps + 1", kind="assumed")
        shown = number(str(count), count, "num_steps, assumed where it was not recorded", kind="assumed")
        words = rich("above ", limit, ": out of reach with ", shown, " step" if count == 1 else " steps")
        keys.append(Key(mark="hatch", text=words if len(steps) == 1 else rich("out of reach")))
    return tuple(keys)


def _drawn(rows: Sequence[GapRow]) -> Rich:
    parts: list[Part] = []
    if any(row.ceiling_assumed for row in rows):
        parts.append("Hatched where the step count was not recorded and the bar would be out of reach.")
    if any(row.in_noise for row in rows):
        parts.append("Distances in grey are inside the noise.")
    return join(parts, " ")


def _source(reading: Reading, points: Sequence[Point]) -> Rich:
    parts: list[Part] = [
        "Accept length, bonus token included, against break-even (step time with speculation over step time without). "
        "Valid for this hardware, build and load only."
    ]
    runs = [point.run_id for point in points[:MAX_BARS]]
    return rich(*parts, " ", reading.names.runs(runs))


def _description(data: GapData) -> Rich:
    parts: list[Part] = []
    for group in data.groups:
        parts.append(f"{group.title}: " if group.title else "")
        for index, row in enumerate(group.rows):
            parts += [
                "; " if index else "",
                label(row.label),
                " yields ",
                row.yields_text,
                ", must yield ",
                row.must_text,
                " (",
                row.gap_text,
                ")",
            ]
        parts.append(". ")
    return rich(*parts)
