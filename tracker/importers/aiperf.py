"""aiperf's JSON exports: one run, or the aggregate over repeated runs with its confidence interval."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, Reported
from tracker.domain.workload import Workload
from tracker.errors import InputError
from tracker.importers import _aiperf, _identities, _jsonl, _spec_block
from tracker.importers.base import ImportedRun

_METRICS = ("output_token_throughput", "request_throughput", "request_latency")
_AGGREGATE_SUFFIX = "_avg"


class Aiperf:
    """aiperf's JSON exports."""

    name = "aiperf"
    title = "aiperf profile_export_aiperf.json, or the aggregate over its repeats"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the object holds aiperf's metrics with unit and statistics."""
        value = _jsonl.first_value(head)
        if not isinstance(value, dict):
            return False
        return _is_aggregate(value) or any(_has_unit(value.get(tag)) for tag in _METRICS)

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the one run.

        Raises:
            InputError: The file is cut, or a value is damaged.
        """
        value = _jsonl.whole_document(path)
        if not isinstance(value, dict):
            raise InputError("the file is no whole JSON", where=str(path), hint="aiperf writes it when it ends.")
        fields = _jsonl.Fields(data=value, where=str(path))
        if _is_aggregate(value):
            return (_aggregate(fields),)
        if not any(isinstance(value.get(tag), dict) for tag in _METRICS):
            raise InputError("the export holds no metrics", where=str(path), hint="Did every request fail?")
        return (_single(fields),)


def _has_unit(value: Any) -> bool:
    return isinstance(value, dict) and "unit" in value


def _is_aggregate(value: Mapping[str, Any]) -> bool:
    metadata, metrics = value.get("metadata"), value.get("metrics")
    return isinstance(metadata, dict) and metadata.get("aggregation_type") == "confidence" and isinstance(metrics, dict)


def _single(fields: _jsonl.Fields) -> ImportedRun:
    """Return the run of one export."""
    config = [fields.data.get("input_config"), fields.data.get("run_info")]
    cell = _aiperf.measurement(
        _aiperf.Metrics(fields.data, fields.where),
        concurrency=_aiperf.streams(config),
        histogram=_spec_block.histogram(fields, "pooled_spec_decode_acceptance_histogram"),
    )
    return ImportedRun(
        measured_at=_moment(fields.text("start_time")),
        measurements=(cell,),
        workload=_workload(fields.data, cell),
        speculation=_spec_block.seen((cell,)),
        tags=_tags(fields),
        findings=_identities.check(cell),
        missing=_incomplete(fields),
    )


def _workload(data: Mapping[str, Any], cell: Measurement) -> Workload:
    config = data.get("input_config")
    rate, seed = _aiperf.setting(config, "request_rate"), _aiperf.setting(data.get("run_info"), "random_seed")
    done = cell.requests_completed
    return Workload(
        input_tokens_mean=cell.input_tokens / done if cell.input_tokens is not None and done else None,
        output_tokens_mean=cell.output_tokens / done if cell.output_tokens is not None and done else None,
        concurrencies=() if cell.concurrency is None else (cell.concurrency,),
        request_rate_per_s=float(rate) if isinstance(rate, int | float) and 0 < rate < _jsonl.MAX_COUNT else None,
        seed=seed if isinstance(seed, int) else None,
    )


def _tags(fields: _jsonl.Fields) -> dict[str, str]:
    names = ("aiperf_version", "benchmark_id")
    tags = {name: text for name in names if (text := fields.text(name)) is not None}
    endpoint = fields.data.get("input_config")
    models = endpoint.get("endpoint") if isinstance(endpoint, dict) else None
    named = models.get("model_names") if isinstance(models, dict) else None
    if isinstance(named, list) and named and all(isinstance(name, str) for name in named):
        tags["model"] = ", ".join(named)
    return tags


def _incomplete(fields: _jsonl.Fields) -> str | None:
    """Return why a run did not end as planned; None when it did."""
    if fields.data.get("was_cancelled") is True:
        return "the benchmark was cancelled"
    if fields.data.get("is_complete") is False:
        return fields.text("incomplete_reason") or "the benchmark did not end as planned"
    return None


def _moment(text: str | None) -> datetime | None:
    """Return a start time; one without a zone is the client's local time and so no moment."""
    try:
        moment = None if text is None else datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment is None or moment.tzinfo is None else moment.astimezone(UTC)


def _aggregate(fields: _jsonl.Fields) -> ImportedRun:
    """Return the mean over repeated runs; half the confidence interval is kept beside it."""
    metadata, metrics = fields.inner("metadata"), fields.inner("metrics")
    found = _averages(metrics)
    cell = _aiperf.measurement(
        _aiperf.Metrics(found, fields.where),
        concurrency=_aiperf.streams(metadata.data.get("variation_values")),
        histogram=None,
    )
    throughput = cell.reported_throughput_tok_s
    runs = metadata.count("num_successful_runs")
    failed = metadata.data.get("failed_runs")
    finding = Finding(
        code="MEAN_OVER_REPEATS",
        severity="info",
        message=f"Every number is the mean over {runs} repeated runs; single runs are in their own exports.",
        fix="Log the exports of the single runs to keep their spread.",
    )
    # Totals of a mean run do not add up to anything that happened.
    mean = Measurement(
        concurrency=cell.concurrency,
        reported_throughput_tok_s=None if throughput is None else Reported(value=throughput.value),
        reported_accept_length=cell.reported_accept_length,
        reported_accept_rate=cell.reported_accept_rate,
        accept_rate_convention=cell.accept_rate_convention,
        ttft_ms=cell.ttft_ms,
        tpot_ms=cell.tpot_ms,
        itl_ms=cell.itl_ms,
        e2e_latency_ms=cell.e2e_latency_ms,
        extra={**cell.extra, **_intervals(metrics), **({} if runs is None else {"repeats": float(runs)})},
    )
    return ImportedRun(
        name=metadata.text("variation_label"),
        measurements=(mean,),
        workload=Workload(concurrencies=() if cell.concurrency is None else (cell.concurrency,)),
        speculation=_spec_block.seen((mean,)),
        tags=_tags(fields),
        findings=(*_identities.check(mean), finding),
        missing=f"{len(failed)} of the repeated runs failed" if isinstance(failed, list) and failed else None,
    )


def _averages(metrics: _jsonl.Fields) -> dict[str, dict[str, Any]]:
    """Return the aggregate as if it were one export: `time_to_first_token_p99.mean` becomes that metric's `p99`."""
    found: dict[str, dict[str, Any]] = {}
    for key, value in metrics.data.items():
        if not isinstance(value, dict):
            continue
        tag, _, statistic = key.rpartition("_")
        if statistic not in ("avg", "p50", "p90", "p99"):
            tag, statistic = key, "avg"
        found.setdefault(tag, {})[statistic] = value.get("mean")
        found[tag].setdefault("unit", value.get("unit"))
    return found


def _intervals(metrics: _jsonl.Fields) -> dict[str, float]:
    """Return the interval of the mean throughput."""
    for key in (f"output_token_throughput{_AGGREGATE_SUFFIX}", "output_token_throughput"):
        if isinstance(metrics.data.get(key), dict):
            value = metrics.inner(key)
            found = {f"output_token_throughput_{name}": value.number(name) for name in ("ci_low", "ci_high", "std")}
            return {name: number for name, number in found.items() if number is not None}
    return {}


IMPORTER = Aiperf()
