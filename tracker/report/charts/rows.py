"""A share bar and dot rows."""

from __future__ import annotations

from tracker.report import format as fmt
from tracker.report.charts.marks import Drawing, Line, Mark, Rect, Text, dot
from tracker.report.charts.scale import Scale, ticks_of, x_axis
from tracker.report.figures import DotRow, DotRowsData, ShareData


def draw_share(data: ShareData) -> Drawing:
    """Return one bar split into what the vocabulary explains and the rest."""
    cut = round(max(0.6, data.outside_fraction * 100), 3)
    rest = min(100.0, cut + 0.4)
    left = "".join(span.text for span in data.outside_text)
    right = "".join(span.text for span in data.inside_text)
    marks: tuple[Mark, ...] = (
        Rect(x=0, y=22, width=cut, height=14, css="fo"),
        Rect(x=rest, y=22, width=round(100 - rest, 3), height=14, css="fm2"),
        Text(x=0, y=14, text=left, css="b to"),
        Text(x=100, y=14, text=right, css="t2", anchor="end"),
        Text(x=0, y=54, text="of all rejected draft tokens", css="t2"),
    )
    return Drawing(height=64, marks=marks)


def draw_dot_rows(data: DotRowsData) -> Drawing:
    """Return one row a category or position, the bar to clear through all of them."""
    scale = Scale(low=data.low_axis, high=data.high_axis)
    marks: list[Mark] = []
    y = 31.0
    for row in data.rows:
        marks += _row(row, scale, y)
        y += 27
    bottom = y - 27 + 18
    if data.bar is not None:
        x = scale.at(data.bar)
        marks.append(Line(x1=x, y1=16, x2=x, y2=bottom - 4, css="bar"))
        marks.append(
            Text(
                x=x, y=12, text="".join(s.text for s in data.bar_text), css="b", anchor="middle" if x > 15 else "start"
            )
        )
    values = ticks_of(data.low_axis, data.high_axis, 5 if data.as_percent else 4)
    if data.as_percent:
        labels = [(value, fmt.percent(value, digits=0, signed=False)) for value in values]
    else:
        labels = [(value, fmt.fixed(value, 0 if value == int(value) else 1)) for value in values]
    marks += x_axis(scale, bottom, labels)
    marks.append(Text(x=100, y=bottom + 36, text=data.unit, css="t2", anchor="end"))
    return Drawing(height=round(bottom + 42), marks=tuple(marks))


def _row(row: DotRow, scale: Scale, y: float) -> list[Mark]:
    x = scale.at(row.value)
    marks: list[Mark] = [Line(x1=2, y1=y, x2=98, y2=y, css="grid")]
    right = x
    if row.low is not None and row.high is not None:
        right = scale.at(row.high)
        marks.append(Line(x1=scale.at(row.low), y1=y, x2=right, y2=y, css="sb wide"))
    marks.append(dot(x, y, "fb"))
    if right > 88:
        left = scale.at(row.low) if row.low is not None else x
        marks.append(Text(x=left, y=y + 4, dx=-10, text=row.text.text, css="halo", anchor="end"))
    else:
        marks.append(Text(x=right, y=y + 4, dx=10, text=row.text.text, css="halo"))
    marks.append(Text(x=0, y=y + 4, text=row.label, css="halo"))
    return marks
