"""Accept length against training samples: measured dots, forecast fan, and the samples interval below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from tracker.report import format as fmt
from tracker.report.charts.marks import Drawing, Fan, Glyph, Line, Mark, Text, dot
from tracker.report.charts.scale import Scale, beside
from tracker.report.figures_scaling import FanPoint, ScalingData
from tracker.report.spans import known

_TOP, _BOTTOM = 22.0, 276.0


def draw_scaling(data: ScalingData) -> Drawing:
    """Return the figure; without a fan it is points alone, and lower."""
    bottom = _BOTTOM if data.fan else 198.0
    x, high = _x_scale(data), _top(data)
    marks = _grid(high, bottom)
    if data.fan:
        marks.append(_fan(data, x, high, bottom))
    marks += _ceiling(data, high, bottom)
    marks += _bar(data, x, high, bottom)
    marks += _others(data, x, high, bottom)
    marks += _measured(data, x, high, bottom)
    marks += _axis(data, x, bottom)
    height = bottom + 42
    if data.needed is not None:
        marks += _needed(data, x, bottom)
        height = bottom + 92
    return Drawing(height=round(height), marks=tuple(marks))


def _x_scale(data: ScalingData) -> Scale:
    sizes = [point.samples for point in data.points] + [point.samples for point in data.fan]
    sizes += [point.samples for point in data.references]
    if data.needed is not None:
        sizes += [int(value) for value in (data.needed.low, data.needed.median, data.needed.high) if value is not None]
    low, high = min(sizes), max(sizes)
    if not data.fan:
        return Scale(low=low, high=max(high, low * 10), left=12.0, right=88.0, log=True)
    return Scale(low=low / 3, high=max(high, low * 10), left=1.0, right=99.0, log=True)


def _top(data: ScalingData) -> float:
    values = [point.high or point.value for point in data.points] + [point.high for point in data.fan]
    values += [part for part in (data.bar, data.ceiling) if part is not None and part < 12]
    values += [point.value for point in data.references]
    return float(max(3, math.ceil(max(values) - 0.05)))


def _y(value: float, high: float, bottom: float) -> float:
    low = 0.8
    share = (min(max(value, low), high) - low) / (high - low)
    return round(bottom - share * (bottom - _TOP), 2)


def _grid(high: float, bottom: float) -> list[Mark]:
    marks: list[Mark] = []
    for value in range(1, int(high) + 1):
        y = _y(value, high, bottom)
        marks.append(Line(x1=0, y1=y, x2=100, y2=y, css="grid"))
        text = f"{value} tokens per step" if value == int(high) else str(value)
        marks.append(Text(x=0, y=y - 4, text=text, css="t2 tick"))
    return marks


def _fan(data: ScalingData, x: Scale, high: float, bottom: float) -> Fan:
    def across(points: Sequence[tuple[int, float]]) -> str:
        shown = []
        for samples, value in points:
            at = (x.at(samples) - x.left) / (x.right - x.left) * 1000
            down = (_y(value, high, bottom) - _TOP) / (bottom - _TOP) * 1000
            shown.append(f"{at:.1f} {down:.1f}")
        return "L".join(shown)

    def band(lows: list[tuple[int, float]], highs: list[tuple[int, float]]) -> str:
        return f"M{across(lows)}L{across(highs[::-1])}Z"

    fan: tuple[FanPoint, ...] = data.fan
    fade = 0.5 if data.fade_from is None else (x.at(data.fade_from) - x.left) / (x.right - x.left)
    return Fan(
        x=x.left,
        width=x.right - x.left,
        y=_TOP,
        height=bottom - _TOP,
        outer=band([(p.samples, p.low) for p in fan], [(p.samples, p.high) for p in fan]),
        inner=band([(p.samples, p.quartile_low) for p in fan], [(p.samples, p.quartile_high) for p in fan]),
        median=f"M{across([(p.samples, p.median) for p in fan])}",
        fade_at=round(min(fade, 0.95), 3),
    )


def _ceiling(data: ScalingData, high: float, bottom: float) -> list[Mark]:
    if data.ceiling is None or data.ceiling > high:
        return []
    y = _y(data.ceiling, high, bottom)
    text = "".join(span.text for span in data.ceiling_text)
    return [
        Line(x1=0, y1=y, x2=100, y2=y, css="axis dash"),
        Text(x=99, y=y - 5, text=text, css="t2 halo", anchor="end"),
    ]


def _bar(data: ScalingData, x: Scale, high: float, bottom: float) -> list[Mark]:
    if data.bar is None or data.bar > high:
        return []
    y = _y(data.bar, high, bottom)
    text = "".join(span.text for span in data.bar_text)
    below = y + 16 if data.fan else y - 6
    at = 99.0 if data.fan else _free(data, x)
    return [
        Line(x1=0, y1=y, x2=100, y2=y, css="bar"),
        Text(x=at, y=below, text=text, css="b halo", anchor="end" if data.fan else "middle"),
    ]


def _free(data: ScalingData, x: Scale) -> float:
    """Return where a label on the bar has most room: between the two neighbours that lie farthest from the bar."""
    if len(data.points) < 2 or data.bar is None:
        return 50.0
    bar = data.bar
    first, second = max(pairwise(data.points), key=lambda pair: min(abs(pair[0].value - bar), abs(pair[1].value - bar)))
    return (x.at(first.samples) + x.at(second.samples)) / 2


def _others(data: ScalingData, x: Scale, high: float, bottom: float) -> list[Mark]:
    marks: list[Mark] = [
        Glyph(x=x.at(point.samples), y=_y(point.value, high, bottom), shape="square", css="si open thin2")
        for point in data.references
    ]
    if data.references:
        highest = max(data.references, key=lambda point: point.value)
        at = x.at(highest.samples)
        text = f"published, {highest.size_text.text}"
        marks.append(_reference_label(data, text, at, _y(highest.value, high, bottom), x, high, bottom))
    for point in data.excluded:
        y = _y(point.value, high, bottom)
        marks.append(Glyph(x=x.at(point.samples), y=y, shape="cross", css="sm"))
        anchor, shift = beside(x.at(point.samples), gap=11, room=65)
        marks.append(Text(x=x.at(point.samples), y=y + 4, dx=shift, text=point.label, css="t2 halo", anchor=anchor))
    return marks


def _reference_label(
    data: ScalingData, text: str, at: float, square: float, x: Scale, high: float, bottom: float
) -> Text:
    """Return what a published figure is called: above it, or where a measured number stands there, beside or higher."""
    near = any(
        abs(x.at(point.samples) - at) < 25 and abs(_y(point.value, high, bottom) - square) < 15 for point in data.points
    )
    if near and at < 75:
        return Text(x=at, y=square + 4, dx=12, text=text, css="t2 halo")
    return Text(x=at, y=square - (18 if near else 10), dx=6, text=text, css="t2 halo", anchor="end")


def _measured(data: ScalingData, x: Scale, high: float, bottom: float) -> list[Mark]:
    marks: list[Mark] = []
    taken: list[tuple[float, float]] = []
    for index, point in enumerate(data.points):
        at, y = x.at(point.samples), _y(point.value, high, bottom)
        if point.low is not None and point.high is not None:
            ends = (_y(point.low, high, bottom), _y(point.high, high, bottom))
            marks.append(Line(x1=at, y1=ends[0], x2=at, y2=ends[1], css="sb"))
        marks.append(dot(at, y, "fb"))
        alone = len(data.points) == 1
        text = f"measured {point.text.text}" if alone else point.text.text
        up = not (alone and data.fan) and (point.note is not None or _free_at(taken, at, y - 11))
        taken.append((at, y - 11 if up else y + 22))
        marks.append(Text(x=at, y=y - 11 if up else y + 22, text=text, css="b tb halo", anchor="middle"))
        if point.note is not None:
            marks.append(Text(x=at, y=y + 19, text=point.note.text, css="t2 halo", anchor="middle"))
        if not alone and data.fan and index == 0:
            marks.append(Text(x=at, y=y + 22, text="measured", css="t2 halo", anchor="middle"))
    return marks


def _free_at(taken: Sequence[tuple[float, float]], at: float, y: float) -> bool:
    """Whether a number fits at a place, on a phone too, beside those already set."""
    return all(abs(at - left) > 10 or abs(y - top) > 13 for left, top in taken)


def _axis(data: ScalingData, x: Scale, bottom: float) -> list[Mark]:
    marks: list[Mark] = [Line(x1=0, y1=bottom, x2=100, y2=bottom, css="axis")]
    first, last = math.ceil(math.log10(x.low) - 1e-9), math.floor(math.log10(x.high) + 1e-9)
    for power in range(first, last + 1):
        at = x.at(10**power)
        marks.append(Line(x1=at, y1=bottom, x2=at, y2=bottom + 5, css="axis"))
        text = fmt.samples_short(10.0**power)
        end = at > 96
        marks.append(Text(x=at, y=bottom + 19, text=text, css="t2 tick", anchor="end" if end else "middle"))
    marks.append(Text(x=100, y=bottom + 36, text="training samples", css="t2", anchor="end"))
    return marks


def _needed(data: ScalingData, x: Scale, bottom: float) -> list[Mark]:
    needed = data.needed
    needed = known(needed)
    y = bottom + 66
    left = x.left if needed.low is None else x.at(needed.low)
    right = x.right if needed.high is None else x.at(needed.high)
    marks: list[Mark] = [
        Text(x=0, y=bottom + 44, text="Samples needed to break even", css="b"),
        Line(x1=left, y1=y, x2=right - (1.2 if needed.high is None else 0), y2=y, css="sb wide"),
        Line(x1=left, y1=y - 7, x2=left, y2=y + 7, css="sb"),
    ]
    if needed.high is None:
        marks.append(Glyph(x=right, y=y, shape="arrow", css="sb"))
    else:
        marks.append(Line(x1=right, y1=y - 7, x2=right, y2=y + 7, css="sb"))
    if needed.low_text is not None and needed.low is not None:
        marks.append(Text(x=left, y=y + 21, dx=6, text=needed.low_text.text, css="t2", anchor="end"))
    if needed.median_text is not None and needed.median is not None:
        at = x.at(needed.median)
        marks.append(dot(at, y, "sb open"))
        marks.append(Text(x=at, y=y + 21, dx=-4, text=needed.median_text.text, css="t2"))
    words = "".join(span.text for span in needed.high_text)
    if needed.high is not None and needed.median is not None and right < 75:
        # Close to the median's own words: to the right of the end instead of before it.
        marks.append(Text(x=right, y=y + 21, dx=4, text=words, css="t2"))
    else:
        marks.append(Text(x=min(99.0, right), y=y + 21, text=words, css="t2", anchor="end"))
    return marks
