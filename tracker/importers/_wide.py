"""Wide tables: configurations or concurrencies named in the header instead of in rows."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, Reported
from tracker.domain.server import Speculation
from tracker.domain.workload import Workload
from tracker.errors import InputError
from tracker.importers import _identities, _normalise
from tracker.importers._columns import Column, canonical
from tracker.importers._rows import Cells
from tracker.importers.base import ImportedRun

_CONCURRENCY = re.compile(r"(?:bs|batch|batch_size|c|conc|concurrency|streams)_?(\d+)")
_DRAFTS = re.compile(r"k_?(\d+)")
_POOLED = frozenset({"mean", "average", "avg", "overall", "all", "total"})
_BASELINES = frozenset({"base", "baseline", "no_spec", "nospec", "vanilla", "off"})
LENGTH_WITHOUT_CONCURRENCY = Finding(
    code="ACCEPT_LENGTH_CONCURRENCY_UNKNOWN",
    severity="info",
    message="The accept length stands beside throughputs at several concurrencies; which of them it was measured at "
    "is not said, so it is kept apart from them.",
)


def concurrency_of(column: Column) -> int | None:
    """Return the concurrency a column's label names, else None."""
    match = _CONCURRENCY.fullmatch(column.label or "")
    return None if match is None else int(match.group(1))


def names_configurations(columns: Sequence[Column]) -> bool:
    """Return whether labels in the header are configurations, so that a column rather than a row is a run."""
    return any(column.label is not None and concurrency_of(column) is None for column in columns)


def concurrency_cells(cells: Cells) -> tuple[Measurement, ...]:
    """Return one measurement a concurrency that the header names, in ascending order; empty for other tables."""
    found: dict[int, Measurement] = {}
    for column in cells.columns:
        concurrency = concurrency_of(column)
        value = None if concurrency is None else cells.reported_in(column)
        if concurrency is None or value is None:
            continue
        cell = found.get(concurrency, Measurement(concurrency=concurrency))
        found[concurrency] = _with(cell, column, value)
    return tuple(found[concurrency] for concurrency in sorted(found))


def lone_acceptance(cell: Measurement) -> Measurement | None:
    """Return the acceptance of a row whose throughputs stand in other cells; None when there is none."""
    if cell.reported_accept_length is None and cell.reported_accept_rate is None and not cell.extra:
        return None
    return cell


def _with(cell: Measurement, column: Column, value: Reported) -> Measurement:
    """Return the cell with one more number."""
    if column.meaning == "throughput":
        return dataclasses.replace(cell, reported_throughput_tok_s=value)
    if column.meaning == "accept_rate":
        return dataclasses.replace(cell, reported_accept_rate=value, accept_rate_convention="unknown")
    length = _normalise.length_with_bonus(value, includes_bonus=column.meaning != "accept_length_no_bonus")
    return dataclasses.replace(cell, reported_accept_length=length)


def runs(rows: Sequence[Cells], named: tuple[Finding, ...], *, missing: str | None) -> tuple[ImportedRun, ...]:
    """Return one run a configuration named in the header; rows are its concurrencies or its prompt categories.

    Raises:
        InputError: No column says what the rows are.
    """
    columns = rows[0].columns
    labels = tuple(dict.fromkeys(column.label for column in columns if column.label is not None))
    if rows[0].find("concurrency") is None and rows[0].find("prompt_set") is None:
        raise InputError(
            f"the header names configurations ({', '.join(labels)}), but no column says what the rows are",
            where=rows[0].where,
            hint=_rows_hint(columns),
        )
    return tuple(_run(index, label, rows, named, missing) for index, label in enumerate(labels))


def _rows_hint(columns: Sequence[Column]) -> str:
    """Return what to do: name the column that says what the rows are, where there is one to name."""
    other = next((column.header for column in columns if column.meaning is None), None)
    add = "Add a column `concurrency` or `category`"
    return f"{add}." if other is None else f'{add}, or say which it is: --column "{other}=category".'


def _run(index: int, label: str, rows: Sequence[Cells], named: tuple[Finding, ...], missing: str | None) -> ImportedRun:
    """Return the run of one configuration."""
    spec = _speculation(label)
    enabled = spec is None or spec.enabled
    measurements = [cell for cells in rows if (cell := _cell(cells, label, with_plain_rate=enabled)) is not None]
    # A row of means stands for all of them.
    measurements.sort(key=lambda cell: cell.category is not None)
    if spec is None and any(cell.reported_accept_rate or _accepts(cell) for cell in measurements):
        spec = Speculation(enabled=True)
    findings = [
        finding
        for cell in measurements
        for finding in _identities.check(cell, num_steps=None if spec is None else spec.num_steps)
    ]
    categories = tuple(cell.category for cell in measurements if cell.category is not None)
    concurrencies = {cell.concurrency for cell in measurements if cell.concurrency is not None}
    return ImportedRun(
        name=label,
        role=None if enabled else "baseline",
        row=index,
        measurements=tuple(measurements),
        workload=Workload(categories=categories, concurrencies=tuple(sorted(concurrencies))),
        speculation=spec,
        findings=(*named, *_identities.merge(findings)),
        missing=missing,
    )


def _speculation(label: str) -> Speculation | None:
    """Return what a label says: `k7` drafts seven tokens, `base` none; None when it says nothing."""
    if label in _BASELINES:
        return Speculation(enabled=False)
    match = _DRAFTS.fullmatch(label)
    if match is None:
        return None
    drafts = int(match.group(1))
    return Speculation(enabled=drafts > 0, num_steps=drafts, num_draft_tokens=drafts + 1 if drafts else None)


def _accepts(cell: Measurement) -> bool:
    return (cell.accept_length or 0) > 1


def _others(cells: Cells, label: str) -> dict[str, float]:
    """Return the numbers without a meaning that belong to a configuration; a baseline has only those named after it."""
    labels = {column.label for column in cells.columns if column.label is not None} - {label}
    others = tuple(f"{other}_" for other in labels)
    return {
        name: value
        for name, value in cells.others()[0].items()
        if canonical(name).startswith(f"{label}_")
        or (label not in _BASELINES and not canonical(name).startswith(others))
    }


def _cell(cells: Cells, label: str, *, with_plain_rate: bool) -> Measurement | None:
    """Return one row's measurement of one configuration; None when the row has none."""
    category = cells.text("prompt_set")
    pooled = category is not None and category.lower() in _POOLED
    cell = Measurement(concurrency=cells.count("concurrency"), category=None if pooled else category)
    filled = cell
    for column in cells.columns:
        value = cells.reported_in(column) if column.label == label else None
        if value is not None:
            filled = _with(filled, column, value)
    if filled is cell:
        return None
    rate = cells.reported("accept_rate")
    if with_plain_rate and rate is not None and filled.reported_accept_rate is None:
        filled = dataclasses.replace(filled, reported_accept_rate=rate, accept_rate_convention="unknown")
    return dataclasses.replace(filled, extra=_others(cells, label))
