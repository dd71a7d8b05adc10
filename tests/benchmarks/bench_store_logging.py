"""Logging a run, beside the fewest calls of MLflow's client with the same content, and one fluent call a value."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks import many_runs
from tests.benchmarks.result import Benchmark, Result
from tests.benchmarks.serving import serving
from tracker.domain.record import LoggedRun
from tracker.store import codec, mlflow_write
from tracker.store.mlflow_open import configure_mlflow, open_store
from tracker.store.mlflow_store import MlflowStore

ROUNDS = 96
FILLED = 200
FLUENT_ROUNDS = 3
PROMISED_OVER_FEWEST = 1.2
PROMISED_UNDER_FLUENT = 5.0


def _run(folder: Path, scale: float) -> Iterator[Result]:
    """Yield both ratios for an embedded store and for a server, each way in turn with the others."""
    configure_mlflow(os.environ)
    embedded = open_store(environ={}, data_dir=folder / "data", cache_dir=folder / "cache")
    many_runs.fill(embedded, folder / "data" / "mlflow.db", FILLED)
    yield from _ratios("SQLite", embedded, scale, first=FILLED)
    with serving(folder / "data" / "mlflow.db", folder / "data" / "artifacts", folder / "server") as address:
        yield from _ratios("HTTP", open_store(address, environ={}, cache_dir=folder / "cache"), scale, first=2000)


def _ratios(where: str, store: MlflowStore, scale: float, *, first: int) -> Iterator[Result]:
    rounds = max(round(ROUNDS * scale), 2)
    ways: dict[str, Callable[[MlflowStore, LoggedRun], float]] = {"ours": _ours, "fewest": _fewest}
    times: dict[str, list[float]] = {"ours": [], "fewest": [], "fluent": []}
    fresh = (run for number, run in enumerate(many_runs.runs(10_000)) if number >= first)
    for run in [next(fresh) for _ in range(4)]:  # warm
        _ours(store, run)
        _fewest(store, run)
    for number in range(rounds):
        for name in sorted(ways, reverse=bool(number % 2)):
            times[name].append(ways[name](store, next(fresh)))
        if number < FLUENT_ROUNDS:
            times["fluent"].append(_fluent(store, next(fresh)))
    ours, fewest, fluent = (statistics.median(times[name]) for name in ("ours", "fewest", "fluent"))
    yield Result(
        what=f"logging a run, {where}, median of {rounds}", value=1000 * ours, unit="ms",
        beside="fewest calls of MLflow's client", beside_value=1000 * fewest,
    )  # fmt: skip
    pairs = [mine / theirs for mine, theirs in zip(times["ours"], times["fewest"], strict=True)]
    yield Result(
        what=f"logging a run, {where}, over the fewest calls, median of pairs", value=statistics.median(pairs),
        unit="times", at_most=PROMISED_OVER_FEWEST,
    )  # fmt: skip
    yield Result(
        what=f"one fluent call a value, {where}, over logging a run", value=fluent / ours, unit="times",
        at_least=PROMISED_UNDER_FLUENT,
    )  # fmt: skip


def _ours(store: MlflowStore, run: LoggedRun) -> float:
    start = time.perf_counter()
    store.save(run)
    return time.perf_counter() - start


def _prepared(store: MlflowStore, run: LoggedRun) -> tuple[mlflow_write.Prepared, Any]:
    prepared = mlflow_write.prepare(run, content_sha256=codec.content_digest(run), decision_concurrency=None)
    return prepared, store._client.get_experiment(store.experiment_id(run.record.experiment))


def _written(files: dict[str, bytes], folder: str) -> None:
    for name, content in files.items():
        target = Path(folder) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _fewest(store: MlflowStore, run: LoggedRun) -> float:
    """Return the time of the calls alone: what to write is worked out before, and nothing guards against copies."""
    from mlflow.entities import DatasetInput, InputTag, LoggedModelInput, Param, RunTag

    prepared, experiment = _prepared(store, run)
    model_id = mlflow_write.drafter_model(store._client, run.record, experiment, source_run_id=None)
    dataset = mlflow_write.dataset_of(run.record)
    metrics = [mlflow_write._metric(value, run.record, model_id, dataset) for value in prepared.projection.metrics]
    params = [Param(key, value) for key, value in prepared.projection.params.items()]
    client = store._client
    start = time.perf_counter()
    tags = [RunTag("tracker.complete", "true")]
    run_id = mlflow_write.create_run(client, prepared, experiment.experiment_id).info.run_id
    models = None if model_id is None else [LoggedModelInput(model_id)]
    inputs = None if dataset is None else [DatasetInput(dataset, [InputTag("mlflow.data.context", "benchmark")])]
    client.log_inputs(run_id, datasets=inputs, models=models)
    with tempfile.TemporaryDirectory() as folder:
        _written(prepared.files, folder)
        client.log_artifacts(run_id, folder)
    client.log_batch(run_id, metrics=metrics, params=params, tags=tags)
    client.set_terminated(run_id)
    return time.perf_counter() - start


def _fluent(store: MlflowStore, run: LoggedRun) -> float:
    import mlflow

    prepared, experiment = _prepared(store, run)
    mlflow.set_tracking_uri(store.uri)
    with tempfile.TemporaryDirectory() as folder:
        _written(prepared.files, folder)
        start = time.perf_counter()
        with mlflow.start_run(experiment_id=experiment.experiment_id, run_name=run.record.name):
            for key, tag in prepared.tags.items():
                mlflow.set_tag(key, tag)
            for key, param in prepared.projection.params.items():
                mlflow.log_param(key, param)
            for value in prepared.projection.metrics:
                mlflow.log_metric(value.key, value.value, step=value.step)
            for name in prepared.files:
                mlflow.log_artifact(str(Path(folder) / name), str(Path(name).parent) if "/" in name else None)
        return time.perf_counter() - start


BENCHMARK: Benchmark = _run
