"""Speed-up over load: lines join measured points only."""

from __future__ import annotations

from itertools import pairwise

from tracker.report import format as fmt
from tracker.report.charts.marks import Drawing, Glyph, Line, Mark, Rect, Text
from tracker.report.charts.scale import Scale, apart, ticks_of
from tracker.report.figures import LoadData, LoadSeries

_TOP, _BOTTOM = 20.0, 280.0
_SHAPES = ("line-disc", "line-square", "line-up", "line-down", "line-diamond", "line-plus")


def draw_load(data: LoadData) -> Drawing:
    """Return one line a series; the span that holds the crossing is shaded."""
    loads = sorted({point.concurrency for series in data.series for point in series.points})
    x = Scale(low=float(loads[0]), high=float(loads[-1]), left=8.0, right=56.0, log=True)
    high = max(1.25, _highest(data) * 1.06)
    marks: list[Mark] = []
    for value in ticks_of(0.0, high, 4):
        if value == 1.0:
            continue
        marks.append(Line(x1=0, y1=_y(value, high), x2=100, y2=_y(value, high), css="grid"))
        marks.append(Text(x=0, y=_y(value, high) - 4, text=f"{fmt.fixed(value, 1)}{fmt.TIMES}", css="t2 tick"))
    if data.crossing is not None:
        left, right = x.at(data.crossing[0]), x.at(data.crossing[1])
        marks.append(Rect(x=left, y=_TOP, width=round(right - left, 3), height=_BOTTOM - _TOP, css="zone"))
        marks.append(Text(x=(left + right) / 2, y=14, text="the lead is lost in here", css="t2 b", anchor="middle"))
    one = _y(1.0, high)
    marks.append(Line(x1=0, y1=one, x2=100, y2=one, css="bar"))
    marks.append(Text(x=100, y=one - 6, text="as fast as the baseline", css="t2 b halo", anchor="end"))
    for index, series in enumerate(data.series):
        marks += _series(series, x, high, index)
    marks += _names(data, x, high, one)
    for load in loads:
        marks.append(Line(x1=x.at(load), y1=282, x2=x.at(load), y2=287, css="axis"))
        marks.append(Text(x=x.at(load), y=301, text=str(load), css="t2 tick", anchor="middle"))
    marks.append(Text(x=100, y=301, text="streams", css="t2", anchor="end"))
    return Drawing(height=308, marks=tuple(marks))


def _highest(data: LoadData) -> float:
    """Return the highest value drawn: every point, and the upper ends of the intervals of the leading series."""
    points = [point.speedup for series in data.series for point in series.points]
    ends = [point.high for series in data.series if series.lead for point in series.points if point.high is not None]
    return max(points + ends)


def _y(value: float, high: float) -> float:
    return round(_BOTTOM - min(value, high) / high * (_BOTTOM - _TOP), 2)


def _hue(series: LoadSeries) -> tuple[str, str, str]:
    wins = max(point.speedup for point in series.points) > 1.0
    return ("sb", "fb", "tb") if wins else ("so", "fo", "to")


def _series(series: LoadSeries, x: Scale, high: float, index: int) -> list[Mark]:
    stroke, fill, ink = _hue(series)
    dash = "" if series.lead else " dash"
    marks: list[Mark] = []
    if series.lead:
        for point in series.points:
            if point.low is not None and point.high is not None:
                at = x.at(point.concurrency)
                marks.append(Line(x1=at, y1=_y(point.low, high), x2=at, y2=_y(point.high, high), css=f"{stroke} wide6"))
    for first, second in pairwise(series.points):
        marks.append(
            Line(
                x1=x.at(first.concurrency),
                y1=_y(first.speedup, high),
                x2=x.at(second.concurrency),
                y2=_y(second.speedup, high),
                css=f"{stroke}{dash}",
            )
        )
    shape = _SHAPES[index % len(_SHAPES)]
    marks += [
        Glyph(x=x.at(point.concurrency), y=_y(point.speedup, high), shape=shape, css=f"{fill} pk")
        for point in series.points
    ]
    if series.lead:
        marks += [
            Text(x=x.at(p.concurrency), y=_y(p.speedup, high) - 7, dx=9, text=p.text.text, css=f"halo {ink} b")
            for p in series.points[:-1]
        ]
    return marks


def _names(data: LoadData, x: Scale, high: float, one: float) -> list[Mark]:
    ends = [series.points[-1] for series in data.series]
    heights = apart([_y(end.speedup, high) for end in ends], 16, low=_TOP + 6, high=_BOTTOM)
    heights = [value + 14 if abs(value - (one - 8)) < 8 else value for value in heights]
    heights = apart(heights, 16, low=_TOP + 6, high=_BOTTOM)
    marks: list[Mark] = []
    for index, (series, height) in enumerate(zip(data.series, heights, strict=True)):
        _, fill, ink = _hue(series)
        bold = " b" if series.lead else ""
        # The mark stands before the name: where lines end close together the names move, and would tell no line.
        marks.append(Glyph(x=x.right, y=height, shape=_SHAPES[index % len(_SHAPES)], dx=22, css=f"{fill} pk"))
        marks.append(Text(x=x.right, y=height + 4, dx=33, text=series.label, css=f"halo {ink}{bold}"))
    return marks
