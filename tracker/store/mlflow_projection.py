"""A record as MLflow's searchable parameters, metrics and tags. Pure; `record.json` stays the truth.

Parameters hold what was set: `server.*` as resolved by the server, `speculation.*`, `workload.*`, `drafter.*`,
`target.*`, `train.*`. Metrics over concurrency use it as their step under `bench/`, so that the UI draws a curve; the
same numbers at one concurrency stand flat beside them. Tags are what people filter on and may correct.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tracker.domain.measurement import Latency, Measurement
from tracker.domain.record import RunRecord
from tracker.domain.server import ServerConfig
from tracker.store.mlflow_flags import FLAGS_THAT_MATTER
from tracker.store.mlflow_names import MAX_PARAM, MAX_RUN_NAME, MAX_TAG, Names, safe_key, shortened

LATENCIES = ("ttft_ms", "tpot_ms", "itl_ms", "e2e_latency_ms")
COUNTS = ("requests_completed", "requests_failed", "output_tokens", "verify_steps")
SUMMARY = ("output_throughput_tok_s", "accept_length", "accept_rate", "step_time_ms")
CHECKPOINT_FACTS = (
    "name", "path", "revision", "kind", "architecture", "hidden_size", "num_hidden_layers", "vocab_size",
    "draft_vocab_size", "max_position_embeddings", "vocabulary_coverage_fraction",
)  # fmt: skip
TRAINING_METRICS = ("samples", "tokens", "unique_samples", "samples_seen", "optimizer_steps", "epochs")
SEVERITIES = ("error", "warning", "info")
CHANGED_AT = "tracker.changed_at"
"""Tag: when the record last changed, as text that sorts by time; the store raises it to the moment of the writing.
MLflow compares no times that can be changed later, yet it sorts by a tag; so what is new is read newest first until it
is old enough."""
SHOWN_DIGITS = 6
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
FULL_RECORD = "record.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricValue:
    """One number for MLflow."""

    key: str
    """Safe key."""
    value: float
    """Finite number of 6 significant digits (whole numbers in full), or NaN in a training history that diverged."""
    step: int = 0
    """Concurrency, optimizer step or draft position; 0 for a flat value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """What MLflow shows and searches of one record."""

    run_name: str
    """Run name of at most 250 characters."""
    params: Mapping[str, str]
    """Parameters by safe key."""
    metrics: tuple[MetricValue, ...]
    """All metrics."""
    tags: Mapping[str, str]
    """Tags by safe key; the store adds digests, the description and the model id."""


def project(record: RunRecord, *, decision_concurrency: int | None = None) -> Projection:
    """Return the projection of a record.

    Args:
        record: The record.
        decision_concurrency: The load that matters to the campaign. The flat summary values are those at this
            concurrency where it was measured, else at the lowest one measured; tag `tracker.summary_concurrency` says.
    """
    param_names, metric_names = Names(), Names()
    params = {
        param_names.key(name): shortened(text, MAX_PARAM, where=FULL_RECORD)
        for name, text in _params(record)
        if text != ""
    }
    metrics = tuple(_metrics(record, metric_names, decision_concurrency))
    tags = dict(_tags(record, decision_concurrency))
    renamed = {**param_names.changed, **metric_names.changed}
    if renamed:
        tags["tracker.original_names"] = shortened(json.dumps(renamed, ensure_ascii=False), MAX_TAG, where=FULL_RECORD)
    return Projection(
        run_name=shortened(record.name, MAX_RUN_NAME, where="tag tracker.name"),
        params=params,
        metrics=metrics,
        tags={key: shortened(value, MAX_TAG, where=FULL_RECORD) for key, value in tags.items()},
    )


def summary_cell(record: RunRecord, decision_concurrency: int | None = None) -> Measurement | None:
    """Return the pooled cell at the decision concurrency, else at the lowest concurrency; None without cells."""
    cells = record.pooled()
    wanted = (cell for cell in cells if decision_concurrency is not None and cell.concurrency == decision_concurrency)
    return next(wanted, cells[0] if cells else None)


