"""The charts of the mail as PNG: the page's drawings on white, 480 px layout at 1280 px width, to read on a phone."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tracker.report.charts.marks import SHAPES, Drawing, Glyph, Line, Rect, Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LAYOUT_PX, WIDTH_PX = 480, 1280
_EDGE_PX = 6  # keeps marks at 0 and 100 per cent off the border
_POINT = 72 / 100  # matplotlib points a layout pixel: the figure is laid out at 100 px an inch

_INK, _SOFT, _LINE, _MARK = "#15181b", "#59626a", "#d4d9dd", "#8a949c"
_BLUE, _ORANGE, _PAPER, _PANEL = "#0b57a4", "#b0460a", "#ffffff", "#f4f6f7"
_FILLS = {
    "fb": _BLUE,
    "fo": _ORANGE,
    "fi": _INK,
    "fm": _MARK,
    "fm2": _LINE,
    "open": _PAPER,
    "zone": _PANEL,
    "bo": _PAPER,
}
_STROKES = {"sb": _BLUE, "so": _ORANGE, "si": _INK, "sm": _SOFT, "bo": _BLUE, "grid": _LINE, "axis": _MARK, "bar": _INK}
_STROKES |= {"gap": _ORANGE, "wh": _INK}
_WIDTHS = {"wide": 3.0, "wide6": 7.0, "b3": 3.0, "thin2": 1.5, "grid": 1.0, "axis": 1.0, "wh": 1.5, "bo": 1.5}
_DASHES = {"gap": (0, (1, 1.5)), "dash": (0, (3, 2)), "dash3": (0, (1.5, 1.5))}
_FONTS = ("Helvetica Neue", "Helvetica", "Arial", "Liberation Sans", "DejaVu Sans")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Style:
    """What the classes of a mark mean."""

    fill: str | None
    stroke: str | None
    width: float
    dash: Any
    alpha: float


def png_of(drawing: Drawing) -> bytes:
    """Return a drawing as PNG; the same drawing gives the same bytes."""
    from matplotlib.figure import Figure

    inches = (LAYOUT_PX / 100, drawing.height / 100)
    figure = Figure(figsize=inches, dpi=100 * WIDTH_PX / LAYOUT_PX, facecolor=_PAPER)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, LAYOUT_PX)
    axes.set_ylim(drawing.height, 0)
    axes.axis("off")
    fonts = _fonts()
    for order, mark in enumerate(drawing.marks):
        match mark:
            case Line():
                _line(axes, mark, order)
            case Rect():
                _rect(axes, mark, order)
            case Glyph():
                _glyph(axes, mark, order)
            case Text():
                _text(axes, mark, order, fonts)
    out = io.BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None})
    return _palette(out.getvalue())


def _palette(png: bytes) -> bytes:
    """Return the picture with 64 colours: a quarter of the size, no visible difference in line art."""
    from PIL import Image

    with Image.open(io.BytesIO(png)) as picture:
        small = picture.convert("RGB").quantize(64)
        out = io.BytesIO()
        small.save(out, format="PNG", optimize=True)
    return out.getvalue()


def _fonts() -> list[str]:
    from matplotlib import font_manager

    present = {font.name for font in font_manager.fontManager.ttflist}
    return [name for name in _FONTS if name in present]


def _x(percent: float) -> float:
    return _EDGE_PX + percent / 100 * (LAYOUT_PX - 2 * _EDGE_PX)


def _style(css: str) -> _Style:
    names = css.split()
    fills = [_FILLS[name] for name in names if name in _FILLS]
    strokes = [_STROKES[name] for name in names if name in _STROKES]
    widths = [_WIDTHS[name] for name in names if name in _WIDTHS]
    dashes = [_DASHES[name] for name in names if name in _DASHES]
    return _Style(
        fill=fills[-1] if fills else None,
        stroke=strokes[-1] if strokes else None,
        width=widths[-1] if widths else 2.0,
        dash=dashes[-1] if dashes else "-",
        alpha=0.35 if "wide6" in names else 1.0,
    )


def _line(axes: Axes, mark: Line, order: int) -> None:
    style = _style(mark.css)
    axes.plot(
        [_x(mark.x1), _x(mark.x2)],
        [mark.y1, mark.y2],
        color=style.stroke,
        linewidth=style.width * _POINT,
        linestyle=style.dash,
        alpha=style.alpha,
        solid_capstyle="butt",
        zorder=order,
    )


def _rect(axes: Axes, mark: Rect, order: int) -> None:
    from matplotlib.patches import Rectangle

    style = _style(mark.css)
    left, right = _x(mark.x), _x(mark.x + mark.width)
    patch = Rectangle((left, mark.y), right - left, mark.height, zorder=order)
    if mark.hatched:
        patch.set(fill=False, hatch="////", edgecolor=_MARK, linewidth=0)
    else:
        patch.set(facecolor=style.fill or "none", edgecolor=style.stroke or "none", linewidth=style.width * _POINT)
        if style.stroke is None:
            patch.set_linewidth(0)
    axes.add_patch(patch)


def _glyph(axes: Axes, mark: Glyph, order: int) -> None:
    from matplotlib.patches import Circle, Polygon

    style, shape = _style(mark.css), SHAPES[mark.shape]
    x = _x(mark.x) + mark.dx
    edge, width = style.stroke or "none", style.width * _POINT if style.stroke else 0
    if shape.radius is not None:
        circle = Circle((x, mark.y), shape.radius, facecolor=style.fill or "none", edgecolor=edge, zorder=order)
        circle.set_linewidth(width)
        axes.add_patch(circle)
        return
    for points in shape.strokes:
        moved = [(x + dx, mark.y + dy) for dx, dy in points]
        if shape.closed:
            face = style.fill or "none"
            axes.add_patch(Polygon(moved, closed=True, facecolor=face, edgecolor=edge, linewidth=width, zorder=order))
        else:
            axes.plot(*zip(*moved, strict=True), color=style.stroke, linewidth=width, zorder=order)


def _text(axes: Axes, mark: Text, order: int, fonts: list[str]) -> None:
    from matplotlib import patheffects

    names = mark.css.split()
    colour = _ORANGE if "to" in names else _BLUE if "tb" in names else _SOFT if "t2" in names else _INK
    text = axes.text(
        _x(mark.x) + mark.dx,
        mark.y,
        # A dollar sign would start a formula.
        mark.text.replace("$", r"\$"),
        color=colour,
        fontfamily=fonts,
        fontsize=(12 if "t2" in names else 13) * _POINT,
        fontweight="bold" if "b" in names else "normal",
        ha={"start": "left", "middle": "center", "end": "right"}[mark.anchor],
        va="baseline",
        zorder=order,
    )
    if "halo" in names:
        text.set_path_effects([patheffects.withStroke(linewidth=4 * _POINT, foreground=_PAPER)])
