"""Tables of runs: CSV, TSV, Markdown or aligned text, one run a row, with loosely named columns.

Where a header names configurations instead (`k7_tok_s`, `k5_tok_s`), each of them is a run and the rows are its
concurrencies or prompt categories; where it names concurrencies (`bs1_tok_s`, `bs8_tok_s`), they are cells of the row.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, RateConvention, Reported
from tracker.domain.server import Speculation
from tracker.domain.training import Training
from tracker.domain.workload import Hardware, Workload
from tracker.errors import InputError
from tracker.importers import _bounds, _columns, _identities, _normalise, _rows, _source, _tabletext, _wide
from tracker.importers._columns import Column
from tracker.importers._rows import Cells
from tracker.importers.base import ImportedRun


class Table:
    """Tables with one run a row."""

    name = "table"
    title = "table of runs: CSV, TSV, Markdown or aligned text, one run a row, loosely named columns"
    generic = True

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the text is a table; whether it describes runs is for `read` to say."""
        return bool(head) and b"\0" not in head and _tabletext.looks_like_table(head.decode(errors="replace"))

    def read(self, path: Path, columns: Mapping[str, str] | None = None) -> tuple[ImportedRun, ...]:
        """Return one run a row, or one a configuration of a wide table.

        Args:
            path: The file.
            columns: What columns hold, by name, where their names do not say so.

        Raises:
            InputError: There is no column with throughput or accept length, two could be meant, or a row is malformed.
        """
        return runs(_tabletext.read(path, _source.read_text(path)), where=str(path), given=columns)


def runs(table: _tabletext.Table, *, where: str, given: Mapping[str, str] | None = None) -> tuple[ImportedRun, ...]:
    """Return one run a row, or one a configuration of a wide table.

    Raises:
        InputError: There is no column with throughput or accept length, two could be meant, or a row is malformed.
    """
    line = f"{where}:{table.header_line}"
    columns = _columns.resolve(table.header, given, where=line)
    _require_measured(columns, table, where)
    _refuse_rivals(columns, table, line)
    percent = _rows.percent_columns(columns, table.rows)
    rows = [Cells(row=row, columns=columns, where=f"{where}:{row.line}", percent=percent) for row in table.rows]
    if not rows:
        raise InputError(
            "the table has no whole row" + (f": {table.cut}" if table.cut else ""),
            where=where,
            hint="Each row below the header is one run.",
        )
    named = _named_findings(columns, rows, table)
    if _wide.names_configurations(columns):
        return _wide.runs(rows, named, missing=table.cut)
    plain = _rows.plain_names(rows)
    # SpecForge prints 1.0 where nothing speculates; a table that leaves such cells empty means what it says.
    ones = all(cells.text("accept_length") is not None for cells in rows)
    return tuple(
        _run(index, cells, named, table.cut, plain=plain, ones_mean_none=ones) for index, cells in enumerate(rows)
    )


def _require_measured(columns: Sequence[Column], table: _tabletext.Table, path: str) -> None:
    """Refuse a table that measures nothing.

    Raises:
        InputError: No column holds output throughput, accept length or per-position acceptance.
    """
    if any(column.meaning in _columns.MEASURED or column.meaning == "position" for column in columns):
        return
    rates = [column.header for column in columns if column.meaning == "accept_rate"]
    why = f"; an accept rate alone ({', '.join(rates)}) cannot be compared between configurations" if rates else ""
    raise InputError(
        f"no column holds output throughput or accept length{why}; found: {', '.join(table.header)}",
        where=f"{path}:{table.header_line}",
        hint="Name one `output_throughput_tok_s` or `accept_length`, or say what a column holds: "
        "--column NAME=accept_length.",
    )


def _refuse_rivals(columns: Sequence[Column], table: _tabletext.Table, where: str) -> None:
    """Refuse to guess between columns of one measured quantity that differ.

    Raises:
        InputError: Two columns could hold it, neither is named exactly so, and their values differ.
    """
    for meaning, indices in _columns.rivals(columns, table.header).items():
        values = {tuple(_rows.bare_number(row.cells[index]) for row in table.rows) for index in indices}
        if len(values) > 1:
            names = [table.header[index] for index in indices]
            raise InputError(
                f"several columns can hold the {meaning.replace('_', ' ')}: {', '.join(names)}",
                where=where,
                hint=f'Say which: --column "{names[0]}={meaning}".',
            )


