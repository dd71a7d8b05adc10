"""`vllm bench serve` results: one JSON object, or one a line with `--append-result`.

The acceptance rate is in per cent, per-position rates are fractions of all steps. Drafts are the whole server's during
the timed part. ITL and the peak throughput count chunks, not tokens, once the server speculates.
"""

from __future__ import annotations

from pathlib import Path

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement
from tracker.domain.server import Speculation
from tracker.importers import _identities, _jsonl, _normalise, _serving
from tracker.importers.base import ImportedRun

_OWN_KEYS = frozenset({"model_id", "duration", "completed", "total_output_tokens", "output_throughput"})
_EXTRA = (
    "burstiness",
    "request_throughput",
    "request_goodput",
    "total_token_throughput",
    "max_output_tokens_per_s",
    "max_concurrent_requests",
)
_OTHER_ENGINES = ("sglang", "tensorrt-llm", "llama.cpp", "lmdeploy", "tgi")
_PEAK = "max_output_tokens_per_s"
_TAGS = ("label", "backend", "endpoint_type", "tokenizer_id", "date")


class VllmBenchServe:
    """vLLM's serving benchmark."""

    name = "vllm_bench_serve"
    title = "vllm bench serve results, JSON, or one object a line"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the first object has the fields of this benchmark."""
        value = _jsonl.first_object(head)
        return value is not None and value.keys() >= _OWN_KEYS

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the runs of the file, in its order.

        Raises:
            InputError: No run in it is whole, or a value is damaged.
        """
        return _serving.runs(path, _run, hint="Run the benchmark again with `--save-result`.")


def _run(fields: _jsonl.Fields, row: int | None, cut: str | None) -> ImportedRun:
    """Return one run."""
    _serving.require(fields, ("duration",), "vllm bench serve")
    spec = _speculation(fields)
    speculates = bool(fields.count("spec_decode_num_drafts"))
    cell, peak = _serving.with_peak(_measurement(fields), _PEAK, counts_chunks=speculates)
    findings = _identities.check(
        cell,
        num_steps=None if spec is None else spec.num_steps,
        position_rates=fields.numbers("spec_decode_per_position_acceptance_rates"),
    )
    model = fields.text("model_id")
    return ImportedRun(
        name=fields.text("label"),
        row=row,
        measurements=(cell,),
        requests=_serving.requests(fields, cell.concurrency),
        workload=_serving.workload(fields, cell),
        engine=_engine(fields),
        speculation=spec,
        target=None if model is None else Checkpoint(name=model.rsplit("/", 1)[-1], path=model),
        tags={key: text for key in _TAGS if (text := fields.text(key)) is not None},
        findings=(*findings, *_rate_finding(cell, fields), *peak),
        missing=cut,
    )


def _engine(fields: _jsonl.Fields) -> str:
    """Return the engine that was measured: vLLM, unless the benchmark was told that it talks to another."""
    told = fields.text("backend") or fields.text("endpoint_type") or ""
    return next((engine for engine in _OTHER_ENGINES if told.startswith(engine)), "vllm")


def _speculation(fields: _jsonl.Fields) -> Speculation | None:
    """Return the drafts per step where the counters tell; None where the file has no counters.

    vLLM writes no speculative fields for a plain server, but older versions wrote none at all: absence proves nothing.
    """
    steps, proposed = fields.count("spec_decode_num_drafts"), fields.count("spec_decode_draft_tokens")
    if steps is None:
        return None
    positions = fields.numbers("spec_decode_per_position_acceptance_rates")
    drafts = len(positions) if positions else None
    if drafts is None and steps and proposed and proposed % steps == 0:
        drafts = proposed // steps
    return Speculation(enabled=True, num_steps=drafts, num_draft_tokens=None if drafts is None else drafts + 1)


def _measurement(fields: _jsonl.Fields) -> Measurement:
    rate = _normalise.from_json(fields.number("spec_decode_acceptance_rate"), scale=0.01)
    return Measurement(
        concurrency=fields.count("max_concurrency") or None,
        requests_completed=fields.count("completed"),
        requests_failed=fields.count("failed"),
        input_tokens=fields.count("total_input_tokens"),
        output_tokens=fields.count("total_output_tokens"),
        wall_s=fields.number("duration"),
        verify_steps=fields.count("spec_decode_num_drafts"),
        accepted_drafts=fields.count("spec_decode_accepted_tokens"),
        proposed_drafts=fields.count("spec_decode_draft_tokens"),
        reported_throughput_tok_s=_normalise.from_json(fields.number("output_throughput")),
        # 0 where nothing was drafted: an accept length holds at least the bonus token.
        reported_accept_length=_normalise.from_json(fields.number("spec_decode_acceptance_length") or None),
        reported_accept_rate=rate,
        accept_rate_convention=None if rate is None else "accepted_over_proposed",
        ttft_ms=_serving.latency(fields, "ttft"),
        tpot_ms=_serving.latency(fields, "tpot"),
        itl_ms=_serving.latency(fields, "itl"),
        e2e_latency_ms=_serving.latency(fields, "e2el"),
        extra=_extra(fields),
    )


def _extra(fields: _jsonl.Fields) -> dict[str, float]:
    """Return further numbers; per-position rates one by one."""
    extra = {key: value for key in _EXTRA if (value := fields.number(key)) is not None}
    rates = fields.numbers("spec_decode_per_position_acceptance_rates") or ()
    return extra | {f"position_{index}_acceptance_rate": rate for index, rate in enumerate(rates)}


def _rate_finding(cell: Measurement, fields: _jsonl.Fields) -> tuple[Finding, ...]:
    """Return a finding when the printed rate differs from accepted over proposed."""
    printed, counted = cell.reported_accept_rate, cell.accept_rate
    if printed is None or counted is None:
        return ()
    if not _identities.differ(printed.value, counted, tolerance_fraction=_identities.TOLERANCE_FRACTION):
        return ()
    return (
        _identities.violated(
            "RATE_CONVENTION_CONTRADICTS_LENGTH",
            f"Acceptance rate {printed.value:.2%} is printed, but {cell.accepted_drafts} of {cell.proposed_drafts} "
            f"drafts are {counted:.2%}.",
            "The counts are used.",
        ),
    )


IMPORTER = VllmBenchServe()
