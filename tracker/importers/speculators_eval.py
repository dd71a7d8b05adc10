"""speculators' evaluation tables: `acceptance.csv` (counters a subset), `perf_results.csv` (loads a subset).

In `perf_results.csv` the acceptance columns are those of the subset's whole sweep, repeated in every row.
`acceptance_at_pos_i` is the share of all steps. The header comes from the first subset, so a later one that drafts more
loses columns; the counters still tell.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tracker.domain.finding import Finding
from tracker.domain.measurement import Latency, Measurement, Reported
from tracker.domain.server import Speculation
from tracker.domain.workload import Workload
from tracker.errors import InputError
from tracker.importers import _identities, _jsonl, _normalise, _source
from tracker.importers.base import ImportedRun

_ACCEPTANCE = b"subset,num_drafts,num_draft_tokens,num_accepted_tokens,"
_PERFORMANCE = b"subset,strategy,target_rate,"
_POSITION = "acceptance_at_pos_"
_WHOLE_SWEEP = Finding(
    code="ACCEPTANCE_OF_WHOLE_SWEEP",
    severity="info",
    message="The acceptance beside a load is that of the subset's whole sweep; the tool repeats it in every row.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One row by column name."""

    cells: Mapping[str, str]
    where: str

    def number(self, name: str) -> float | None:
        """Return a number of at least 0; None when the column or the value is not there.

        Raises:
            InputError: The cell holds something else.
        """
        text = self.cells.get(name, "").strip()
        if not text or text.lower() in ("nan", "none"):
            return None
        value = _normalise.number(text)
        if value is None or value < 0:
            raise InputError(f"`{name}` is no number: {text[:40]}", where=self.where, hint="Correct that cell.")
        return value

    def count(self, name: str) -> int | None:
        """Return a count, which the tool writes as `485414.0`."""
        value = self.number(name)
        return int(value) if value is not None and value.is_integer() and value < _jsonl.MAX_COUNT else None

    def positions(self) -> tuple[float, ...]:
        """Return the rates per position as far as they go without a gap."""
        rates: list[float] = []
        while (rate := self.number(f"{_POSITION}{len(rates)}")) is not None:
            rates.append(rate)
        return tuple(rates)


