"""Break-even distance: a dot for what is yielded, a bar for what must be yielded."""

from __future__ import annotations

import math

from tracker.report import format as fmt
from tracker.report.charts.marks import Anchor, Drawing, Glyph, Line, Mark, Rect, Text, dot
from tracker.report.charts.scale import Scale, ticks_of, x_axis
from tracker.report.figures import GapData, GapRow
from tracker.report.naming import short_words

_CROSS_SHIFT = 48.0  # pixels beyond the bar: beside its number
_EDGE = 84.0  # per cent: beyond it a cross would leave a phone


def draw_gap(data: GapData) -> Drawing:
    """Return one row a configuration on a common axis that starts at 1: no draft token accepted."""
    rows = [row for group in data.groups for row in group.rows]
    top = max(max(row.must, row.yields or 0.0, row.high or 0.0, row.ceiling or 0.0) for row in rows)
    scale = Scale(low=1.0, high=float(max(math.ceil(top + 0.3), 3)))
    marks: list[Mark] = []
    y = 0.0
    for group in data.groups:
        if group.title:
            marks.append(Text(x=0, y=y + 12, text=group.title, css="t2"))
            y += 16
        for row in group.rows:
            marks += _row(row, scale, y)
            y += 50
        y += 14
    y += 8
    ticks = [(value, fmt.fixed(value, 0 if value == int(value) else 1)) for value in ticks_of(1, scale.high, 4)]
    marks += x_axis(scale, y, ticks)
    marks.append(Text(x=2, y=y + 36, text="1 = no draft token accepted", css="t2"))
    marks.append(Text(x=100, y=y + 36, text="tokens per step", css="t2", anchor="end"))
    return Drawing(height=round(y + 42), marks=tuple(marks))


def _row(row: GapRow, scale: Scale, y: float) -> list[Mark]:
    bold = " b" if row.best else ""
    middle = y + 33
    must = scale.at(row.must)
    colour = "t2" if row.yields is None or row.in_noise else "to" if row.yields < row.must else "tb"
    marks: list[Mark] = [
        Text(x=0, y=y + 16, text=short_words(row.label), css=f"halo{bold}"),
        Text(x=100, y=y + 16, text=row.gap_text.text, css=f"halo{bold} {colour}", anchor="end"),
    ]
    if row.ceiling is not None and row.ceiling < scale.high:
        left = scale.at(row.ceiling)
        marks.append(Rect(x=left, y=middle - 10, width=round(98 - left, 3), height=20, css="dim", hatched=True))
    marks.append(Line(x1=2, y1=middle, x2=98, y2=middle, css="grid"))
    if row.yields is None:
        beyond = row.ceiling is not None and row.must > row.ceiling
        return marks + _must_alone(row, must, middle, bold, beyond=beyond)
    has = scale.at(row.yields)
    if row.yields < row.must:
        marks.append(Line(x1=has, y1=middle, x2=must, y2=middle, css="gap"))
    left = has
    if row.low is not None and row.high is not None:
        left = scale.at(row.low)
        marks.append(Line(x1=left, y1=middle, x2=scale.at(row.high), y2=middle, css="sb wide"))
    marks.append(dot(has, middle, "fb"))
    marks.append(Line(x1=must, y1=middle - 9, x2=must, y2=middle + 9, css="bar b3"))
    inward = must > _EDGE and must - has > 25  # at the right edge number and cross turn to where there is room
    marks += _values(row, row.yields, scale, middle, bold, left, inward=inward)
    if row.ceiling is not None:
        marks.append(Glyph(x=must, y=middle, shape="cross", dx=-_CROSS_SHIFT if inward else _CROSS_SHIFT, css="so"))
    return marks


def _must_alone(row: GapRow, must: float, middle: float, bold: str, *, beyond: bool) -> list[Mark]:
    anchor: Anchor = "start" if must < 90 else "end"
    marks: list[Mark] = [
        Line(x1=must, y1=middle - 9, x2=must, y2=middle + 9, css="bar b3"),
        Text(
            x=must, y=middle + 4, dx=8 if must < 90 else -8, text=row.must_text.text, css=f"halo{bold}", anchor=anchor
        ),
    ]
    if beyond:
        shift = _CROSS_SHIFT if must < 84 else -_CROSS_SHIFT
        marks.append(Glyph(x=must, y=middle, shape="cross", dx=shift, css="so"))
    return marks


def _values(
    row: GapRow, yields: float, scale: Scale, middle: float, bold: str, left: float, *, inward: bool
) -> list[Mark]:
    has, must = row.yields_text.text, row.must_text.text
    if yields < row.must:
        return [
            Text(x=left, y=middle + 4, dx=-9, text=has, css=f"halo tb{bold}", anchor="end"),
            Text(
                x=scale.at(row.must),
                y=middle + 4,
                dx=-8 if inward else 8,
                text=must,
                css=f"halo{bold}",
                anchor="end" if inward else "start",
            ),
        ]
    right = scale.at(row.high if row.high is not None else yields)
    return [
        Text(x=right, y=middle + 4, dx=9, text=has, css=f"halo tb{bold}"),
        Text(x=scale.at(row.must), y=middle + 4, dx=-8, text=must, css=f"halo{bold}", anchor="end"),
    ]
