"""What intervals are made of: one bar a source, filled where these runs show it, outlined where it is assumed."""

from __future__ import annotations

from tracker.report.charts.marks import Drawing, Line, Mark, Rect, Text
from tracker.report.charts.scale import Scale
from tracker.report.figures_spread import SpreadData, SpreadGroup, SpreadRow

_LINE = 22
_LEFT, _RIGHT = 44.0, 82.0  # names to the left of the bars, values to their right


def draw_spread(data: SpreadData) -> Drawing:
    """Return the bars of every interval, all on one scale."""
    longest = max((group.total for group in data.groups), default=1.0)
    scale = Scale(low=0.0, high=longest, left=_LEFT, right=_RIGHT)
    marks: list[Mark] = []
    y = 0.0
    for group in data.groups:
        found, y = _group(group, scale, y)
        marks += found
        y += 10
    return Drawing(height=round(y), marks=tuple(marks))


def _group(group: SpreadGroup, scale: Scale, y: float) -> tuple[list[Mark], float]:
    marks: list[Mark] = [Text(x=0, y=y + 14, text=group.title, css="b")]
    y += _LINE
    top = y
    for row in group.rows:
        marks += _bar(row, scale, y)
        y += _LINE
    if len(group.rows) > 1:
        end = scale.at(group.total)
        marks.append(Line(x1=0, y1=y + 1, x2=100, y2=y + 1, css="grid"))
        marks.append(Text(x=0, y=y + 16, text="together"))
        marks.append(Rect(x=_LEFT, y=y + 8, width=round(max(0.3, end - _LEFT), 3), height=8, css="fi"))
        marks.append(Text(x=100, y=y + 16, text=group.total_text.text, css="b", anchor="end"))
        y += _LINE + 2
    marks.append(Line(x1=_LEFT, y1=top - 2, x2=_LEFT, y2=y, css="axis"))
    return marks, y


def _bar(row: SpreadRow, scale: Scale, y: float) -> list[Mark]:
    css = "bo" if row.assumed else "fo" if row.largest else "fb"
    width = round(max(0.3, scale.at(row.sd) - _LEFT), 3)
    return [
        Text(x=0, y=y + 14, text=row.label),
        Rect(x=_LEFT, y=y + 3, width=width, height=13, css=css),
        Text(x=100, y=y + 14, text=row.text.text, anchor="end"),
    ]
