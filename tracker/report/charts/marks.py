"""The few marks every chart is made of. Positions: x in per cent of the width, y in pixels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A straight line."""

    kind: ClassVar[str] = "line"
    x1: float
    """Start, per cent."""
    y1: float
    """Start, pixels."""
    x2: float
    """End, per cent."""
    y2: float
    """End, pixels."""
    css: str
    """Classes of the style sheet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rect:
    """A bar or a zone."""

    kind: ClassVar[str] = "rect"
    x: float
    """Left, per cent."""
    y: float
    """Top, pixels."""
    width: float
    """Per cent."""
    height: float
    """Pixels."""
    css: str
    """Classes of the style sheet."""
    hatched: bool = False
    """Filled with the hatch that means: cannot be reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A label."""

    kind: ClassVar[str] = "text"
    x: float
    """Per cent."""
    y: float
    """Baseline, pixels."""
    text: str
    """Label."""
    css: str = ""
    """Classes of the style sheet."""
    anchor: Anchor = "start"
    """Alignment."""
    dx: float = 0.0
    """Shift in pixels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The outline of a symbol, in pixels around its position."""

    strokes: tuple[tuple[tuple[float, float], ...], ...] = ()
    """Polylines."""
    closed: bool = True
    """Whether they close and may be filled."""
    radius: float | None = None
    """A disc of this radius instead."""


SHAPES: Mapping[str, Shape] = {
    "up": Shape(strokes=(((-8, 6), (8, 6), (0, -8)),)),
    "down": Shape(strokes=(((-8, -6), (8, -6), (0, 8)),)),
    "diamond": Shape(strokes=(((0, -8), (8, 0), (0, 8), (-8, 0)),)),
    "disc": Shape(radius=5),
    "square": Shape(strokes=(((-4, -4), (4, -4), (4, 4), (-4, 4)),)),
    "cross": Shape(strokes=(((-4.5, -4.5), (4.5, 4.5)), ((-4.5, 4.5), (4.5, -4.5))), closed=False),
    "arrow": Shape(strokes=(((-9, -6), (0, 0), (-9, 6)),), closed=False),
    "line-disc": Shape(radius=6),
    "line-square": Shape(strokes=(((-5.5, -5.5), (5.5, -5.5), (5.5, 5.5), (-5.5, 5.5)),)),
    "line-up": Shape(strokes=(((-6.5, 5.5), (6.5, 5.5), (0, -6.5)),)),
    "line-down": Shape(strokes=(((-6.5, -5.5), (6.5, -5.5), (0, 6.5)),)),
    "line-diamond": Shape(strokes=(((0, -7), (7, 0), (0, 7), (-7, 0)),)),
    "line-plus": Shape(
        strokes=(
            (
                *((-2.5, -6.5), (2.5, -6.5), (2.5, -2.5), (6.5, -2.5), (6.5, 2.5), (2.5, 2.5)),
                *((2.5, 6.5), (-2.5, 6.5), (-2.5, 2.5), (-6.5, 2.5), (-6.5, -2.5), (-2.5, -2.5)),
            ),
        )
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Glyph:
    """A symbol of fixed pixel size at a position."""

    kind: ClassVar[str] = "glyph"
    x: float
    """Per cent."""
    y: float
    """Pixels."""
    shape: str
    """Key of SHAPES."""
    css: str
    """Classes of the style sheet."""
    dx: float = 0.0
    """Shift in pixels."""

    @property
    def path(self) -> str:
        """The SVG path of the symbol."""
        shape = SHAPES[self.shape]
        if shape.radius is not None:
            r = shape.radius
            return f"M{self.dx - r:g} 0a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0z"
        end = "z" if shape.closed else ""
        return "".join("M" + "L".join(f"{self.dx + x:g} {y:g}" for x, y in points) + end for points in shape.strokes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fan:
    """Bands and a median line, stretched over the plot."""

    kind: ClassVar[str] = "fan"
    x: float
    """Left of the plot, per cent."""
    width: float
    """Per cent."""
    y: float
    """Top, pixels."""
    height: float
    """Pixels."""
    outer: str
    """Path of the 80 % band in a box of 1000 by 1000."""
    inner: str
    """Path of the 50 % band."""
    median: str
    """Path of the median."""
    fade_at: float
    """Fraction of the width at which the bands begin to fade."""


Mark = Line | Rect | Text | Glyph | Fan


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """One chart."""

    height: int
    """Pixels."""
    marks: tuple[Mark, ...]
    """Painted in order."""

    @property
    def hatched(self) -> bool:
        """Whether the hatch pattern is used."""
        return any(isinstance(mark, Rect) and mark.hatched for mark in self.marks)

    @property
    def fan(self) -> Fan | None:
        """The fan, if there is one."""
        return next((mark for mark in self.marks if isinstance(mark, Fan)), None)


def dot(x: float, y: float, css: str) -> Glyph:
    """Return a round mark: filled for measured, open for predicted."""
    return Glyph(x=x, y=y, shape="disc", css=css)
