"""SGLang `bench_serving` (`sglang.benchmark.serving`), one JSON object a run, appended to one file (0.4.5 to 0.5.23).

Traps: `accept_length` is the server's average since its start, of data-parallel rank 0, refreshed every 40 steps, not
this run's value; `max_output_tokens_per_s` and ITL count chunks, not tokens, once a server speculates; `Infinity` is
no strict JSON.
"""

from __future__ import annotations

from pathlib import Path

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement
from tracker.importers import _identities, _jsonl, _normalise, _serving, _spec_block
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
_PEAK = "max_output_tokens_per_s"
_TAGS = ("tag", "backend", "dataset_name")
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
        value = _jsonl.first_object(head)
        return value is not None and value.keys() >= _OWN_KEYS and not value.keys() & _OTHERS_KEYS

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the runs of the file, in its order.

        Raises:
            InputError: No run in it is whole, or a line is damaged.
        """
        return _serving.runs(path, _run, hint="bench_serving writes a line when it ends.")


def _run(fields: _jsonl.Fields, row: int | None, cut: str | None) -> ImportedRun:
    """Return one run."""
    _serving.require(fields, ("duration",), "bench_serving")
    # The native route counts the tokens of each chunk; the OpenAI routes count chunks (PR 33193).
    chunks = (fields.text("backend") or "").startswith("sglang-oai") and fields.number("accept_length") is not None
    cell, peak = _serving.with_peak(_measurement(fields), _PEAK, counts_chunks=chunks)
    findings = list(_identities.check(cell, num_steps=_num_steps(fields)))
    if cell.reported_accept_length is not None:
        findings.append(CUMULATIVE)
    info = fields.data.get("server_info")
    return ImportedRun(
        name=fields.text("tag"),
        row=row,
        measurements=(cell,),
        requests=_serving.requests(fields, cell.concurrency),
        workload=_serving.workload(fields, cell),
        server_info=info if isinstance(info, dict) and info else None,
        speculation=_spec_block.seen((cell,)),
        engine="sglang" if (fields.text("backend") or "").startswith("sglang") else fields.text("backend"),
        tags={key: text for key in _TAGS if (text := fields.text(key)) is not None},
        findings=(*_identities.merge(findings), *peak),
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
        reported_accept_length=_normalise.from_json(fields.number("accept_length") or None),
        ttft_ms=_serving.latency(fields, "ttft"),
        tpot_ms=_serving.latency(fields, "tpot"),
        itl_ms=_serving.latency(fields, "itl"),
        e2e_latency_ms=_serving.latency(fields, "e2e_latency"),
        extra={key: value for key in _EXTRA if (value := fields.number(key)) is not None},
    )


def _num_steps(fields: _jsonl.Fields) -> int | None:
    """Return the draft steps the embedded server_info names."""
    info = fields.data.get("server_info")
    steps = info.get("speculative_num_steps") if isinstance(info, dict) else None
    return steps if type(steps) is int and steps > 0 else None


IMPORTER = SglangBenchServing()
