"""The few marks every chart is made of. Positions: x in per cent of the width, y in pixels."""

from __future__ import annotations

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
class Glyph:
    """A symbol of fixed pixel size at a position."""

    kind: ClassVar[str] = "glyph"
    x: float
    """Per cent."""
    y: float
    """Pixels."""
    path: str
    """SVG path around the position."""
    css: str
    """Classes of the style sheet."""


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


UP = "M-8 6h16L0 -8z"
DOWN = "M-8 -6h16L0 8z"
DIAMOND = "M0 -8L8 0L0 8L-8 0z"
DISC = "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z"
SQUARE = "M-4 -4h8v8h-8z"
CROSS = "M-4.5 -4.5L4.5 4.5M-4.5 4.5L4.5 -4.5"
ARROW = "M-9 -6L0 0L-9 6"


def dot(x: float, y: float, css: str) -> Glyph:
    """Return a round mark: filled for measured, open for predicted."""
    return Glyph(x=x, y=y, path=DISC, css=css)
