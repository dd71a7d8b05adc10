"""Step time as a waterfall from left to right."""

from __future__ import annotations

from tracker.report.charts.marks import Anchor, Drawing, Line, Mark, Rect, Text
from tracker.report.charts.scale import Scale
from tracker.report.figures import StepPart, StepTimeData
from tracker.report.spans import known

_FILL = {"plain": "fm", "attack": "fo", "other": "fb"}


def draw_step_time(data: StepTimeData) -> Drawing:
    """Return the parts of a step, their sum, and the time a step may take."""
    ends = [0.0]
    for part in data.parts:
        ends.append(ends[-1] + part.length_ms)
    reach = max(
        max(start + (part.high_ms or part.length_ms) for start, part in zip(ends, data.parts, strict=False)),
        data.total_ms,
    )
    reach = max(reach, ends[-1], data.allowed_ms or 0.0)
    scale = Scale(low=0.0, high=reach, left=0.0, right=82.0)
    marks: list[Mark] = []
    for index, (start, part) in enumerate(zip(ends, data.parts, strict=False)):
        marks += _part(part, start, scale, 19 + 44 * index, joined=index + 1 < len(data.parts))
    y = 19 + 44 * len(data.parts) + 7
    marks += _total(data, scale, y)
    if data.allowed_ms is not None:
        marks += _allowed(data, scale, y)
    return Drawing(height=y + 62, marks=tuple(marks))


def _part(part: StepPart, start: float, scale: Scale, y: float, *, joined: bool) -> list[Mark]:
    bold = " b" if part.role == "attack" else ""
    left, right = scale.at(start), scale.at(start + part.length_ms)
    marks: list[Mark] = [
        Text(x=0, y=y + 16, text=part.label, css=f"halo{bold}"),
        Text(x=100, y=y + 16, text=part.text.text, css=f"halo{bold}", anchor="end"),
        Rect(x=left, y=y + 23, width=round(right - left, 3), height=13, css=_FILL[part.role]),
    ]
    if part.low_ms is not None and part.high_ms is not None:
        low, high = scale.at(start + part.low_ms), scale.at(start + part.high_ms)
        marks.append(Line(x1=low, y1=y + 29.5, x2=high, y2=y + 29.5, css="wh"))
    if part.range_text is not None:
        marks.append(Text(x=100, y=y + 34, text=part.range_text.text, css="t2 halo", anchor="end"))
    if joined:
        marks.append(Line(x1=right, y1=y + 36, x2=right, y2=y + 67, css="axis"))
    return marks


def _total(data: StepTimeData, scale: Scale, y: float) -> list[Mark]:
    end = scale.at(data.total_ms)
    allowed = scale.at(min(data.allowed_ms, data.total_ms)) if data.allowed_ms is not None else end
    marks: list[Mark] = [
        Line(x1=0, y1=y, x2=100, y2=y, css="grid"),
        Text(x=0, y=y + 17, text="One speculative step", css="b halo"),
        Text(x=100, y=y + 17, text=data.total_text.text, css="b halo", anchor="end"),
        Rect(x=0, y=y + 24, width=allowed, height=13, css="fi"),
    ]
    if end > allowed:
        marks.append(Rect(x=allowed, y=y + 24, width=round(end - allowed, 3), height=13, css="fo"))
    return marks


def _allowed(data: StepTimeData, scale: Scale, y: float) -> list[Mark]:
    x = scale.at(known(data.allowed_ms))
    anchor: Anchor = "end" if x > 45 else "start"
    shift = 18.0 if anchor == "end" else -18.0
    over = data.total_ms > known(data.allowed_ms)
    return [
        Line(x1=x, y1=17, x2=x, y2=y + 40, css="bar"),
        Text(x=x, y=12, dx=shift, text="".join(span.text for span in data.allowed_text), css="t2 b", anchor=anchor),
        Text(
            x=x,
            y=y + 54,
            dx=shift,
            text="".join(span.text for span in data.excess_text),
            css="to b" if over else "tb b",
            anchor=anchor,
        ),
    ]
