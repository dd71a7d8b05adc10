"""SGLang `bench_serving` (`sglang.benchmark.serving`), one JSON object a run, appended to one file (0.4.5 to 0.5.23).

Traps: `accept_length` is the server's average since its start, of data-parallel rank 0, refreshed every 40 steps, not
this run's value; `max_output_tokens_per_s` and ITL count chunks, not tokens, once a server speculates; `Infinity` is
no strict JSON.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from tracker.domain.finding import Finding
from tracker.domain.measurement import Latency, Measurement, RequestRow
from tracker.domain.workload import Workload
from tracker.errors import InputError
from tracker.importers import _identities, _jsonl, _normalise
from tracker.importers.base import ImportedRun

_OWN_KEYS = frozenset({"backend", "dataset_name", "duration", "completed", "total_output_tokens"})
# vLLM's tool shares some names but calls its model `model_id`, and writes no `dataset_name`.
_OTHERS_KEYS = frozenset({"model_id", "endpoint_type"})
_EXTRA = (
    "concurrency",
    "max_concurrent_requests",
    "max_output_tokens_per_s",
    "request_throughput",
    "input_throughput",
    "total_throughput",
    "total_output_tokens_retokenized",
    "request_goodput",
    "slo_attainment",
)
_TAGS = ("tag", "backend", "dataset_name")
MAX_ERROR_LENGTH = 200
CUMULATIVE = Finding(
    code="ACCEPT_LENGTH_CUMULATIVE",
    severity="info",
    message="accept_length is the server's average since its start or last cache flush, of data-parallel rank 0, "
    "warm-up and other clients included; it is not this run's own value.",
    fix="Flush the cache before each run, or log the answers' meta_info or /metrics before and after.",
)


class SglangBenchServing:
    """SGLang's serving benchmark."""

    name = "sglang_bench_serving"
    title = "SGLang bench_serving results, JSON Lines, one run a line"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the first object has the fields of this benchmark."""
        value = _jsonl.first_value(head)
        return isinstance(value, dict) and value.keys() >= _OWN_KEYS and not value.keys() & _OTHERS_KEYS

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the runs of the file, in its order.

        Raises:
            InputError: No run in it is whole, or a line is damaged.
        """
        found: list[_jsonl.Fields] = []
        cut = None
        for entry in _jsonl.entries(path):
            where = f"{path}:{entry.line}"
            if entry.cut is not None:
                cut = entry.cut
            elif isinstance(entry.value, dict) and "duration" in entry.value:
                found.append(_jsonl.Fields(data=entry.value, where=where))
            else:
                raise InputError(
                    "this line is no bench_serving result (no `duration`)", where=where, hint="Remove that line."
                )
        if not found:
            raise InputError(
                "no run in it is whole" + (f": {cut}" if cut else ""),
                where=str(path),
                hint="bench_serving writes a line when it ends.",
            )
        single = len(found) == 1
        return tuple(_run(fields, None if single else row, cut) for row, fields in enumerate(found))


def _run(fields: _jsonl.Fields, row: int | None, cut: str | None) -> ImportedRun:
    """Return one run."""
    cell = _measurement(fields)
    findings = list(_identities.check(cell, num_steps=_num_steps(fields)))
    if cell.reported_accept_length is not None:
        findings.append(CUMULATIVE)
    info = fields.data.get("server_info")
    return ImportedRun(
        name=fields.text("tag"),
        row=row,
        measurements=(cell,),
        requests=_requests(fields, cell.concurrency),
        workload=_workload(fields, cell),
        server_info=info if isinstance(info, dict) and info else None,
        engine="sglang" if (fields.text("backend") or "").startswith("sglang") else fields.text("backend"),
        tags={key: text for key in _TAGS if (text := fields.text(key)) is not None},
        findings=_identities.merge(findings),
        missing=cut,
    )


def _measurement(fields: _jsonl.Fields) -> Measurement:
    return Measurement(
        concurrency=fields.count("max_concurrency") or None,
        requests_completed=fields.count("completed"),
        input_tokens=fields.count("total_input_tokens"),
        output_tokens=fields.count("total_output_tokens"),
        wall_s=fields.number("duration"),
        reported_throughput_tok_s=_normalise.from_json(fields.number("output_throughput")),
        reported_accept_length=_normalise.from_json(fields.number("accept_length")),
        ttft_ms=_latency(fields, "ttft"),
        tpot_ms=_latency(fields, "tpot"),
        itl_ms=_latency(fields, "itl"),
        e2e_latency_ms=_latency(fields, "e2e_latency"),
        extra={key: value for key in _EXTRA if (value := fields.number(key)) is not None},
    )


def _latency(fields: _jsonl.Fields, quantity: str) -> Latency | None:
    """Return the summary of one latency; None when the file has none of it."""
    values = {statistic: fields.number(f"{statistic}_{quantity}_ms") for statistic in ("mean", "median", "p90", "p99")}
    if all(value is None for value in values.values()):
        return None
    return Latency(mean_ms=values["mean"], median_ms=values["median"], p90_ms=values["p90"], p99_ms=values["p99"])


def _num_steps(fields: _jsonl.Fields) -> int | None:
    """Return the draft steps the embedded server_info names."""
    info = fields.data.get("server_info")
    steps = info.get("speculative_num_steps") if isinstance(info, dict) else None
    return steps if type(steps) is int and steps > 0 else None


def _workload(fields: _jsonl.Fields, cell: Measurement) -> Workload:
    """Return the workload; `Infinity` as rate means all at once, bounded by the concurrency."""
    requests = cell.requests_completed
    return Workload(
        prompt_set=fields.text("dataset_name"),
        input_tokens_mean=_per(cell.input_tokens, requests),
        output_tokens_mean=_per(cell.output_tokens, requests),
        concurrencies=() if cell.concurrency is None else (cell.concurrency,),
        request_rate_per_s=_rate(fields.data.get("request_rate")),
    )


def _per(total: int | None, count: int | None) -> float | None:
    return total / count if total is not None and count else None


def _rate(value: Any) -> float | None:
    """Return arrivals per second; None for a closed loop (`Infinity`, `inf`) or a replayed trace."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value < math.inf and value < 2**53 else None


def _requests(fields: _jsonl.Fields, concurrency: int | None) -> tuple[RequestRow, ...]:
    """Return the requests that `--output-details` lists; empty without them or where the lists do not match."""
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


IMPORTER = SglangBenchServing()
