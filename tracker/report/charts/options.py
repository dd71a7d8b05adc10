"""Options: open dot and interval in GPU-hours, the line at zero is keeping the baseline."""

from __future__ import annotations

from tracker.report import format as fmt
from tracker.report.charts.marks import Drawing, Glyph, Line, Mark, Text, dot
from tracker.report.charts.scale import Scale, covering, ticks_of, x_axis
from tracker.report.figures import OptionRow, OptionsData
from tracker.report.naming import short_words


def draw_options(data: OptionsData) -> Drawing:
    """Return the options by rank."""
    values = [0.0]
    for row in data.rows:
        values += [part for part in (row.mean, row.low, row.high) if part is not None]
        values.append(-row.cost if row.cost is not None else 0.0)
    low, high = covering(values, pad=0.06)
    scale = Scale(low=low, high=high)
    zero = scale.at(0.0)
    bottom = 22.0 + 44 * len(data.rows)
    marks: list[Mark] = [Line(x1=zero, y1=18, x2=zero, y2=bottom, css="axis")]
    for index, row in enumerate(data.rows):
        marks += _row(row, scale, 17 + 44 * index)
    anchor = "middle" if 18 < zero < 82 else "start" if zero <= 18 else "end"
    marks.append(Text(x=zero, y=12, text="0 = keep the baseline", css="t2 b", anchor=anchor))  # type: ignore[arg-type]
    ticks = [
        (value, fmt.fixed(value, 0, signed=True))
        for value in ticks_of(low, high, 4)
        if scale.at(value) > 14 or value == 0
    ]
    crowded = zero < 14  # the unit would stand on the zero: it joins it
    marks += x_axis(scale, bottom, [tick for tick in ticks if not (crowded and tick[0] == 0)])
    marks.append(Text(x=zero if crowded else 0, y=bottom + 19, text="0 GPU-h" if crowded else "GPU-h", css="t2"))
    return Drawing(height=round(bottom + 26), marks=tuple(marks))


def _row(row: OptionRow, scale: Scale, y: float) -> list[Mark]:
    bold = " b" if row.lead else ""
    middle, zero, x = y + 30, scale.at(0.0), scale.at(row.mean)
    marks: list[Mark] = [
        Text(x=0, y=y + 16, text=f"{row.letter}  {short_words(row.label, 40)}", css=f"halo{bold}"),
        Text(x=100, y=y + 16, text=row.text.text, css=f"halo{bold}", anchor="end"),
        Line(x1=zero, y1=middle - 9, x2=zero, y2=middle + 9, css="bar"),
    ]
    if row.cost:
        marks.append(Line(x1=scale.at(-row.cost), y1=middle + 7, x2=zero, y2=middle + 7, css="gap"))
    if row.low is not None and row.high is not None:
        left, right = scale.at(row.low), scale.at(row.high)
        marks.append(Line(x1=left, y1=middle, x2=right, y2=middle, css="sb wide"))
        for end in (left, right):
            marks.append(Line(x1=end, y1=middle - 5, x2=end, y2=middle + 5, css="sb"))
        marks.append(dot(x, middle, "sb open"))
    elif row.mean < 0:
        marks.append(Glyph(x=x, y=middle, shape="down", css="fo"))
    else:
        marks.append(dot(x, middle, "fi"))
    return marks