def _named_findings(columns: Sequence[Column], rows: Sequence[Cells], table: _tabletext.Table) -> tuple[Finding, ...]:
    """Return what a reader of the table must know: columns not understood, assumed, or a last value that may be cut."""
    findings: list[Finding] = []
    numeric = [
        column.header
        for column in columns
        if column.meaning is None and any(_is_number(cells.raw(column)) for cells in rows)
    ]
    if numeric:
        findings.append(
            Finding(
                code="COLUMNS_NOT_UNDERSTOOD",
                severity="info",
                message=f"Kept under their own names, without a meaning: {', '.join(numeric)}.",
                fix="Say what a column holds with --column NAME=MEANING, e.g. --column speed=throughput.",
            )
        )
    findings += [
        Finding(
            code="COLUMN_ASSUMED",
            severity="info",
            message=f"Column `{column.header}` is taken as output tokens per second.",
            fix=f'Confirm it with --column "{column.header}=throughput", or with "=ignore" if it counts requests.',
        )
        for column in columns
        if column.assumed
    ]
    if table.last_cell_open and _is_number(rows[-1].row.cells[-1]):
        findings.append(
            Finding(
                code="LAST_VALUE_MAY_BE_CUT",
                severity="warning",
                message=f"The file ends without a line break, so its last value {rows[-1].row.cells[-1]} in column "
                f"`{table.header[-1]}` may be cut.",
                fix="Compare it with the original, and end the file with a line break.",
            )
        )
    return tuple(findings)


def _is_number(text: str | None) -> bool:
    return text is not None and _normalise.number(_rows.bare_number(text)) is not None


def _run(
    index: int,
    cells: Cells,
    named: tuple[Finding, ...],
    missing: str | None,
    *,
    plain: frozenset[str],
    ones_mean_none: bool,
) -> ImportedRun:
    """Return the run of one row."""
    length, positions = accept_length(cells), _positions(cells)
    rate = cells.reported("accept_rate")
    acceptance = any(value is not None for value in (length, rate)) or bool(positions)
    measured = acceptance and not (ones_mean_none and _is_one(length))
    spec = _rows.speculation(cells, measured_acceptance=measured, plain=plain)
    measurements, findings = _measurements(cells, spec, length, rate, positions)
    texts = cells.others()[1]
    samples = cells.count("samples")
    return ImportedRun(
        name=_name(cells, spec, texts),
        role="baseline" if spec is not None and not spec.enabled else None,
        row=index,
        measured_at=cells.moment(),
        measurements=measurements,
        workload=workload(cells, [cell.concurrency for cell in measurements]),
        hardware=_hardware(cells),
        engine=cells.text("engine"),
        speculation=spec,
        cuda_graph=cells.flag(),
        drafter=_checkpoint(cells.text("drafter")),
        target=_checkpoint(cells.text("target")),
        training=None if samples is None else Training(samples=samples),
        note=cells.text("note"),
        tags=texts,
        findings=(*named, *_identities.merge(findings), *_empty(cells, measurements)),
        missing=missing,
    )


def _is_one(length: Reported | None) -> bool:
    """Return whether an accept length is the 1.0 that SpecForge prints for a baseline."""
    return length is not None and length.value == 1.0


def accept_length(cells: Cells) -> Reported | None:
    """Return the printed accept length with the bonus token."""
    length = cells.reported("accept_length")
    if length is not None:
        return length
    without = cells.reported("accept_length_no_bonus")
    return None if without is None else _normalise.length_with_bonus(without, includes_bonus=False)


def _positions(cells: Cells) -> tuple[Reported, ...]:
    """Return the printed per-position rates in order; empty where a later position is missing or lumped together."""
    columns = sorted(
        (column for column in cells.columns if column.meaning == "position"), key=lambda item: item.position or 0
    )
    rates: list[Reported] = []
    for column in columns:
        rate = cells.reported_in(column)
        if rate is None:
            return ()
        if column.and_later:
            return tuple(rates) if rate.value == 0 else ()
        rates.append(rate)
    return tuple(rates)


def _measurements(
    cells: Cells,
    spec: Speculation | None,
    length: Reported | None,
    rate: Reported | None,
    positions: tuple[Reported, ...],
) -> tuple[tuple[Measurement, ...], list[Finding]]:
    """Return the cells of a row and the identities they violate."""
    findings: list[Finding] = []
    off = spec is not None and not spec.enabled
    if length is None and positions and not off:
        length = _normalise.length_from_positions(positions)
        findings.append(
            Finding(
                code="ACCEPT_LENGTH_FROM_POSITIONS",
                severity="info",
                message="Accept length is 1 + the sum of the per-position rates.",
            )
        )
    if off:
        # A server that does not speculate has no acceptance, whatever a table prints in its row.
        length = rate = None
    at_most: dict[str, float] = {}
    if length is None and rate is not None:
        length, at_most, derived = _bounds.from_rate(cells, rate)
        findings += derived
    reading = _normalise.read_rate(
        length=length,
        rate=rate,
        num_draft_tokens=None if spec is None else spec.num_draft_tokens,
        num_steps=None if spec is None else spec.num_steps,
    )
    findings += reading.findings
    wide = _wide.concurrency_cells(cells)
    cell = _cell(cells, spec, length, rate, None if rate is None else reading.convention)
    cell = dataclasses.replace(cell, extra={**cell.extra, **at_most})
    measured = cell if not wide else _wide.lone_acceptance(cell)
    for item in (*wide, *([measured] if measured is not None else [])):
        findings += _identities.check(
            item,
            num_steps=None if spec is None else spec.num_steps,
            position_rates=[value.value for value in positions] if item is cell else None,
        )
    if wide and measured is not None:
        findings.append(_wide.LENGTH_WITHOUT_CONCURRENCY)
    return ((*wide, measured) if measured is not None else wide), findings


