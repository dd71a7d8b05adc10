"""guidellm's CSV: three header rows (group, field, statistic) above one row a benchmark.

The columns come from the first benchmark, so a later row of another width cannot be told apart column by column and is
named instead of read. The streams of a concurrent level stand in the profile, which lists them for all levels.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tracker.domain.measurement import Latency, Measurement, Reported
from tracker.errors import InputError
from tracker.importers import _guidellm, _jsonl, _normalise, _source
from tracker.importers.base import ImportedRun

_HEAD = re.compile(rb"Run Info,Run Info,[^\n]*\bServer Throughput,[^\n]*\n[^\n]*\bStrategy,", re.S)
_Key = tuple[str, str, str]
_COUNTS = {"requests_completed": "Successful", "requests_failed": "Errored"}


class GuidellmCsv:
    """guidellm's CSV report."""

    name = "guidellm_csv"
    title = "guidellm benchmarks.csv, three header rows, one load level a row"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the first two rows are guidellm's headers."""
        return bool(_HEAD.match(head))

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return one run for the closed-loop levels and one for each open-loop level.

        Raises:
            InputError: There is no whole row, or a value is no number.
        """
        text = _source.read_text(path)
        try:
            rows = list(csv.reader(io.StringIO(text), strict=True))
        except csv.Error as error:
            raise InputError(f"the table is damaged ({error})", where=str(path), hint="Copy it again.") from error
        if len(rows) < 4:
            raise InputError("the file holds no benchmark", where=str(path), hint="Did the benchmark end?")
        header = [tuple(part) for part in zip(*rows[:3], strict=False)]
        levels, cut = _levels(header, rows[3:], path)
        if not text.endswith("\n") and levels:
            levels, cut = levels[:-1], "the last row may be cut; it was left out"
        if not levels:
            raise InputError(f"no row is whole: {cut}", where=str(path), hint="Copy the file again.")
        return _guidellm.runs(levels, cut)


def _levels(
    header: Sequence[tuple[str, ...]], rows: Sequence[Sequence[str]], path: Path
) -> tuple[list[_guidellm.Level], str | None]:
    """Return the levels of the rows that are as wide as the header, and which rows are not."""
    levels: list[_guidellm.Level] = []
    odd: list[int] = []
    concurrent = 0
    for number, row in enumerate(rows, start=4):
        if not row:
            continue
        if len(row) != len(header):
            odd.append(number)
            continue
        cells: dict[_Key, str] = {}
        for key, value in zip(header, row, strict=True):
            cells.setdefault((key[0], key[1], key[2]), value)
        levels.append(_level(cells, f"{path}:{number}", concurrent))
        concurrent += levels[-1].strategy == "concurrent"
    cut = None if not odd else f"row {', '.join(map(str, odd))} has another width than the header; left out"
    return levels, cut


def _level(cells: Mapping[_Key, str], where: str, index: int) -> _guidellm.Level:
    """Return one row; `index` counts the concurrent levels before it."""
    strategy = cells.get(("Benchmark", "Strategy", ""))
    streams = _streams(cells.get(("Run Info", "Profile", ""), ""), index)
    throughput = _number(cells, ("Token Throughput", "Successful Output Tokens/Sec", "Mean"), where)
    counts = {name: _number(cells, ("Request Counts", field, ""), where) for name, field in _COUNTS.items()}
    rate = _number(cells, ("Server Throughput", "Successful Requests/Sec", "Mean"), where)
    cell = Measurement(
        concurrency=_guidellm.concurrency(strategy, streams),
        requests_completed=_whole(counts["requests_completed"]),
        requests_failed=_whole(counts["requests_failed"]),
        reported_throughput_tok_s=None if throughput is None else Reported(value=throughput),
        ttft_ms=_latency(cells, "Time to First Token", "Successful ms", where),
        tpot_ms=_latency(cells, "Inter Token Latency", "Successful ms", where),
        e2e_latency_ms=_latency(cells, "Request Latency", "Successful Sec", where, scale=1000),
        extra={} if rate is None else {"requests_per_second": rate},
    )
    return _guidellm.Level(strategy=strategy, rate_per_s=None, cell=cell)


def _streams(profile: str, index: int) -> int | None:
    """Return the streams of the `index`-th concurrent level of a profile; None when it does not say."""
    try:
        value = _jsonl.parse(profile)
    except ValueError:
        return None
    streams = value.get("streams") if isinstance(value, dict) else None
    if isinstance(streams, list) and index < len(streams):
        streams = streams[index]
    return streams if type(streams) is int and streams > 0 else None


def _number(cells: Mapping[_Key, str], key: _Key, where: str) -> float | None:
    """Return a cell's number; None when the column or the value is not there.

    Raises:
        InputError: The cell holds something else.
    """
    text = cells.get(key, "").strip()
    if text in ("", "None", "nan", "inf"):
        return None
    value = _normalise.number(text)
    if value is None or value < 0:
        raise InputError(f"`{' / '.join(key)}` is no number: {text[:40]}", where=where, hint="Correct that cell.")
    return value


def _whole(value: float | None) -> int | None:
    return int(value) if value is not None and value.is_integer() and value < _jsonl.MAX_COUNT else None


def _latency(cells: Mapping[_Key, str], group: str, field: str, where: str, *, scale: float = 1.0) -> Latency | None:
    values = {
        "mean_ms": _number(cells, (group, field, "Mean"), where),
        "median_ms": _number(cells, (group, field, "Median"), where),
    }
    known = {name: value * scale for name, value in values.items() if value is not None}
    return Latency(**known) if known else None


IMPORTER = GuidellmCsv()
