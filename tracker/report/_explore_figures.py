"""Figures of the memo as plotly figures, from the same data."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from tracker.report.figures import (
    DotRowsData,
    FigureData,
    GapData,
    LoadData,
    OptionsData,
    StepTimeData,
    ThroughputData,
)
from tracker.report.figures_history import HistoryData
from tracker.report.figures_scaling import ScalingData
from tracker.report.figures_spread import SpreadData
from tracker.report.naming import short_words

BLUE, ORANGE, GREY = "#3b82c4", "#d2691e", "#8a949c"
_WAY = (BLUE, ORANGE, "#59626a", "#8d6ab8", "#2f8f83", "#b58900")
_LINE, _LONGEST = 28, 56  # characters of a name: in one line, and in all
_BAND, _BAND_2 = "rgba(59,130,196,.18)", "rgba(59,130,196,.3)"


def interactive(data: FigureData) -> dict[str, Any] | None:
    """Return a plotly figure as JSON; None for figures with nothing to hover over."""
    match data:
        case ThroughputData():
            return _throughput(data)
        case GapData():
            return _gap(data)
        case StepTimeData():
            return _step_time(data)
        case DotRowsData():
            return _dot_rows(data)
        case ScalingData():
            return _scaling(data)
        case OptionsData():
            return _options(data)
        case LoadData():
            return _load(data)
        case HistoryData():
            return _history(data)
        case SpreadData():
            return _spread(data)
        case _:
            return None


def _plain(text: str) -> str:
    """Return a label in which plotly finds no markup of its own."""
    return html.escape(text, quote=False)


def _places(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Return the places of an axis, each a name and its group, in lines for a phone.

    No name is cut to that of another: plotly draws equal names as one place.
    """
    short = [(short_words(name, _LONGEST), group) for name, group in rows]
    shown = short if len(set(short)) == len(set(rows)) else rows
    texts = [f"{name}  {group}".strip() for name, group in shown]
    lines = [textwrap.wrap(text, _LINE, break_on_hyphens=False) or [text] for text in texts]
    return ["<br>".join(_plain(line) for line in part) for part in lines]


def _rows_height(places: Sequence[str], least: int = 34) -> int:
    """Return the height of rows that the longest name fits into."""
    lines = max((place.count("<br>") + 1 for place in places), default=1)
    return len(places) * max(least, 17 * lines + 8)


def _title(text: str | None) -> dict[str, Any]:
    """Return an axis title that fits beside a phone's plot: what the lines mean stands beneath it."""
    return {"text": (text or "").replace("; ", "<br>"), "font": {"size": 12}}


def _figure(
    traces: Sequence[Any],
    *,
    height: int,
    x_title: str,
    y_title: str | None = None,
    xaxis: Mapping[str, Any] | None = None,
    **layout: Any,
) -> dict[str, Any]:
    import plotly.graph_objects as go

    # A Figure of these parts would be the same JSON and a template, which takes ten times as long to put in.
    whole = go.Layout(
        height=height,
        margin={"l": 10, "r": 10, "t": 10, "b": 40},
        xaxis={"automargin": True, **(xaxis or {}), "title": _title((xaxis or {}).get("title", x_title))},
        yaxis={"title": _title(y_title), "automargin": True},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        colorway=list(_WAY),
        **layout,
    )
    return {"data": [trace.to_plotly_json() for trace in traces], "layout": whole.to_plotly_json()}


