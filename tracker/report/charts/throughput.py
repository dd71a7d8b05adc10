"""Throughput bars against the baseline."""

from __future__ import annotations

from tracker.report.charts.marks import Drawing, Line, Mark, Rect, Text
from tracker.report.charts.scale import Scale
from tracker.report.figures import BarRow, ThroughputData
from tracker.report.naming import short_words

_RIGHT = 84.0  # bars end here; the column beyond holds values


def draw_throughput(data: ThroughputData) -> Drawing:
    """Return bars from zero, the baseline as one line through all rows, shortfall dotted."""
    top = max([data.baseline, *(max(row.value, row.high or 0.0) for group in data.groups for row in group.rows)])
    scale = Scale(low=0.0, high=top * 1.02, left=0.0, right=_RIGHT)
    line = scale.at(data.baseline)
    marks: list[Mark] = [
        Text(x=line, y=12, text=f"Baseline {data.baseline_text.text}", css="b", anchor="middle" if line < 82 else "end")
    ]
    y = 20.0
    for group in data.groups:
        if group.title:
            marks.append(Text(x=0, y=y + 12, text=group.title, css="t2"))
            y += 16
        for row in group.rows:
            marks += _row(row, scale, data.baseline, y)
            y += 46
        y += 12
    bottom = y - 12
    marks.append(Line(x1=line, y1=18, x2=line, y2=bottom, css="bar"))
    return Drawing(height=round(bottom + 4), marks=tuple(marks))


def _row(row: BarRow, scale: Scale, baseline: float, y: float) -> list[Mark]:
    bold = " b" if row.best else ""
    name = f"{short_words(row.label, 29)}, best so far" if row.best else short_words(row.label)
    end, line = scale.at(row.value), scale.at(baseline)
    middle = y + 28
    marks: list[Mark] = [
        Text(x=0, y=y + 16, text=name, css=f"halo{bold}"),
        Rect(x=0, y=y + 22, width=end, height=12, css="fb" if row.filled else "bo"),
    ]
    if end < line:
        marks.append(Line(x1=end, y1=middle, x2=line, y2=middle, css="gap"))
    if row.low is not None and row.high is not None:
        marks.append(Line(x1=scale.at(row.low), y1=middle, x2=scale.at(row.high), y2=middle, css="wh"))
    marks.append(Text(x=100, y=y + 33, text=row.text.text, css=bold.strip(), anchor="end"))
    marks.append(Text(x=100, y=y + 16, text=row.against.text, css="t2", anchor="end"))
    return marks