class SpeculatorsEval:
    """Tables of speculators' evaluation."""

    name = "speculators_eval"
    title = "speculators acceptance.csv or perf_results.csv"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the header is one of speculators' evaluation."""
        return head.startswith((_ACCEPTANCE, _PERFORMANCE))

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return one run with a measurement a subset (acceptance), or one run a subset and load (performance).

        Raises:
            InputError: There is no whole row, or a value is no number.
        """
        text = _source.read_text(path)
        rows, cut = _rows(text, path)
        if not rows:
            raise InputError("the table has no whole row", where=str(path), hint="Did the evaluation end?")
        if text.startswith(_PERFORMANCE.decode()):
            return tuple(_performance(row, index, cut) for index, row in enumerate(rows))
        return (_acceptance(rows, cut),)


def _rows(text: str, path: Path) -> tuple[list[_Row], str | None]:
    """Return the whole rows, and what is cut."""
    whole = text if text.endswith("\n") else text[: text.rfind("\n") + 1]
    try:
        table = list(csv.reader(io.StringIO(whole), strict=True))
    except csv.Error as error:
        raise InputError(f"the table is damaged ({error})", where=str(path), hint="Copy it again.") from error
    if not table:
        raise InputError("the table is cut in its header", where=str(path), hint="Copy it again.")
    rows = []
    for number, cells in enumerate(table[1:], start=2):
        where = f"{path}:{number}"
        if len(cells) != len(table[0]):
            raise InputError(f"line {number} is not as wide as the header", where=where, hint="Remove it.")
        rows.append(_Row(cells=dict(zip(table[0], cells, strict=True)), where=where))
    return rows, None if whole is text else "the table ends in the middle of a row; it was left out"


def _drafts(row: _Row) -> int | None:
    """Return drafts per step: proposed over steps, else the positions, whose number the counters bound."""
    steps, proposed, positions = row.count("num_drafts"), row.count("num_draft_tokens"), len(row.positions())
    if steps and proposed is not None and proposed % steps == 0:
        return proposed // steps or None
    return positions or None


def _cell(row: _Row, *, category: str | None) -> Measurement:
    length = row.number("acceptance_length")
    return Measurement(
        category=category,
        verify_steps=row.count("num_drafts"),
        accepted_drafts=row.count("num_accepted_tokens"),
        proposed_drafts=row.count("num_draft_tokens"),
        reported_accept_length=None if not length else Reported(value=length),
        extra={f"position_{index}_acceptance_rate": rate for index, rate in enumerate(row.positions())},
    )


def _speculation(drafts: set[int | None]) -> Speculation:
    number = next(iter(drafts)) if len(drafts) == 1 else None
    return Speculation(enabled=True, num_steps=number, num_draft_tokens=None if number is None else number + 1)


def _acceptance(rows: list[_Row], cut: str | None) -> ImportedRun:
    """Return the run of all subsets: the counters pooled, and each subset as a category."""
    cells = [_cell(row, category=row.cells.get("subset")) for row in rows]
    spec = _speculation({_drafts(row) for row in rows})
    pooled = Measurement(
        verify_steps=_sum([cell.verify_steps for cell in cells]),
        accepted_drafts=_sum([cell.accepted_drafts for cell in cells]),
        proposed_drafts=_sum([cell.proposed_drafts for cell in cells]),
    )
    findings = [
        finding
        for cell, row in zip(cells, rows, strict=True)
        for finding in _identities.check(
            cell,
            num_steps=spec.num_steps,
            position_rates=row.positions() if len(row.positions()) == _drafts(row) else None,
        )
    ]
    return ImportedRun(
        measurements=(pooled, *cells),
        workload=Workload(categories=tuple(sorted({cell.category for cell in cells if cell.category}))),
        engine="vllm",
        speculation=spec,
        findings=_identities.merge(findings),
        missing=cut,
    )


def _sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _performance(row: _Row, index: int, cut: str | None) -> ImportedRun:
    """Return the run of one subset at one load."""
    strategy, rate = row.cells.get("strategy") or None, row.number("target_rate")
    concurrency = 1 if strategy == "synchronous" else None
    throughput = row.number("output_tps_median")
    length = row.number("acceptance_length")
    ttft, itl, latency = (row.number(name) for name in ("ttft_median_ms", "itl_median_ms", "latency_median_s"))
    cell = Measurement(
        concurrency=concurrency,
        output_tokens=row.count("total_output_tokens"),
        requests_completed=row.count("completed_requests"),
        reported_throughput_tok_s=None if throughput is None else Reported(value=throughput),
        reported_accept_length=None if not length else Reported(value=length),
        ttft_ms=None if ttft is None else Latency(median_ms=ttft),
        # guidellm leaves the first token out, so this is time per output token.
        tpot_ms=None if itl is None else Latency(median_ms=itl),
        e2e_latency_ms=None if latency is None else Latency(median_ms=latency * 1000),
    )
    speculates = bool(length)
    subset = row.cells.get("subset")
    spec = _speculation({_drafts(row)}) if speculates else None
    open_loop = rate if strategy in ("constant", "poisson") else None
    findings = _identities.check(cell, num_steps=None if spec is None else spec.num_steps)
    return ImportedRun(
        name=", ".join(part for part in (subset, strategy, None if rate is None else f"{rate:g}/s") if part),
        row=index,
        measurements=(cell,),
        workload=Workload(
            prompt_set=subset,
            concurrencies=() if concurrency is None else (concurrency,),
            request_rate_per_s=open_loop,
        ),
        engine="vllm",
        speculation=spec,
        findings=(*findings, *((_WHOLE_SWEEP,) if speculates else ())),
        missing=cut,
    )


IMPORTER = SpeculatorsEval()
