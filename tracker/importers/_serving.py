"""What the serving benchmarks of SGLang and vLLM share: they grew from one script and kept its field names.

SGLang's benchmarks over a grid of cases share how their lines become runs.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracker.domain.finding import Finding
from tracker.domain.measurement import Latency, Measurement, RequestRow
from tracker.domain.workload import Workload
from tracker.errors import InputError
from tracker.importers import _jsonl
from tracker.importers.base import ImportedRun

MAX_ERROR_LENGTH = 200


def runs(
    path: Path, run: Callable[[_jsonl.Fields, int | None, str | None], ImportedRun], *, hint: str
) -> tuple[ImportedRun, ...]:
    """Return one run an object of a JSON Lines file, in its order.

    Args:
        path: The file.
        run: Makes a run of one object, its row (None when the file holds one) and what a cut file lacks.
        hint: What to do when no run is whole.

    Raises:
        InputError: No run in it is whole, or a value is damaged.
    """
    found = _jsonl.objects(path)
    if not found.values:
        raise InputError("no run in it is whole" + (f": {found.cut}" if found.cut else ""), where=str(path), hint=hint)
    single = len(found.values) == 1
    return tuple(run(fields, None if single else row, found.cut) for row, fields in enumerate(found.values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A benchmark that writes a line a case, several of which make one run."""

    tool: str
    """Its name, for errors."""
    own_keys: frozenset[str]
    """Keys that each of its lines has."""
    key: Callable[[_jsonl.Fields], tuple[object, ...]]
    """What lines of one run have in common."""
    run: Callable[[Sequence[_jsonl.Fields], int | None, str | None], ImportedRun]
    """Makes a run of its lines, its row (None when the file holds one) and what a cut file lacks."""
    hint: str
    """What to do when no line is whole."""

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the runs of a file, in the order in which they begin.

        Raises:
            InputError: No line in it is whole, or a value is damaged.
        """
        found = _jsonl.objects(path)
        groups: dict[tuple[object, ...], list[_jsonl.Fields]] = {}
        for fields in found.values:
            require(fields, self.own_keys, self.tool)
            groups.setdefault(self.key(fields), []).append(fields)
        if not groups:
            cut = f": {found.cut}" if found.cut else ""
            raise InputError(f"no line in it is whole{cut}", where=str(path), hint=self.hint)
        single = len(groups) == 1
        return tuple(self.run(lines, None if single else row, found.cut) for row, lines in enumerate(groups.values()))


def require(fields: _jsonl.Fields, keys: Iterable[str], tool: str) -> None:
    """Refuse an object that is no result of this tool.

    Raises:
        InputError: A key that every result has is missing.
    """
    missing = sorted(set(keys) - fields.data.keys())
    if missing:
        raise InputError(
            f"this is no {tool} result (no `{missing[0]}`)", where=fields.where, hint="Remove it from the file."
        )


def latency(fields: _jsonl.Fields, quantity: str) -> Latency | None:
    """Return the summary of one latency; None when the result has none of it.

    The tools average an empty list to 0: no request was answered, or none had a second token or chunk.
    """
    values = {statistic: fields.number(f"{statistic}_{quantity}_ms") for statistic in ("mean", "median", "p90", "p99")}
    if all(value is None for value in values.values()) or values["mean"] == 0:
        return None
    return Latency(mean_ms=values["mean"], median_ms=values["median"], p90_ms=values["p90"], p99_ms=values["p99"])


def with_peak(cell: Measurement, name: str, *, counts_chunks: bool) -> tuple[Measurement, tuple[Finding, ...]]:
    """Return the cell with a peak of chunks called so, and a finding; both as they were where it counts tokens.

    Args:
        cell: The measurement with the peak under its own name.
        name: That name.
        counts_chunks: Whether the tool is known to count chunks here; a peak below the mean shows it too.
    """
    peak, mean = cell.extra.get(name), cell.output_throughput_tok_s
    if peak is None or not (counts_chunks or (mean is not None and peak < mean)):
        return cell, ()
    extra = {key: value for key, value in cell.extra.items() if key != name} | {"max_output_chunks_per_s": peak}
    beside = "" if mean is None else f" beside a mean of {mean:g} tok/s"
    finding = Finding(
        code="PEAK_COUNTS_CHUNKS",
        severity="info",
        message=f"The printed peak throughput of {peak:g}{beside} counts chunks, each of which carries several tokens "
        "under speculation; it is no maximum of tokens.",
    )
    return dataclasses.replace(cell, extra=extra), (finding,)


def workload(fields: _jsonl.Fields, cell: Measurement) -> Workload:
    """Return the workload; a rate of `Infinity` or `inf` is a closed loop bounded by the concurrency."""
    done = cell.requests_completed
    return Workload(
        prompt_set=fields.text("dataset_name"),
        input_tokens_mean=cell.input_tokens / done if cell.input_tokens is not None and done else None,
        output_tokens_mean=cell.output_tokens / done if cell.output_tokens is not None and done else None,
        concurrencies=() if cell.concurrency is None else (cell.concurrency,),
        request_rate_per_s=_rate(fields.data.get("request_rate")),
    )


def _rate(value: Any) -> float | None:
    """Return arrivals per second; None for a closed loop or a replayed trace."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value < 2**53 else None


def requests(fields: _jsonl.Fields, concurrency: int | None) -> tuple[RequestRow, ...]:
    """Return the requests that a detailed result lists; empty without them.

    Raises:
        InputError: The lists differ in length or hold something else.
    """
    outputs = fields.counts("output_lens")
    if not outputs:
        return ()
    inputs, ttfts_s = fields.counts("input_lens"), fields.numbers("ttfts")
    gaps, errors = fields.data.get("itls"), fields.data.get("errors")
    if any(isinstance(part, list | tuple) and len(part) != len(outputs) for part in (inputs, ttfts_s, gaps, errors)):
        raise InputError(
            "the per-request lists differ in length", where=fields.where, hint="The file is damaged; run it again."
        )
    rows = []
    for index, tokens in enumerate(outputs):
        error = errors[index] if isinstance(errors, list) else None
        failed = isinstance(error, str) and bool(error)
        ttft_s = None if ttfts_s is None or failed else ttfts_s[index]
        rows.append(
            RequestRow(
                concurrency=concurrency,
                input_tokens=None if inputs is None else inputs[index],
                output_tokens=tokens,
                ttft_s=ttft_s,
                latency_s=_latency_s(ttft_s, gaps[index] if isinstance(gaps, list) else None),
                error=str(error)[:MAX_ERROR_LENGTH] if failed else None,
            )
        )
    return tuple(rows)


def _latency_s(ttft_s: float | None, gaps_s: Any) -> float | None:
    """Return the request's latency: time to first token plus the gaps between chunks."""
    if ttft_s is None or not isinstance(gaps_s, list):
        return None
    if not all(isinstance(gap, int | float) and 0 <= gap < math.inf for gap in gaps_s):
        return None
    return ttft_s + float(sum(gaps_s))