def step_time_ms(cell: Measurement) -> float | None:
    """Return the mean time of one verify step at this load, from counts; None without them."""
    if cell.busy_s is None or not cell.verify_steps:
        return None
    return 1000 * cell.busy_s / cell.verify_steps


def flags_digest(server: ServerConfig) -> str:
    """Return the SHA-256 of all flags, as resolved where the server said, else as typed."""
    flags = {**server.typed, **server.arguments}
    return hashlib.sha256(
        json.dumps(flags, sort_keys=True, default=str).encode("utf-8", "backslashreplace")
    ).hexdigest()


def changed_at(record: RunRecord) -> str:
    """Return when the record last changed, UTC, as text that sorts by time."""
    return sortable(max(record.provenance.logged_at, *(amendment.at for amendment in record.amendments), EARLIEST))


def written_at(changed: str) -> str:
    """Return what the tag `tracker.changed_at` of a run says that is written now: this moment, or later.

    The clock is read here, as MLflow's client reads it for its own times: what matters is when the store is told.

    Args:
        changed: Earliest time that it may say.
    """
    return max(sortable(datetime.now(UTC)), changed)


def sortable(moment: datetime) -> str:
    """Return a time as text of one width, UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def as_text(value: Any) -> str:
    """Return a parameter's value as people write it: `true`, `1, 8, 32`, compact JSON for what has parts."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple) and all(isinstance(item, str | int | float) for item in value):
        return ", ".join(as_text(item) for item in value)
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=dict)
    return str(value)


def _params(record: RunRecord) -> Iterator[tuple[str, str]]:
    if record.server is not None:
        yield from _facts("server", {"engine": record.server.engine, "version": record.server.version})
        flags = {*FLAGS_THAT_MATTER, *record.server.typed}
        yield from _facts("server", {name: record.server.get(name) for name in sorted(flags)})
    yield from _facts("server", {"cuda_graph": record.cuda_graph})
    yield from _facts("speculation", _fields(record.speculation))
    yield from _facts("workload", _fields(record.workload))
    yield from _facts("hw", _fields(record.hardware))
    for kind, checkpoint in (("target", record.target), ("drafter", record.drafter)):
        yield from _facts(kind, _fields(checkpoint, only=CHECKPOINT_FACTS))
    if record.training is not None:
        given = _fields(record.training)
        for name in ("history", "hyperparameters", "cost"):
            given.pop(name)
        yield from _facts("train", {**given, **_fields(record.training.cost)})
        yield from _facts("train", record.training.hyperparameters)


