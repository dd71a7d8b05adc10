"""What the runs of each load could have shown: smallest visible difference, equivalence, parts of the interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracker.analysis.results import LoadNoise, LoadVerdict
from tracker.report import format as fmt
from tracker.report._fig_spread import spread_group
from tracker.report._verdict_text import detectable, load_words, runs_of
from tracker.report.figures_spread import SpreadRow
from tracker.report.reading import Reading
from tracker.report.spans import Part, Rich, join, number, quote, rich, sentence
from tracker.report.view_parts import Block, Cell, Facts, Folded, RowHead, TableRow, TableView

TITLE = "What these runs could show"


def resolution(reading: Reading) -> Block | None:
    """Return one sentence for a single load, a folded list for several; None where nothing was compared."""
    loads = [item for item in reading.analysis.verdict.by_concurrency if item.smallest_detectable_note]
    if not loads:
        return None
    if len(loads) == 1:
        return Facts(items=((TITLE, _sentences(loads[0])),))
    items = tuple((fmt.streams(item.concurrency).capitalize(), _sentences(item)) for item in loads)
    return Folded(
        key="resolution", title=TITLE, answer=_answer(loads), blocks=(Facts(items=items), _table(reading, loads))
    )


def _answer(loads: Sequence[LoadVerdict]) -> Rich:
    parts = [
        rich(detectable(item), " at ", load_words(item.concurrency))
        for item in loads
        if item.smallest_detectable is not None
    ]
    return rich("Differences of about ", join(parts, ", "), " or more; smaller ones hide in their noise.")


def _sentences(item: LoadVerdict) -> Rich:
    runs = runs_of(item)
    parts: list[Part] = []
    for key in ("smallest_detectable_note", "equivalence_note"):
        text = getattr(item, key)
        if text:
            parts += [" " if parts else "", sentence(quote(text, f"verdict.by_concurrency.{key}", runs))]
    return rich(*parts)


def _table(reading: Reading, loads: Sequence[LoadVerdict]) -> TableView:
    groups = {
        item.concurrency: spread_group(item.parts, title="", runs=runs_of(item), source="verdict.by_concurrency")
        for item in loads
        if item.parts
    }
    names = list(dict.fromkeys(row.label for group in groups.values() for row in group.rows))
    rows = []
    for item in loads:
        group = groups.get(item.concurrency)
        found = {} if group is None else {row.label: row for row in group.rows}
        cells = [_cell(found.get(name)) for name in names]
        cells.append(Cell(text=Rich() if group is None else rich(group.total_text)))
        cells.append(_noise(reading, item.concurrency))
        rows.append(TableRow(head=RowHead(text=load_words(item.concurrency)), cells=tuple(cells)))
    return TableView(
        key="interval-parts",
        caption=rich("What each speed-up's interval is made of"),
        conditions=rich("Relative standard deviations; independent parts add as squares."),
        head="Load",
        columns=(*names, "together", "one server against another"),
        rows=tuple(rows),
    )


def _cell(row: SpreadRow | None) -> Cell:
    if row is None:
        return Cell(text=Rich())
    return Cell(text=rich(row.text), small=(rich("assumed"),) if row.assumed else ())


def _noise(reading: Reading, load: int | None) -> Cell:
    found = next((item for item in reading.analysis.noise if item.concurrency == load), None)
    if found is None:
        return Cell(text=Rich())
    shown = number(
        fmt.percent(found.sd, signed=False), found.sd, "noise.sd: step times of servers of one configuration"
    )
    return Cell(text=rich(shown), small=(_origin(found),))


def _origin(found: LoadNoise) -> Rich:
    if math.isinf(found.df):
        return rich("assumed" if found.source == "default" else found.source)
    freedom = number(fmt.fixed(found.df, 0), found.df, "noise.df")
    words = {"measured": "measured", "other loads": "from other loads"}.get(found.source, found.source)
    unit = "degree of freedom" if fmt.fixed(found.df, 0) == "1" else "degrees of freedom"
    return rich(f"{words}, ", freedom, f" {unit}")
