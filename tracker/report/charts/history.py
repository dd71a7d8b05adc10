"""Values over time: one mark a run, the bar to clear as a line, jumps as dashed lines with a letter."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from tracker.report import format as fmt
from tracker.report.charts.marks import Anchor, Drawing, Glyph, Line, Mark, Text
from tracker.report.charts.scale import Scale, covering, ticks_of
from tracker.report.figures_history import HistoryData, HistoryPoint

_TOP, _BOTTOM = 34.0, 214.0
_LABEL_WIDTH, _LABEL_HEIGHT = 7.0, 13.0  # per cent, pixels
_MARKS = {
    "baseline": ("square", "fi pk"),
    "contender": ("disc", "fb pk"),
    "best": ("disc", "fb pk"),
    "excluded": ("cross", "so"),
}


def draw_history(data: HistoryData) -> Drawing:
    """Return the values in order of time; nothing is drawn between them, for nothing was measured there."""
    first, last = data.points[0].at, data.points[-1].at
    x = Scale(low=0.0, high=max(1.0, (last - first).total_seconds()), left=12.0, right=93.0)
    low, high = covering([data.bar, *(point.value for point in data.points)], pad=0.12)
    y = _Vertical(min(low, data.bar), high)
    marks: list[Mark] = []
    for value in ticks_of(y.low, y.high, 4):
        marks.append(Line(x1=0, y1=y.at(value), x2=100, y2=y.at(value), css="grid"))
        marks.append(Text(x=0, y=y.at(value) - 4, text=_tick(value, y.high), css="t2 tick halo"))
    bar = y.at(data.bar)
    marks.append(Line(x1=0, y1=bar, x2=100, y2=bar, css="bar"))
    marks.append(Text(x=50, y=bar - 6, text=data.bar_text.text, css="t2 b halo", anchor="middle"))
    for change in data.changes:
        at = x.at((change.at - first).total_seconds())
        marks.append(Line(x1=at, y1=_TOP - 12, x2=at, y2=_BOTTOM, css="sm dash3"))
        marks.append(Text(x=at, y=_TOP - 18, text=change.letter, css="b", anchor="middle"))
    places = [(x.at((point.at - first).total_seconds()), y.at(point.value)) for point in data.points]
    for point, (left, top) in zip(data.points, places, strict=True):
        shape, css = _MARKS[point.kind]
        marks.append(Glyph(x=left, y=top, shape=shape, css=css))
    marks += _labels(data.points, places)
    marks += _dates(first, last, x)
    marks.append(Text(x=0, y=12, text=data.unit, css="t2"))
    return Drawing(height=244, marks=tuple(marks))


class _Vertical:
    """The vertical axis: values to pixels."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(_BOTTOM - share * (_BOTTOM - _TOP), 2)


def _tick(value: float, high: float) -> str:
    return fmt.fixed(value, 0 if high >= 20 else 1 if high >= 5 else 2)


def _labels(points: Sequence[HistoryPoint], places: Sequence[tuple[float, float]]) -> list[Mark]:
    """Return the names that do not run into one another; the best contender's and the left-out ones' come first."""
    order = sorted(range(len(points)), key=lambda index: points[index].kind in ("baseline", "contender"))
    taken: list[tuple[float, float]] = []
    marks: list[Mark] = []
    for index in order:
        point, (left, top) = points[index], places[index]
        crowded = any(abs(left - x) < _LABEL_WIDTH and abs(top - y) < _LABEL_HEIGHT for x, y in taken)
        if not point.label or crowded:
            continue
        taken.append((left, top))
        bold = " b" if point.kind == "best" else ""
        anchor: Anchor = "end" if left > 88 else "start"
        shift = -9 if left > 88 else 9
        marks.append(Text(x=left, y=top + 4, text=point.label, css=f"t2 halo{bold}", anchor=anchor, dx=shift))
    return marks


def _dates(first: datetime, last: datetime, x: Scale) -> list[Mark]:
    marks: list[Mark] = [Line(x1=2, y1=_BOTTOM, x2=98, y2=_BOTTOM, css="axis")]
    for moment in _moments(first, last):
        at = x.at((moment - first).total_seconds())
        anchor: Anchor = "start" if at < 16 else "end" if at > 88 else "middle"
        marks.append(Line(x1=at, y1=_BOTTOM, x2=at, y2=_BOTTOM + 5, css="axis"))
        marks.append(Text(x=at, y=_BOTTOM + 19, text=_stamp(moment, last - first), css="t2 tick", anchor=anchor))
    return marks


def _moments(first: datetime, last: datetime) -> Sequence[datetime]:
    """Return the ends and the middle: three dates read on a phone, more run into each other."""
    middle = first + (last - first) / 2
    return (first, middle, last) if last - first >= timedelta(hours=3) else (first, last)


def _stamp(moment: datetime, span: timedelta) -> str:
    if span < timedelta(days=2):
        return f"{fmt.date_short(moment)} {moment:%H:%M}"
    return fmt.date_short(moment)
