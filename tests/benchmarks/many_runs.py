"""Ten thousand runs as a team has them after two years of nightly benchmarks, made at once.

Every run goes through the same `mlflow_write` that stores any other run; only the client under it is another one, which
writes rows into MLflow's database instead of objects through its session. `tests/store/test_many_runs.py` holds both
ways to the same rows.
"""

from __future__ import annotations

import hashlib
import random
import sqlite3
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.measurement import Latency, Measurement, RequestRow
from tracker.domain.provenance import InputFile, Provenance
from tracker.domain.record import LoggedRun, RunRecord
from tracker.domain.server import ServerConfig, Speculation
from tracker.domain.workload import Hardware, Workload
from tracker.store import codec, mlflow_write
from tracker.store.mlflow_projection import CHANGED_AT, sortable
from tracker.store.mlflow_store import MlflowStore

FIRST_NIGHT = datetime(2024, 12, 1, 2, 0, tzinfo=UTC)
LOADS = (1, 8, 32)
CATEGORIES = ("code", "math", "prose")
DRAFTERS = (None, "d10000", "d30000", "d100000", "d300000")
STEPS = (2, 3, 5)
RUNS_A_NIGHT = 1 + (len(DRAFTERS) - 1) * len(STEPS)
PROMPTS = 8
FLAGS = 300
_NO_PARAMS_AT_ONCE = 500