def _facts(prefix: str, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if value is not None and value != ():
            yield f"{prefix}.{name}", as_text(value)


def _fields(value: Any, only: Iterable[str] | None = None) -> dict[str, Any]:
    if value is None:
        return {}
    names = [field.name for field in dataclasses.fields(value)] if only is None else list(only)
    return {name: getattr(value, name) for name in names}


def _metrics(record: RunRecord, names: Names, decision_concurrency: int | None) -> Iterator[MetricValue]:
    summary = summary_cell(record, decision_concurrency)
    if summary is not None:
        yield from _finite(names, ((name, value, 0) for name, value in _headline(summary)))
        rates = summary.position_rates or ()
        yield from _finite(names, (("position/accept_rate", rate, i) for i, rate in enumerate(rates, start=1)))
    for cell in record.pooled():
        step = cell.concurrency or 0
        yield from _finite(names, ((f"bench/{name}", value, step) for name, value in _cell_values(cell)))
        yield from _finite(names, ((f"bench_extra/{name}", value, step) for name, value in cell.extra.items()))
    for cell in record.measurements:
        if cell.category is not None and cell.repeat is None:
            step, group = cell.concurrency or 0, f"category/{cell.category.replace('/', '_')}"
            yield from _finite(names, ((f"{group}/{name}", value, step) for name, value in _headline(cell)))
    yield from _training_metrics(record, names)


def _training_metrics(record: RunRecord, names: Names) -> Iterator[MetricValue]:
    if record.training is None:
        return
    # An amendment of the sample count is a later step: MLflow shows the value of the last one.
    amended = len(record.amendments)
    values = _fields(record.training, only=TRAINING_METRICS) | _fields(record.training.cost)
    yield from _finite(names, ((f"train/{name}", value, amended) for name, value in values.items()))
    accuracies = record.training.validation_position_accuracy or ()
    yield from _finite(names, (("position/validation_accuracy", v, i) for i, v in enumerate(accuracies, start=1)))
    for point in record.training.history:
        group = "" if "/" in point.name else "history/"
        if not math.isinf(point.value):
            yield MetricValue(key=names.key(f"{group}{point.name}"), value=point.value, step=point.step)


def _finite(names: Names, values: Iterable[tuple[str, float | None, int]]) -> Iterator[MetricValue]:
    for name, value, step in values:
        if value is not None and math.isfinite(value):
            yield MetricValue(key=names.key(name), value=_shown(float(value)), step=step)


def _shown(value: float) -> float:
    """Return the number as MLflow's narrow columns can show it; the record keeps all digits."""
    return value if value.is_integer() else float(f"{value:.{SHOWN_DIGITS}g}")


def _headline(cell: Measurement) -> Iterator[tuple[str, float | None]]:
    yield "output_throughput_tok_s", cell.output_throughput_tok_s
    yield "accept_length", cell.accept_length
    yield "accept_rate", cell.accept_rate
    yield "step_time_ms", step_time_ms(cell)


def _cell_values(cell: Measurement) -> Iterator[tuple[str, float | None]]:
    yield from _headline(cell)
    for name in LATENCIES:
        latency: Latency | None = getattr(cell, name)
        for part, value in _fields(latency).items():
            yield f"{name.removesuffix('_ms')}_{part}", value
    for name in COUNTS:
        yield name, getattr(cell, name)


def _tags(record: RunRecord, decision_concurrency: int | None) -> Iterator[tuple[str, str]]:
    server, hardware, provenance = record.server, record.hardware, record.provenance
    summary = summary_cell(record, decision_concurrency)
    given: dict[str, Any] = {
        "tracker.schema": record.schema_version,
        "tracker.version": provenance.tracker_version,
        "tracker.kind": record.kind,
        "tracker.role": record.role,
        "tracker.record_id": record.record_id,
        "tracker.supersedes": record.supersedes,
        "tracker.logged_at": provenance.logged_at.isoformat(),
        CHANGED_AT: changed_at(record),
        "tracker.importer": provenance.importer,
        "tracker.summary_concurrency": None if summary is None else summary.concurrency,
        "tracker.name": record.name if len(record.name) > MAX_RUN_NAME else None,
        "validity": record.validity,
        "validity_reason": record.validity_reason,
        "drafter.name": None if record.drafter is None else record.drafter.name,
        "drafter.digest": None if record.drafter is None else record.drafter.identity,
        "target.name": None if record.target is None else record.target.name,
        "engine": None if server is None else server.engine,
        "engine.version": None if server is None else server.version,
        "flags.sha256": None if server is None else flags_digest(server),
        "hw.gpu": None if hardware is None else hardware.gpu,
        "hw.count": None if hardware is None else hardware.gpu_count,
        "mlflow.user": provenance.logged_by,
        "mlflow.source.name": "tracker log-run",
        "mlflow.source.git.commit": provenance.git_commit,
    }
    yield from ((key, as_text(value)) for key, value in given.items() if value is not None)
    for severity in reversed(SEVERITIES):  # the gravest is written last and stays
        yield from ((f"finding.{safe_key(f.code)}", severity) for f in record.findings if f.severity == severity)
    user_names = Names()
    yield from ((user_names.key(f"user.{key}"), value) for key, value in record.tags.items())
