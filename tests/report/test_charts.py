"""Drawings: marks stay on the canvas, labels apart, axes at round values."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.report import MemoView
from tracker.report.charts import draw
from tracker.report.charts.marks import SHAPES, Glyph, Line, Rect, Text
from tracker.report.charts.scale import Scale, apart, ticks_of
from tracker.report.figures import FigureData, LoadData, LoadPoint, LoadSeries, StripData, StripRow
from tracker.report.spans import Span
from tracker.report.view_parts import FigureView

values = st.floats(min_value=-1e6, max_value=1e6)


def drawn(view: MemoView) -> list[FigureData]:
    """Everything a memo draws."""
    blocks = [block for section in view.sections for block in section.blocks]
    figures: list[FigureData] = [block.data for block in blocks if isinstance(block, FigureView)]
    return figures + ([view.strip] if view.strip is not None else [])


def test_every_mark_stays_on_its_canvas(memo: tuple[str, MemoView]) -> None:
    _, view = memo
    for data in drawn(view):
        drawing = draw(data)
        for mark in drawing.marks:
            match mark:
                case Line():
                    spots = [(mark.x1, mark.y1), (mark.x2, mark.y2)]
                case Rect():
                    spots = [(mark.x, mark.y), (mark.x + mark.width, mark.y + mark.height)]
                case Text() | Glyph():
                    spots = [(mark.x, mark.y)]
                case _:
                    spots = []
            for x, y in spots:
                assert -0.01 <= x <= 100.01, mark
                assert -0.01 <= y <= drawing.height + 0.01, mark


def test_every_drawing_shows_its_numbers(memo: tuple[str, MemoView]) -> None:
    _, view = memo
    for data in drawn(view):
        texts = " ".join(mark.text for mark in draw(data).marks if isinstance(mark, Text))
        if isinstance(data, StripData) and not data.rows:
            assert texts == "no baseline run slower faster"
        else:
            assert any(char.isdigit() for char in texts)


def test_text_keeps_to_its_side_of_the_canvas(memo: tuple[str, MemoView]) -> None:
    _, view = memo
    for data in drawn(view):
        for mark in draw(data).marks:
            if isinstance(mark, Text):
                width = 100 * 6.6 * len(mark.text) / 700
                left = mark.x - {"start": 0.0, "middle": width / 2, "end": width}[mark.anchor]
                assert left > -6, mark
                assert left + width < 106, mark


@given(values, values, values)
def test_scale_keeps_values_inside(low: float, high: float, value: float) -> None:
    scale = Scale(low=min(low, high), high=max(low, high), left=2, right=98)

    assert 2 <= scale.at(value) <= 98


@given(st.floats(min_value=-1e5, max_value=1e5), st.floats(min_value=1e-3, max_value=1e5), st.integers(2, 6))
def test_ticks_are_inside_and_evenly_spaced(low: float, width: float, count: int) -> None:
    ticks = ticks_of(low, low + width, count)

    assert all(low - 1e-6 * width <= tick <= low + width * (1 + 1e-6) for tick in ticks)
    gaps = [second - first for first, second in pairwise(ticks)]
    assert all(math.isclose(gap, gaps[0], rel_tol=1e-3, abs_tol=1e-6) for gap in gaps)


@given(st.lists(st.floats(min_value=20, max_value=280), min_size=1, max_size=8))
def test_labels_are_moved_apart_in_order(positions: list[float]) -> None:
    placed = apart(positions, 16, low=20, high=280)

    ordered = [placed[index] for index in sorted(range(len(positions)), key=lambda i: positions[i])]
    assert all(second - first >= 16 - 1e-9 for first, second in pairwise(ordered))


@pytest.mark.parametrize("ratio", [0.02, 0.5, 0.96, 1.0, 1.04, 1.9, 12.0])
def test_strip_holds_the_bar_and_the_mark_apart(ratio: float) -> None:
    row = StripRow(
        label="1 stream",
        mark="undecided",
        speedup=ratio,
        low=ratio * 0.97,
        high=ratio * 1.03,
        text=Span(text="82.3 tok/s"),
    )
    drawing = draw(StripData(rows=(row,), bar_text=Span(text="90.0")))
    labels = [mark for mark in drawing.marks if isinstance(mark, Text) and mark.y < 20]

    assert len(labels) == 2
    ends = sorted(_extent(label) for label in labels)
    assert ends[0][1] <= ends[1][0] + 2.5, labels


def _extent(label: Text) -> tuple[float, float]:
    """Left and right end in per cent of a 640 pixel strip."""
    width = 100 * 7.2 * len(label.text) / 640
    start = label.x + 100 * label.dx / 640 - {"start": 0.0, "middle": width / 2, "end": width}[label.anchor]
    return start, start + width


def test_every_shape_has_a_path() -> None:
    for name in SHAPES:
        path = Glyph(x=0, y=0, shape=name, css="fb").path
        assert path.startswith("M")
        assert "nan" not in path


def test_the_interval_of_the_leading_line_is_drawn_to_its_end() -> None:
    points = tuple(
        LoadPoint(concurrency=load, speedup=value, low=value * 0.7, high=value * 1.5, text=Span(text=f"{value}"))
        for load, value in ((1, 1.6), (8, 1.0), (32, 0.8))
    )
    series = LoadSeries(label="chain of 5", name="chain of 5", points=points, lead=True)
    marks = draw(LoadData(series=(series,), crossing=None)).marks
    bars = [mark for mark in marks if isinstance(mark, Line) and "wide6" in mark.css]
    lengths = [bar.y1 - bar.y2 for bar in bars]

    assert [length / lengths[0] for length in lengths] == pytest.approx([1.0, 1.0 / 1.6, 0.8 / 1.6], abs=0.01)
    ticks = [mark for mark in marks if isinstance(mark, Text) and mark.text.endswith("×")]
    assert all(_extent(tick)[1] < bars[0].x1 for tick in ticks)
