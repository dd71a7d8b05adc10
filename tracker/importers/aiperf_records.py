"""aiperf's `profile_export.jsonl`: one request a line, with stamps in nanoseconds and the server's drafts.

A record names its prompt by conversation and turn. Those names are drawn anew in each run, so that prompts of two runs
are told by their texts: from aiperf's `inputs.json`, which it writes beside the records, where it is there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracker.domain.finding import Finding
from tracker.domain.measurement import RequestRow
from tracker.domain.workload import Workload
from tracker.errors import InputError
from tracker.importers import _answers, _cells, _identities, _jsonl, _prompt_text, _spec_block
from tracker.importers.base import ImportedRun

_INPUTS = "inputs.json"
_TO_S = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0}
_SPAN = Finding(
    code="WALL_TIME_FROM_TIMESTAMPS",
    severity="info",
    message="Wall time runs from the first request's start to the last one's end, as the client saw them.",
)


class AiperfRecords:
    """aiperf's request records."""

    name = "aiperf_records"
    title = "aiperf profile_export.jsonl, one request a line"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the first object is a request record of aiperf."""
        value = _jsonl.first_value(head)
        return isinstance(value, dict) and _is_record(value)

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the one run of the profiling phase; warm-up requests are left out.

        Raises:
            InputError: No record in it is whole, or a line is damaged.
        """
        rows: list[RequestRow] = []
        drafts: set[int] = set()
        span_ns: list[int] = []
        cut = engine = None
        prompts = _prompts(path.parent / _INPUTS)
        for entry in _jsonl.entries(path):
            if entry.cut is not None:
                cut = entry.cut
                continue
            if not isinstance(entry.value, dict) or not _is_record(entry.value):
                raise InputError("this is no aiperf record", where=f"{path}:{entry.line}", hint="Remove that line.")
            fields = _jsonl.Fields(data=entry.value, where=f"{path}:{entry.line}")
            metadata = fields.inner("metadata")
            if metadata.text("benchmark_phase") == "warmup":
                continue
            rows.append(_row(fields, metadata, drafts, prompts))
            span_ns += [stamp for key in ("request_start_ns", "request_end_ns") if (stamp := _stamp(metadata, key))]
            block = fields.data.get("spec_decode_acceptance")
            engine = block.get("engine") if isinstance(block, dict) and isinstance(block.get("engine"), str) else engine
        if not rows:
            raise InputError(
                "no record in it is whole" + (f": {cut}" if cut else ""), where=str(path), hint="Copy the file again."
            )
        return (_run(rows, span_ns, drafts, engine, cut),)


def _is_record(value: Mapping[str, Any]) -> bool:
    metadata = value.get("metadata")
    return isinstance(metadata, dict) and "request_start_ns" in metadata and "metrics" in value


def _prompts(path: Path) -> dict[tuple[str, int], str]:
    """Return the keys of the prompts that aiperf sent, by conversation and turn; empty without a whole `inputs.json`.

    Layout: `{"data": [{"session_id": ..., "payloads": [one request's body a turn]}]}` (aiperf 0.13 and 0.14).
    """
    if not path.is_file():
        return {}
    document = _jsonl.whole_document(path)
    sessions = document.get("data") if isinstance(document, dict) else None
    found: dict[tuple[str, int], str] = {}
    for session in sessions if isinstance(sessions, list) else []:
        name = session.get("session_id") if isinstance(session, dict) else None
        payloads = session.get("payloads") if isinstance(session, dict) else None
        for turn, payload in enumerate(payloads if isinstance(payloads, list) else []):
            key = _prompt_text.of_request(payload)
            if isinstance(name, str) and key is not None:
                found[name, turn] = key
    return found


def _row(
    fields: _jsonl.Fields, metadata: _jsonl.Fields, drafts: set[int], prompts: Mapping[tuple[str, int], str]
) -> RequestRow:
    """Return one request."""
    metrics = fields.inner("metrics") if isinstance(fields.data.get("metrics"), dict) else None
    block = fields.data.get("spec_decode_acceptance")
    counts: dict[str, Any] = {}
    if isinstance(block, dict):
        inner = fields.inner("spec_decode_acceptance")
        counts = _spec_block.counts(inner)
        if (number := inner.count("num_spec_tokens")) is not None:
            drafts.add(number)
    error = fields.data.get("error")
    if isinstance(error, dict):
        error = error.get("message") or error.get("type") or "error"
    cancelled = metadata.data.get("was_cancelled") is True
    inputs = _value(metrics, "input_sequence_length")
    turn = metadata.count("turn_index")
    place = (metadata.text("conversation_id") or "", 0 if turn is None else turn)
    return RequestRow(
        prompt_key=prompts.get(place, _answers.weak_key(None, None if inputs is None else round(inputs))),
        input_tokens=None if inputs is None else round(inputs),
        output_tokens=None if (tokens := _value(metrics, "output_sequence_length")) is None else round(tokens),
        latency_s=_seconds(metrics, "request_latency"),
        ttft_s=_seconds(metrics, "time_to_first_token"),
        error=str(error)[: _answers.MAX_ERROR_LENGTH] if error else "cancelled" if cancelled else None,
        **counts,
    )


def _value(metrics: _jsonl.Fields | None, tag: str) -> float | None:
    if metrics is None or not isinstance(metrics.data.get(tag), dict):
        return None
    value = metrics.inner(tag).number("value")
    return value if value is not None and value < _jsonl.MAX_COUNT else None


def _seconds(metrics: _jsonl.Fields | None, tag: str) -> float | None:
    """Return a metric in seconds; None when its unit is none of time."""
    value = _value(metrics, tag)
    if value is None or metrics is None:
        return None
    scale = _TO_S.get(str(metrics.inner(tag).data.get("unit")))
    return None if scale is None else value * scale


def _stamp(metadata: _jsonl.Fields, key: str) -> int | None:
    value = metadata.data.get(key)
    return value if type(value) is int and 0 < value < 2**63 else None


def _run(
    rows: list[RequestRow], span_ns: list[int], drafts: set[int], engine: str | None, cut: str | None
) -> ImportedRun:
    """Return the run of the requests."""
    timed = len(span_ns) == 2 * len(rows) and max(span_ns) > min(span_ns)
    passes = [_cells.Pass(concurrency=None, repeat=0, wall_s=(max(span_ns) - min(span_ns)) / 1e9)] if timed else []
    cells = _cells.build(rows, passes)
    spec = _spec_block.speculation(drafts) or _spec_block.seen(cells.measurements)
    identities = [
        finding
        for cell in cells.measurements
        for finding in _identities.check(cell, num_steps=None if spec is None else spec.num_steps)
    ]
    return ImportedRun(
        measurements=cells.measurements,
        requests=tuple(rows),
        workload=_workload(rows),
        engine=engine,
        speculation=spec,
        findings=(*cells.findings, *((_SPAN,) if timed else ()), *_identities.merge(identities)),
        missing=cut,
    )


def _workload(rows: list[RequestRow]) -> Workload:
    """Return the workload; weak keys of token counts alone would make unequal prompt sets equal."""
    workload = _cells.workload(rows)
    if all(row.prompt_key is not None and not row.prompt_key.startswith("weak:") for row in rows):
        return workload
    return dataclasses.replace(workload, prompts=None, prompt_set_digest=None)


IMPORTER = AiperfRecords()