def _cell(
    cells: Cells,
    spec: Speculation | None,
    length: Reported | None,
    rate: Reported | None,
    convention: RateConvention | None,
) -> Measurement:
    """Return the measurement of a row."""
    latencies = cells.latencies()
    accepted, proposed = cells.count("accepted_drafts"), cells.count("proposed_drafts")
    steps = cells.count("verify_steps")
    if steps is None:
        steps = _steps(cells, accepted, proposed, length)
    return Measurement(
        concurrency=cells.count("concurrency"),
        requests_completed=cells.count("requests_completed"),
        requests_failed=cells.count("requests_failed"),
        input_tokens=cells.count("input_tokens"),
        output_tokens=cells.count("output_tokens"),
        wall_s=cells.number("wall_s"),
        verify_steps=steps,
        accepted_drafts=accepted,
        proposed_drafts=proposed,
        reported_throughput_tok_s=cells.reported("throughput"),
        reported_accept_length=length,
        reported_accept_rate=rate,
        accept_rate_convention=convention,
        ttft_ms=latencies.get("ttft"),
        tpot_ms=latencies.get("tpot"),
        itl_ms=latencies.get("itl"),
        e2e_latency_ms=latencies.get("e2e"),
        extra=cells.others()[0],
    )


def _steps(cells: Cells, accepted: int | None, proposed: int | None, length: Reported | None) -> int | None:
    """Return verify steps = proposed / K where every step proposes K drafts and the printed accept length agrees."""
    drafts = cells.count("num_speculative_tokens")
    if not drafts or not proposed or accepted is None or length is None or proposed % drafts:
        return None
    counted = 1 + accepted / (proposed // drafts)
    slack = length.half_width if length.half_width is not None else 0.0
    agrees = not _identities.differ(counted, length.value, tolerance_fraction=0.002, slack=slack)
    return proposed // drafts if agrees else None


def workload(cells: Cells, concurrencies: Iterable[int | None]) -> Workload | None:
    """Return what a row says about its workload; None when nothing."""
    known = tuple(sorted({value for value in concurrencies if value is not None}))
    temperature, prompt_set = cells.number("temperature"), cells.text("prompt_set")
    if temperature is None and prompt_set is None and not known:
        return None
    return Workload(prompt_set=prompt_set, temperature=temperature, concurrencies=known)


def _hardware(cells: Cells) -> Hardware | None:
    gpu = cells.text("gpu")
    return None if gpu is None else Hardware(gpu=gpu)


def _checkpoint(text: str | None) -> Checkpoint | None:
    """Return a checkpoint named by a path or Hub id."""
    if text is None:
        return None
    name = re.split(r"[\\/]", text.rstrip("\\/"))[-1]
    return Checkpoint(name=name or text, path=text if name != text else None)


def _name(cells: Cells, spec: Speculation | None, texts: dict[str, str]) -> str:
    """Return the row's name, else what distinguishes its configuration."""
    name = cells.text("name")
    if name is not None:
        return name
    parts = [] if spec is None else [_configuration(spec)]
    parts += [text for text in (cells.text("drafter"), cells.text("prompt_set"), *texts.values()) if text]
    graph, concurrency, temperature = cells.flag(), cells.count("concurrency"), cells.number("temperature")
    if graph is not None:
        parts.append("CUDA graph" if graph else "no CUDA graph")
    if temperature is not None:
        parts.append(f"temperature {temperature:g}")
    if (date := cells.text("measured_at")) is not None:
        parts.append(date)
    if concurrency is not None:
        parts.append(f"concurrency {concurrency}")
    return ", ".join(part for part in parts if part) or f"row {cells.row.line}"


def _configuration(spec: Speculation) -> str:
    """Return a short name of a configuration: `EAGLE3 3-1-4`, `EAGLE3 8 steps`."""
    if not spec.enabled:
        return "baseline"
    named = (("step", spec.num_steps), ("branch", spec.eagle_topk), ("draft token", spec.num_draft_tokens))
    known = [(unit, count) for unit, count in named if count is not None]
    if len(known) == len(named):
        shape = "-".join(str(count) for _, count in known)
    else:
        shape = ", ".join(f"{count} {unit}{'s' if count != 1 else ''}" for unit, count in known if unit != "branch")
    return " ".join(part for part in (spec.algorithm, shape) if part)


def _empty(cells: Cells, measurements: Sequence[Measurement]) -> tuple[Finding, ...]:
    """Return a finding for a row that measures nothing."""
    measured = any(cell.output_throughput_tok_s is not None or cell.accept_length is not None for cell in measurements)
    if measured:
        return ()
    return (
        Finding(
            code="ROW_WITHOUT_MEASUREMENT",
            severity="warning",
            message=f"Line {cells.row.line} reports neither throughput nor accept length.",
        ),
    )


IMPORTER = Table()
