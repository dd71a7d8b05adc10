"""The verdict strip: speed-up, interval, bar at 1.0."""

from __future__ import annotations

from tracker.report import format as fmt
from tracker.report.charts.marks import Drawing, Glyph, Line, Mark, Text
from tracker.report.charts.scale import Scale, covering, step_of, ticks_of
from tracker.report.figures import StripData, StripRow

_STYLE = {
    "faster": ("up", "fb", "sb", "tb"),
    "slower": ("down", "fo", "so", "to"),
    "undecided": ("diamond", "si open", "si", ""),
}


def draw_strip(data: StripData) -> Drawing:
    """Return the strip: one line, or one line a load."""
    if not data.rows:
        return Drawing(height=64, marks=tuple(_without_baseline(data)))
    scale = _scale(data)
    if len(data.rows) == 1:
        return Drawing(height=64, marks=tuple(_single(data, data.rows[0], scale)))
    marks: list[Mark] = [
        Text(x=scale.at(1.0), y=11, text=_text(data), css="b halo", anchor="middle"),
    ]
    for index, row in enumerate(data.rows):
        y = 30 + 32 * index
        marks += _row(row, scale, y)
        marks.append(Text(x=2, y=y - 6, text=row.label, css="t2 halo"))
        marks.append(_value(row, scale, y))
    bottom = 30 + 32 * len(data.rows) + 2
    marks += _words(bottom)
    return Drawing(height=bottom + 6, marks=tuple(marks))


def _value(row: StripRow, scale: Scale, y: float) -> Text:
    """Return the value beside a row's interval, on the side where it does not cover the bar."""
    css = f"{_STYLE[row.mark][3]} b halo"
    left = scale.at(row.low if row.low is not None else row.speedup)
    right = scale.at(row.high if row.high is not None else row.speedup)
    covers = right <= scale.at(1.0) < right + 16
    if covers and left <= 28:
        return Text(x=scale.at(1.0), y=y + 4, dx=10, text=row.text.text, css=css)
    if covers or right > 86:
        return Text(x=left, y=y + 4, dx=-10, text=row.text.text, css=css, anchor="end")
    return Text(x=right, y=y + 4, dx=10, text=row.text.text, css=css)


def _text(data: StripData) -> str:
    return data.bar_text.text


def _scale(data: StripData) -> Scale:
    values = [1.0]
    for row in data.rows:
        values += [part for part in (row.speedup, row.low, row.high) if part is not None]
    low, high = covering(values, pad=0.3)
    if high - low < 0.4:
        middle = (low + high) / 2
        low, high = middle - 0.2, middle + 0.2
    return Scale(low=max(0.0, low), high=high)


def _words(y: float) -> list[Mark]:
    return [
        Text(x=2, y=y, text="slower", css="t2"),
        Text(x=98, y=y, text="faster", css="t2", anchor="end"),
    ]


def _row(row: StripRow, scale: Scale, y: float) -> list[Mark]:
    glyph, fill, stroke, _ = _STYLE[row.mark]
    marks: list[Mark] = [Line(x1=2, y1=y, x2=98, y2=y, css="grid")]
    if row.low is not None and row.high is not None:
        marks.append(Line(x1=scale.at(row.low), y1=y, x2=scale.at(row.high), y2=y, css=f"{stroke} wide6"))
    bar = scale.at(1.0)
    marks.append(Line(x1=bar, y1=y - 11, x2=bar, y2=y + 11, css="bar b3"))
    marks.append(Glyph(x=scale.at(row.speedup), y=y, shape=glyph, css=fill))
    return marks


def _single(data: StripData, row: StripRow, scale: Scale) -> list[Mark]:
    marks = _row(row, scale, 26)
    at, bar = scale.at(row.speedup), scale.at(1.0)
    near = abs(at - bar) < 22
    # Turned away from each other, two labels may reach over their own marks, but not over each other on a phone.
    reach = 8 if abs(at - bar) > 6 else -3
    marks.append(
        _label(
            row.text.text, at, f"{_STYLE[row.mark][3]} b halo", reach, left=near and at < bar, right=near and at >= bar
        )
    )
    marks.append(_label(data.bar_text.text, bar, "b halo", reach, left=near and at >= bar, right=near and at < bar))
    marks += _words(60)
    step = step_of(scale.high - scale.low, 6)
    decimals = 1 if abs(step * 10 - round(step * 10)) < 1e-9 else 2
    for value in ticks_of(scale.low, scale.high, 6):
        x = scale.at(value)
        if 18 < x < 84:
            marks.append(Line(x1=x, y1=42, x2=x, y2=46, css="axis"))
            text = f"{fmt.fixed(value, decimals)}{fmt.TIMES}"
            marks.append(Text(x=x, y=60, text=text, css="t2 tick", anchor="middle"))
    return marks


def _label(text: str, x: float, css: str, reach: float, *, left: bool, right: bool) -> Text:
    """Return a label above a mark, turned away from its neighbour where the two stand close."""
    if left:
        return Text(x=x, y=11, text=text, css=css, anchor="end", dx=reach)
    if right:
        return Text(x=x, y=11, text=text, css=css, anchor="start", dx=-reach)
    return Text(x=x, y=11, text=text, css=css, anchor="middle")


def _without_baseline(data: StripData) -> list[Mark]:
    return [
        Line(x1=2, y1=26, x2=98, y2=26, css="grid"),
        Line(x1=62, y1=14, x2=62, y2=38, css="si dash3"),
        Text(x=62, y=11, text=data.bar_text.text, css="b halo", anchor="middle"),
        *_words(60),
    ]