def runs(count: int, experiment: str = "nightly", *, with_rows: bool = True) -> Iterator[LoggedRun]:
    """Yield runs, oldest first: every night a plain server and each drafter at each depth."""
    for index in range(count):
        night, place = divmod(index, RUNS_A_NIGHT)
        drafter, depth = (None, 0) if place == 0 else (DRAFTERS[1 + (place - 1) // 3], STEPS[(place - 1) % 3])
        yield _run(experiment, index, night, drafter, depth, with_rows=with_rows)


def fill(
    store: MlflowStore, database: Path, count: int, experiment: str = "nightly", *, with_rows: bool = True
) -> None:
    """Store runs in an embedded store: the first night through its own methods, the others at once."""
    every = runs(count, experiment, with_rows=with_rows)
    for run in (run for _, run in zip(range(RUNS_A_NIGHT), every, strict=False)):
        store.save(run)
    home = store._client.get_experiment(store.experiment_id(experiment))
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        client = BulkClient(connection, Path(home.artifact_location))
        for run in every:
            prepared = mlflow_write.prepare(run, content_sha256=codec.content_digest(run), decision_concurrency=None)
            begun = mlflow_write.create_run(client, prepared, home.experiment_id)
            mlflow_write.write(client, prepared, begun, home, meanwhile=lambda: None)
        client.flush()


class BulkClient:
    """The part of MLflow's client that storing a run uses, as rows of MLflow 3.17's tables."""

    def __init__(self, connection: sqlite3.Connection, artifacts: Path) -> None:
        self._db = connection
        self._artifacts = artifacts
        self._rows: dict[str, list[tuple[Any, ...]]] = {}
        self._datasets: dict[tuple[str, str], str] = {
            (name, digest): number
            for number, name, digest in connection.execute("SELECT dataset_uuid, name, digest FROM datasets")
        }

    def create_run(self, experiment_id: str, *, start_time: int, tags: dict[str, str], run_name: str) -> Any:
        run_id = uuid.uuid4().hex
        self._runs = {"id": run_id, "experiment": int(experiment_id), "start": start_time, "name": run_name}
        self._runs["user"] = tags.get("mlflow.user", "")
        # Two years of nights, not the minute in which they are made.
        changed = sortable(datetime.fromisoformat(tags["tracker.logged_at"]))
        self._tags = {**tags, "mlflow.runName": run_name, CHANGED_AT: changed}
        where = self._artifacts / run_id / "artifacts"
        return SimpleNamespace(info=SimpleNamespace(run_id=run_id, artifact_uri=str(where)))

    def log_inputs(self, run_id: str, datasets: Any = None, models: Any = None) -> None:
        for item in datasets or ():
            number = self._datasets[item.dataset.name, item.dataset.digest]
            link = uuid.uuid4().hex
            self._add("inputs", (link, "DATASET", number, "RUN", run_id, 0))
            for tag in item.tags:
                self._add("input_tags", (link, tag.key, tag.value))
        for model in models or ():
            self._add("inputs", (uuid.uuid4().hex, "RUN_INPUT", run_id, "MODEL_INPUT", model.model_id, 0))

    def log_batch(self, run_id: str, metrics: Any, params: Any, tags: Any) -> None:
        latest: dict[str, Any] = {}
        for item in metrics:
            self._add("metrics", (item.key, item.value, item.timestamp, run_id, item.step, 0))
            known = latest.setdefault(item.key, item)
            if (item.step, item.timestamp, item.value) > (known.step, known.timestamp, known.value):
                latest[item.key] = item
            if item.model_id is not None:
                self._add(
                    "logged_model_metrics",
                    (item.model_id, item.key, item.timestamp, item.step, item.value, self._runs["experiment"], run_id,
                     None, item.dataset_name, item.dataset_digest),
                )  # fmt: skip
        for item in latest.values():
            self._add("latest_metrics", (item.key, item.value, item.timestamp, item.step, 0, run_id))
        for item in params:
            self._add("params", (item.key, item.value, run_id))
        self._tags |= {tag.key: tag.value for tag in tags if tag.key != CHANGED_AT}

    def set_terminated(self, run_id: str, *, status: str, end_time: int) -> None:
        run = self._runs
        where = str(self._artifacts / run_id / "artifacts")
        self._add(
            "runs",
            (run_id, run["name"], "UNKNOWN", "", "", run["user"], status, run["start"], end_time, "", "active", where,
             run["experiment"], None),
        )  # fmt: skip
        for key, value in self._tags.items():
            self._add("tags", (key, value, run_id))
        if len(self._rows["runs"]) >= _NO_PARAMS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what was gathered."""
        for table in sorted(self._rows, key=lambda name: name != "runs"):
            rows = self._rows[table]
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                self._db.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        self._rows.clear()
        self._db.commit()

    def _add(self, table: str, row: tuple[Any, ...]) -> None:
        self._rows.setdefault(table, []).append(row)


def _run(experiment: str, index: int, night: int, drafter: str | None, depth: int, *, with_rows: bool) -> LoggedRun:
    chance = random.Random(index)
    moment = FIRST_NIGHT + timedelta(days=night, minutes=index % RUNS_A_NIGHT * 7)
    name = "baseline" if drafter is None else f"eagle3-{drafter}-{depth}-1-{depth + 1}"
    rows = tuple(_rows(chance, drafter, depth)) if with_rows else ()
    record = RunRecord(
        record_id=hashlib.sha256(f"{experiment} {index}".encode()).hexdigest(),
        kind="benchmark",
        experiment=experiment,
        name=f"{name} {moment:%Y-%m-%d}",
        role="baseline" if drafter is None else "candidate",
        server=_server(drafter, depth, port=30_000 + chance.randrange(1000)),
        speculation=_speculation(drafter, depth),
        target=Checkpoint(name="llama-3.1-8b", kind="model", hidden_size=4096, config_digest=_sha("target")),
        drafter=None if drafter is None else Checkpoint(name=drafter, kind="eagle3", config_digest=_sha(drafter)),
        hardware=Hardware(gpu="NVIDIA H200", gpu_count=1),
        workload=Workload(
            prompt_set="nightly", prompt_set_digest=_sha("prompts"), prompts=PROMPTS, categories=CATEGORIES,
            temperature=0.0, concurrencies=LOADS,
        ),
        cuda_graph=True,
        measurements=tuple(_cells(chance, drafter, depth)),
        provenance=Provenance(
            measured_at=moment,
            logged_at=moment + timedelta(minutes=1),
            logged_by="n***",
            tracker_version="0.1.0",
            importer="sglang_responses",
            inputs=(InputFile(name="requests.jsonl", sha256=_sha(f"input {index}"), size_bytes=1234 + index),),
            command=("tracker", "bench", "http://127.0.0.1:30000"),
            git_commit=_sha(f"commit {night}")[:40],
            packages={"sglang": "0.5.17", "torch": "2.11.0"},
            scheduler={"SLURM_JOB_ID": str(400_000 + index)},
        ),
    )  # fmt: skip
    return LoggedRun(record=record, requests=rows)


def _server(drafter: str | None, depth: int, *, port: int) -> ServerConfig:
    arguments: dict[str, Any] = {f"flag_number_{number}": number if number % 3 else None for number in range(FLAGS)}
    arguments |= {"model_path": "/models/llama-3.1-8b", "tp_size": 1, "port": port, "random_seed": port * 7}
    typed: dict[str, Any] = {"model_path": "/models/llama-3.1-8b", "port": port}
    if drafter is not None:
        flags = {
            "speculative_algorithm": "EAGLE3", "speculative_draft_model_path": f"/models/{drafter}",
            "speculative_num_steps": depth, "speculative_eagle_topk": 1, "speculative_num_draft_tokens": depth + 1,
        }  # fmt: skip
        arguments |= flags
        typed |= flags
    argv = ["python", "-m", "sglang.launch_server"]
    argv += [text for key, value in typed.items() for text in (f"--{key.replace('_', '-')}", str(value))]
    return ServerConfig(
        engine="sglang", version="0.5.17", argv=tuple(argv), typed=typed, arguments=arguments,
        environment={"CUDA_VISIBLE_DEVICES": "0"}, sources=("server_info", "argv"),
    )  # fmt: skip


def _speculation(drafter: str | None, depth: int) -> Speculation:
    if drafter is None:
        return Speculation(enabled=False)
    return Speculation(
        enabled=True, algorithm="EAGLE3", num_steps=depth, eagle_topk=1, num_draft_tokens=depth + 1,
        draft_model_path=f"/models/{drafter}",
    )  # fmt: skip


def _cells(chance: random.Random, drafter: str | None, depth: int) -> Iterator[Measurement]:
    for load in LOADS:
        yield _cell(chance, drafter, depth, load, None)
    for category in CATEGORIES:
        yield _cell(chance, drafter, depth, 1, category)


def _cell(chance: random.Random, drafter: str | None, depth: int, load: int, category: str | None) -> Measurement:
    tokens = 256 * PROMPTS
    step_s = 0.0105 * (1 + 0.02 * load) * (1 if drafter is None else 1.25 + 0.05 * depth) * chance.gauss(1, 0.02)
    length = _length(drafter, depth) * chance.gauss(1, 0.01)
    steps = tokens if drafter is None else round(tokens / length)
    wall = steps * step_s / load
    latency = Latency(mean_ms=1000 * step_s, median_ms=990 * step_s, p90_ms=1100 * step_s, p99_ms=1300 * step_s)
    counts: dict[str, Any] = {}
    if drafter is not None:
        accepted = tokens - steps
        spread = [accepted // (2**position + 1) for position in range(depth + 1)]
        counts = {
            "verify_steps": steps, "accepted_drafts": accepted, "proposed_drafts": steps * depth,
            "accepted_histogram": tuple(spread),
        }  # fmt: skip
    return Measurement(
        concurrency=load, category=category, requests_completed=PROMPTS, requests_failed=0, prompts=PROMPTS,
        input_tokens=1200, output_tokens=tokens, wall_s=wall, busy_s=wall * min(load, PROMPTS),
        ttft_ms=Latency(mean_ms=chance.gauss(12, 0.3)), tpot_ms=latency, **counts,
    )  # fmt: skip


def _rows(chance: random.Random, drafter: str | None, depth: int) -> Iterator[RequestRow]:
    for load in LOADS:
        for prompt in range(PROMPTS):
            steps = 256 if drafter is None else round(256 / _length(drafter, depth) * chance.gauss(1, 0.05))
            yield RequestRow(
                prompt_key=_sha(f"prompt {prompt}")[:16], category=CATEGORIES[prompt % len(CATEGORIES)],
                concurrency=load, input_tokens=100 + prompt, output_tokens=256, latency_s=steps * 0.012,
                ttft_s=0.012, verify_steps=None if drafter is None else steps,
                accepted_drafts=None if drafter is None else 256 - steps,
                proposed_drafts=None if drafter is None else steps * depth, finish_reason="length",
            )  # fmt: skip


def _length(drafter: str | None, depth: int) -> float:
    if drafter is None:
        return 1.0
    return 1.4 + 0.25 * DRAFTERS.index(drafter) + 0.1 * depth


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
