"""explore.html: the memo's figures to hover and zoom, and every run in a table to filter; works offline."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from tracker.analysis.results import Point
from tracker.report import format as fmt
from tracker.report._evidence_table import CODE, every
from tracker.report._explore_figures import interactive
from tracker.report.jinja import environment
from tracker.report.naming import Names, name_runs
from tracker.report.view import MemoView, RunRow
from tracker.report.view_parts import FigureView
from tracker.report.walk import blocks_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreCell:
    """One cell of the run table."""

    text: str
    """As shown."""
    sort: str
    """What it sorts by: a number, or the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreRow:
    """One run at one load."""

    run: RunRow
    """The run."""
    cells: tuple[ExploreCell, ...]
    """Its values, in the order of COLUMNS."""
    excluded: bool
    """Whether it leaves the fits."""
    anchor: str | None
    """Target of links to the run: its first row only."""


COLUMNS = (
    "name",
    "configuration",
    "drafter",
    "samples",
    "streams",
    "tok/s",
    "speed-up",
    "accept length",
    "step, ms",
    "break-even",
    "still needs, %",
    "prompts",
    "left out because",
)


# Nothing that a run brings can hold it: its `<` would be escaped.
_SCRIPT = "<plotly.js>"


def render_explore(view: MemoView) -> bytes:
    """Return explore.html; plotly.js travels inside, nothing is fetched."""
    from plotly.offline import get_plotlyjs

    figures = [block for block in blocks_of(view) if isinstance(block, FigureView)]
    drawn = [(figure, data) for figure in figures if (data := interactive(figure.data)) is not None]
    page: str = (
        environment()
        .get_template("explore.html")
        .render(
            view=view,
            shorts={run.run_id: run.short for run in view.runs},
            figures=[figure for figure, _ in drawn],
            columns=COLUMNS,
            rows=_rows(view),
            every=every(view.source.analysis),
            # Nothing of a run's is in the first, and the second is escaped for a script element.
            plotlyjs=Markup(_SCRIPT),  # noqa: S704
            data=Markup(_script_json({figure.key: data for figure, data in drawn})),  # noqa: S704
        )
    )
    # Five megabytes as text would take twenty while a template puts them in its place.
    return page.encode().replace(_SCRIPT.encode(), get_plotlyjs().encode())


def _script_json(value: Any) -> str:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e").replace("\u2028", "\\u2028")


def _rows(view: MemoView) -> tuple[ExploreRow, ...]:
    runs = {run.run_id: run for run in view.runs}
    names = name_runs(view.source.analysis)
    seen: set[str] = set()
    rows = []
    for point in view.source.analysis.points:
        run = runs[point.run_id]
        rows.append(_row(point, run, names, anchor=None if run.short in seen else run.short))
        seen.add(run.short)
    return tuple(rows)


def _row(point: Point, run: RunRow, names: Names, *, anchor: str | None) -> ExploreRow:
    bar = None if point.break_even is None else point.break_even.value
    needs = None if point.needs_fraction is None else point.needs_fraction * 100
    cells = (
        _words(point.name),
        _words(_configuration(point, names)),
        _words(point.drafter),
        _number(point.samples, 0),
        _number(point.concurrency, 0),
        _number(point.throughput_tok_s.value, 1),
        _number(point.speedup.value, 3),
        _number(point.accept_length.value, 3),
        _number(point.step_time_ms.value, 2),
        _number(bar, 3),
        _number(needs, 1),
        _number(point.prompts, 0),
        _words(None if point.excluded_reason is None else CODE.sub("", point.excluded_reason)),
    )
    return ExploreRow(run=run, cells=cells, excluded=point.excluded_reason is not None, anchor=anchor)


def _configuration(point: Point, names: Names) -> str:
    """Return a configuration as the memo calls it, so that it is found by those words, and by its flags."""
    words, flags = names.configuration(point.configuration), point.configuration.label
    said = words.split(", ")[0] in flags
    return flags if said or not point.configuration.speculative else f"{words} · {flags}"


def _words(text: str | None) -> ExploreCell:
    return ExploreCell(text=text or fmt.DASH, sort=(text or "").lower())


def _number(value: float | None, decimals: int) -> ExploreCell:
    if value is None:
        return ExploreCell(text=fmt.DASH, sort="")
    return ExploreCell(text=fmt.fixed(value, decimals), sort=repr(float(value)))