def _errors(values: Sequence[tuple[float, float | None, float | None]]) -> dict[str, Any]:
    """Return asymmetric error bars; 0 where a value carries no interval, which draws none."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [0.0 if high is None else high - value for value, _, high in values],
        "arrayminus": [0.0 if low is None else value - low for value, low, _ in values],
        "thickness": 1.5,
    }


def _line_at(value: float) -> list[dict[str, Any]]:
    return [{"type": "line", "x0": value, "x1": value, "yref": "paper", "y0": 0, "y1": 1, "line": {"width": 2}}]


def _throughput(data: ThroughputData) -> dict[str, Any]:
    import plotly.graph_objects as go

    rows = [(group.title or "", row) for group in data.groups for row in group.rows][::-1]
    names = _places([(row.label, title) for title, row in rows])
    bars = go.Bar(
        orientation="h",
        y=names,
        x=[row.value for _, row in rows],
        marker={"color": [BLUE if row.filled else GREY for _, row in rows]},
        error_x=_errors([(row.value, row.low, row.high) for _, row in rows]),
        customdata=[row.against.text for _, row in rows],
        hovertemplate="%{y}: %{x:.1f} tok/s, %{customdata} against the baseline<extra></extra>",
    )
    shapes = _line_at(data.baseline)
    return _figure([bars], height=90 + _rows_height(names), x_title="output tok/s; line: baseline", shapes=shapes)


def _gap(data: GapData) -> dict[str, Any]:
    import plotly.graph_objects as go

    rows = [(group.title or "", row) for group in data.groups for row in group.rows][::-1]
    names = _places([(row.label, title) for title, row in rows])
    yields = go.Scatter(
        name="yields",
        mode="markers",
        y=names,
        x=[row.yields for _, row in rows],
        error_x=_errors([(row.yields or 0.0, row.low, row.high) for _, row in rows]),
        marker={"color": BLUE, "size": 10},
        hovertemplate="%{y} yields %{x:.3f} tokens a step<extra></extra>",
    )
    must = go.Scatter(
        name="must yield",
        mode="markers",
        y=names,
        x=[row.must for _, row in rows],
        marker={"color": ORANGE, "size": 14, "symbol": "line-ns-open", "line": {"width": 3}},
        customdata=[row.gap_text.text for _, row in rows],
        hovertemplate="%{y} must yield %{x:.3f}: %{customdata}<extra></extra>",
    )
    top = max(max(row.must, row.yields or 0.0, row.high or 0.0) for _, row in rows)
    axis = {"title": "tokens per step; 1 = no draft token accepted", "range": [0.95, top + 0.3]}
    return _figure([yields, must], height=150 + _rows_height(names), x_title="tokens per step", xaxis=axis)


def _step_time(data: StepTimeData) -> dict[str, Any]:
    import plotly.graph_objects as go

    names = [_plain(part.label) for part in data.parts]
    fall = go.Waterfall(
        orientation="v",
        x=[*names, "One speculative step"],
        y=[*(part.length_ms for part in data.parts), data.total_ms],
        measure=[*("relative" for _ in data.parts), "absolute"],
        text=[*(part.text.text for part in data.parts), data.total_text.text],
        hovertemplate="%{x}: %{text}<extra></extra>",
        connector={"line": {"color": GREY}},
        increasing={"marker": {"color": BLUE}},
        totals={"marker": {"color": GREY}},
    )
    shapes = []
    if data.allowed_ms is not None:
        level = data.allowed_ms
        shapes = [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": level, "y1": level, "line": {"width": 2}}]
    return _figure([fall], height=360, x_title="", y_title="ms; line: what a step may take", shapes=shapes)


def _dot_rows(data: DotRowsData) -> dict[str, Any]:
    import plotly.graph_objects as go

    rows = data.rows[::-1]
    names = _places([(row.label, "") for row in rows])
    dots = go.Scatter(
        mode="markers",
        y=names,
        x=[row.value for row in rows],
        error_x=_errors([(row.value, row.low, row.high) for row in rows]),
        marker={"color": BLUE, "size": 10},
        hovertemplate="%{y}: %{x:.3f}<extra></extra>",
    )
    shapes = [] if data.bar is None else _line_at(data.bar)
    return _figure([dots], height=90 + _rows_height(names, 28), x_title=data.unit, shapes=shapes)


def _scaling(data: ScalingData) -> dict[str, Any]:
    shapes = []
    for level, dash in ((data.bar, "solid"), (data.ceiling, "dash")):
        if level is not None:
            line = {"width": 2, "dash": dash}
            shapes.append({"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": level, "y1": level, "line": line})
    axis = {"type": "log", "title": "training samples; solid line: break-even; dashed line: ceiling"}
    traces = [*_fan_traces(data), *_size_traces(data)]
    return _figure(traces, height=440, x_title="", y_title="tokens per step", xaxis=axis, shapes=shapes)


def _fan_traces(data: ScalingData) -> list[Any]:
    import plotly.graph_objects as go

    sizes = [point.samples for point in data.fan]
    if not sizes:
        return []
    bands = (
        ("80 %", [point.low for point in data.fan], [point.high for point in data.fan], _BAND),
        ("50 %", [point.quartile_low for point in data.fan], [point.quartile_high for point in data.fan], _BAND_2),
    )
    traces = [
        go.Scatter(
            name=name,
            x=[*sizes, *sizes[::-1]],
            y=[*highs, *lows[::-1]],
            mode="lines",
            fill="toself",
            fillcolor=fill,
            line={"width": 0},
            hoverinfo="skip",
        )
        for name, lows, highs, fill in bands
    ]
    median = [point.median for point in data.fan]
    return [
        *traces,
        go.Scatter(
            name="median",
            x=sizes,
            y=median,
            mode="lines",
            line={"color": BLUE, "dash": "dash"},
            hovertemplate="%{x:,} samples: %{y:.2f} tokens a step<extra>median forecast</extra>",
        ),
    ]


def _size_traces(data: ScalingData) -> list[Any]:
    import plotly.graph_objects as go

    traces = [
        go.Scatter(
            name="measured",
            mode="markers",
            x=[point.samples for point in data.points],
            y=[point.value for point in data.points],
            error_y=_errors([(point.value, point.low, point.high) for point in data.points]),
            marker={"color": BLUE, "size": 11},
            hovertemplate="%{x:,} samples: %{y:.2f} tokens a step<extra>measured</extra>",
        )
    ]
    for name, symbol, points in (("published", "square-open", data.references), ("left out", "x", data.excluded)):
        if points:
            traces.append(
                go.Scatter(
                    name=name,
                    mode="markers",
                    x=[point.samples for point in points],
                    y=[point.value for point in points],
                    text=[_plain(point.label) for point in points],
                    marker={"color": GREY, "size": 9, "symbol": symbol},
                    hovertemplate="%{text}, %{x:,} samples: %{y:.2f} tokens a step<extra></extra>",
                )
            )
    return traces


def _options(data: OptionsData) -> dict[str, Any]:
    import plotly.graph_objects as go

    rows = data.rows[::-1]
    names = _places([(f"{row.letter}  {row.label}", "") for row in rows])
    dots = go.Scatter(
        mode="markers",
        y=names,
        x=[row.mean for row in rows],
        error_x=_errors([(row.mean, row.low, row.high) for row in rows]),
        marker={"color": BLUE, "size": 10, "symbol": ["circle" if row.known else "circle-open" for row in rows]},
        customdata=["not known" if row.cost is None else f"{row.cost:,.1f}" for row in rows],
        hovertemplate="%{y}: %{x:,.0f} GPU-hours, cost %{customdata}<extra></extra>",
    )
    return _figure([dots], height=90 + _rows_height(names, 30), x_title="net value, GPU-hours", shapes=_line_at(0.0))


def _load(data: LoadData) -> dict[str, Any]:
    import plotly.graph_objects as go

    traces = [
        go.Scatter(
            name=_plain(series.name),
            mode="lines+markers",
            x=[point.concurrency for point in series.points],
            y=[point.speedup for point in series.points],
            error_y=_errors([(point.speedup, point.low, point.high) for point in series.points]),
            line={"width": 3 if series.lead else 1.5, "dash": "solid" if series.lead else "dot"},
            hovertemplate="at %{x}: %{y:.3f} times the baseline<extra>%{fullData.name}</extra>",
        )
        for series in data.series
    ]
    loads = sorted({point.concurrency for series in data.series for point in series.points})
    axis = {"type": "log", "title": "streams", "tickvals": loads, "ticktext": [str(load) for load in loads]}
    shapes = [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": {"width": 2}}]
    return _figure(traces, height=420, x_title="", y_title="speed-up over the baseline", xaxis=axis, shapes=shapes)


_HISTORY = {
    "baseline": ("baseline", "#59626a", "square"),
    "contender": ("with drafter", BLUE, "circle"),
    "best": ("best contender", BLUE, "star"),
    "excluded": ("left out", ORANGE, "x"),
}


def _history(data: HistoryData) -> dict[str, Any]:
    import plotly.graph_objects as go

    traces = []
    for kind, (name, colour, symbol) in _HISTORY.items():
        points = [point for point in data.points if point.kind == kind]
        if points:
            traces.append(
                go.Scatter(
                    name=name,
                    mode="markers",
                    x=[point.at.isoformat() for point in points],
                    y=[point.value for point in points],
                    text=[_plain(f"{point.label} {point.name}".strip()) for point in points],
                    marker={"color": colour, "size": 10, "symbol": symbol},
                    hovertemplate="%{text}: %{y:,.1f}<br>%{x|%d %b %Y %H:%M}<extra></extra>",
                )
            )
    shapes: list[dict[str, Any]] = [
        {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": data.bar, "y1": data.bar, "line": {"width": 2}}
    ]
    notes = []
    for change in data.changes:
        at = change.at.isoformat()
        line = {"width": 1.5, "dash": "dash"}
        shapes.append({"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, "line": line})
        notes.append({"x": at, "y": 1.04, "yref": "paper", "text": change.letter, "showarrow": False})
    title = f"{data.unit}; line: {_plain(data.bar_text.text)}"
    return _figure(traces, height=380, x_title="", y_title=title, shapes=shapes, annotations=notes)


def _spread(data: SpreadData) -> dict[str, Any]:
    import plotly.graph_objects as go

    rows = [(group.title, row) for group in data.groups for row in group.rows][::-1]
    names = _places([(row.label, title) for title, row in rows])
    bars = go.Bar(
        orientation="h",
        y=names,
        x=[100 * row.sd for _, row in rows],
        marker={"color": [GREY if row.assumed else ORANGE if row.largest else BLUE for _, row in rows]},
        customdata=["assumed" if row.assumed else "from these runs" for _, row in rows],
        hovertemplate="%{y}: %{x:.2f} %, %{customdata}<extra></extra>",
    )
    return _figure([bars], height=90 + _rows_height(names), x_title="relative standard deviation, %; grey: assumed")
