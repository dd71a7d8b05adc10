"""One reading of an inference server's `/metrics`: its counters since the start, summed over ranks.

A single reading covers everything the server did, warm-up and other clients included. A run's own numbers are the
growth between two readings, which a folder with both gives.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, Reported
from tracker.domain.server import Speculation
from tracker.errors import InputError
from tracker.importers import _counters, _identities, _source
from tracker.importers.base import ImportedRun

_SINCE_START = Finding(
    code="COUNTERS_SINCE_START",
    severity="info",
    message="The counters cover everything since the server started, warm-up and other clients included.",
    fix="Fetch /metrics before and after the run and log the folder with both.",
)
_VLLM = "vllm:spec_decode_"


class Prometheus:
    """Metrics text of SGLang and vLLM servers."""

    name = "prometheus"
    title = "Prometheus text of a vLLM or SGLang server's /metrics, one reading"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the text is Prometheus exposition with a server's metrics."""
        return _counters.looks_like(head)

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the one run that the counters sum up.

        Raises:
            InputError: The text is damaged, or of no inference server. A server that has answered nothing yet counts
                nothing: its reading is the one before a run.
        """
        samples = _counters.samples(path)
        if any(sample.name.startswith(_VLLM) for sample in samples):
            return (dataclasses.replace(_vllm(samples), missing=_counters.cut(path)),)
        tokens = _total(samples, "sglang:generation_tokens_total")
        if tokens is None:
            tokens = _total(samples, "vllm:generation_tokens_total")
        steps = _total(samples, "sglang:spec_verify_calls_total")
        if tokens is None and not _counters.looks_like(_source.read_head(path)):
            raise InputError(
                "the metrics are of no inference server", where=str(path), hint="Fetch `/metrics` of the server."
            )
        engine = "vllm" if any(sample.name.startswith("vllm:") for sample in samples) else "sglang"
        cell = Measurement(
            output_tokens=tokens,
            verify_steps=steps,
            reported_accept_length=Reported(value=tokens / steps) if steps and tokens is not None else None,
        )
        spec = Speculation(enabled=True) if steps else None
        return (
            ImportedRun(
                measurements=(cell,),
                engine=engine,
                speculation=spec,
                findings=(_SINCE_START,),
                missing=_counters.cut(path),
            ),
        )


def _vllm(samples: Iterable[_counters.Sample]) -> ImportedRun:
    """Return the run of vLLM's draft counters."""
    samples = tuple(samples)
    steps, proposed = _total(samples, f"{_VLLM}num_drafts_total"), _total(samples, f"{_VLLM}num_draft_tokens_total")
    positions = _positions(samples)
    drafts = len(positions) or None
    cell = Measurement(
        output_tokens=_total(samples, "vllm:generation_tokens_total"),
        verify_steps=steps,
        accepted_drafts=_total(samples, f"{_VLLM}num_accepted_tokens_total"),
        proposed_drafts=proposed,
    )
    rates = [count / steps for count in positions] if steps else None
    return ImportedRun(
        measurements=(cell,),
        engine="vllm",
        speculation=Speculation(
            enabled=True, num_steps=drafts, num_draft_tokens=None if drafts is None else drafts + 1
        ),
        findings=(_SINCE_START, *_identities.check(cell, num_steps=drafts, position_rates=rates)),
    )


def _total(samples: Iterable[_counters.Sample], name: str) -> int | None:
    """Return a counter summed over its label sets; None when it is not there."""
    values = [sample.value for sample in samples if sample.name == name]
    return int(sum(values)) if values and 0 <= sum(values) < 2**53 else None


def _positions(samples: Iterable[_counters.Sample]) -> tuple[int, ...]:
    """Return accepted drafts per position, summed over label sets; empty unless all positions from 0 are there."""
    counts: dict[int, int] = {}
    for sample in samples:
        position = sample.labels.get("position", "")
        if sample.name == f"{_VLLM}num_accepted_tokens_per_pos_total" and position.isdecimal():
            counts[int(position)] = counts.get(int(position), 0) + int(sample.value)
    return tuple(counts[index] for index in range(len(counts))) if sorted(counts) == list(range(len(counts))) else ()


IMPORTER = Prometheus()
