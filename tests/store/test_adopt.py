"""Runs that a trainer wrote to MLflow itself, adopted on a real server and in an embedded database."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.store import samples
from tests.store.conftest import MakeRun
from tests.trainer_runs import SPECFORGE_0_2, SPECFORGE_POINTS
from tracker.domain.record import Amendment, RunRecord
from tracker.domain.trainer_run import TrainerRun
from tracker.errors import InputError, RunNotFoundError, StoreError
from tracker.store.base import Query
from tracker.store.copying import copy_store
from tracker.store.mlflow_adopt import Adoption
from tracker.store.mlflow_open import open_store
from tracker.store.mlflow_store import MlflowStore

AT = datetime(2026, 11, 30, 9, tzinfo=UTC)


@pytest.fixture(
    params=["sqlite", pytest.param("server", marks=pytest.mark.slow), pytest.param("postgres", marks=pytest.mark.slow)]
)
def mlflow(request: pytest.FixtureRequest) -> MlflowStore:
    found: MlflowStore = request.getfixturevalue(f"{request.param}_store")
    return found


@contextmanager
def client_of(store: MlflowStore) -> Iterator[Any]:
    with store.speaking("a test") as client:
        yield client


def write_trainer_run(store: MlflowStore, experiment: str, *, status: str = "FINISHED", **tags: str) -> str:
    """Write a run as SpecForge does: parameters at the start, metrics step by step, one artifact of the user's."""
    from mlflow.entities import Metric, Param, RunTag

    with client_of(store) as client:
        found = client.get_experiment_by_name(experiment)
        number = client.create_experiment(experiment, _artifacts_of(store)) if found is None else found.experiment_id
        created = client.create_run(number, start_time=1_763_000_000_000, run_name="kimi-eagle3-100k", tags={
            "mlflow.user": "maria", "mlflow.source.name": "specforge", "mlflow.note.content": "first try", **tags,
        })  # fmt: skip
        run_id = str(created.info.run_id)
        client.log_batch(run_id, params=[Param(key, value) for key, value in SPECFORGE_0_2.items()])
        for name, series in SPECFORGE_POINTS.items():
            values = [Metric(name, value, 1_763_000_000_000 + step, step) for step, value in series.items()]
            client.log_batch(run_id, metrics=values, tags=[RunTag("mlflow.runColor", "#000000")])
        client.log_metric(run_id, "system/gpu_0_utilization", 0.9, step=0)
        client.log_text(run_id, "a: 1\n", "config/config.yaml")
        if status != "RUNNING":
            client.set_terminated(run_id, status=status, end_time=1_763_003_600_000)
    return run_id


def _artifacts_of(store: MlflowStore) -> str | None:
    """Return a folder beside an embedded database; None leaves the place to the server."""
    if not store.uri.startswith("sqlite:///"):
        return None
    return str(Path(store.uri.removeprefix("sqlite:///")).with_name("of-the-trainer"))


def all_of(store: MlflowStore, run_id: str) -> dict[str, Any]:
    """Return everything that a run holds, metric histories and artifacts included."""
    with client_of(store) as client:
        run = client.get_run(run_id)
        paths = _paths(client, run_id, None)
        with tempfile.TemporaryDirectory() as folder:
            digests = {
                path: hashlib.sha256(Path(client.download_artifacts(run_id, path, folder)).read_bytes()).hexdigest()
                for path in paths
            }
        return {
            "name": run.info.run_name,
            "status": run.info.status,
            "start": run.info.start_time,
            "end": run.info.end_time,
            "params": dict(run.data.params),
            "metrics": {
                name: [(p.step, p.value, p.timestamp) for p in client.get_metric_history(run_id, name)]
                for name in sorted(run.data.metrics)
            },
            "tags": dict(run.data.tags),
            "artifacts": digests,
        }


def _paths(client: Any, run_id: str, folder: str | None) -> list[str]:
    found: list[str] = []
    for item in client.list_artifacts(run_id, folder):
        found += _paths(client, run_id, item.path) if item.is_dir else [item.path]
    return found


def record_of(run: TrainerRun, **changes: Any) -> RunRecord:
    made = samples.training_run(run.name).record
    return made.replace(**({"experiment": run.experiment, "record_id": samples.sha(run.run_id)} | changes))


def adopted(store: MlflowStore, run_id: str, **changes: Any) -> str:
    adoption = Adoption(store)
    return adoption.adopt(run_id, record_of(adoption.find(run_id), **changes), at=AT)


def test_a_trainers_run_is_read_with_every_point_of_its_metrics(mlflow: MlflowStore, experiment: str) -> None:
    run_id = write_trainer_run(mlflow, experiment)

    run = Adoption(mlflow).find(run_id)

    assert (run.name, run.experiment, run.status, run.has_ended) == ("kimi-eagle3-100k", experiment, "FINISHED", True)
    assert run.params == SPECFORGE_0_2
    assert run.metric_names == set(SPECFORGE_POINTS)
    assert {(p.step, p.value) for p in run.points if p.name == "train/loss"} == {(50, 4.0), (200, 2.5), (400, 1.75)}


def test_adoption_adds_and_overwrites_nothing(mlflow: MlflowStore, experiment: str) -> None:
    run_id = write_trainer_run(mlflow, experiment, engine="our own word", validity="great")
    before = all_of(mlflow, run_id)

    assert adopted(mlflow, run_id) == "adopted"

    after = all_of(mlflow, run_id)
    for part in ("name", "status", "start", "end", "params", "metrics"):
        assert after[part] == before[part]
    assert before["tags"].items() <= after["tags"].items()
    assert before["artifacts"].items() <= after["artifacts"].items()
    assert after["artifacts"].keys() - before["artifacts"].keys() == {"record.json"}
    assert after["tags"]["tracker.kind"] == "training"


def test_an_adopted_run_is_one_training_like_any_other(mlflow: MlflowStore, experiment: str) -> None:
    run_id = write_trainer_run(mlflow, experiment)
    adopted(mlflow, run_id)

    (found,) = mlflow.query(Query(experiment=experiment, kind="training"))

    assert found.run_id == run_id
    assert found.record == record_of(Adoption(mlflow).find(run_id))
    assert mlflow.load(run_id).record == found.record
    assert experiment in mlflow.experiments()
    with client_of(mlflow) as client:
        run = client.get_run(run_id)
    assert [output.step for output in run.outputs.model_outputs] == [1200]
    assert run.inputs.dataset_inputs[0].dataset.name == "py-100k"


def test_adopting_again_changes_nothing(mlflow: MlflowStore, experiment: str) -> None:
    run_id = write_trainer_run(mlflow, experiment)
    adopted(mlflow, run_id)
    before = all_of(mlflow, run_id)

    assert adopted(mlflow, run_id) == "present"

    assert all_of(mlflow, run_id) == before


def test_what_is_new_is_added_at_the_next_adoption_and_the_runs_own_tags_stay(
    mlflow: MlflowStore, experiment: str
) -> None:
    run_id = write_trainer_run(mlflow, experiment, engine="our own word", **{"finding.mine": "yes"})
    adopted(mlflow, run_id, findings=(samples.finding("TRAINING_DATA_NOT_COUNTED", severity="info"),))
    assert all_of(mlflow, run_id)["tags"]["finding.TRAINING_DATA_NOT_COUNTED"] == "info"

    assert adopted(mlflow, run_id, name="kimi-eagle3-100k", note="counted") == "updated"

    tags = all_of(mlflow, run_id)["tags"]
    assert mlflow.load(run_id).record.note == "counted"
    assert "finding.TRAINING_DATA_NOT_COUNTED" not in tags
    assert (tags["engine"], tags["finding.mine"], tags["mlflow.note.content"]) == ("our own word", "yes", "first try")


def test_a_correction_of_an_adopted_run_touches_only_what_was_added(mlflow: MlflowStore, experiment: str) -> None:
    run_id = write_trainer_run(mlflow, experiment, validity="great")
    adopted(mlflow, run_id)
    before = all_of(mlflow, run_id)

    changes = {"validity": "suspect", "training.samples": 90_000, "name": "another name", "tags.owner": "ben"}
    mlflow.amend(run_id, Amendment(at=AT + timedelta(hours=1), by="b***", changes=changes, reason="recounted"))

    after, record = all_of(mlflow, run_id), mlflow.load(run_id).record
    assert record.training is not None
    assert (record.validity, record.training.samples, record.name) == ("suspect", 90_000, "another name")
    for part in ("name", "status", "start", "end", "params", "metrics", "artifacts"):
        assert after[part] == before[part]
    assert after["tags"]["validity"] == "great"
    assert after["tags"]["mlflow.note.content"] == "first try"
    assert after["tags"]["user.owner"] == "ben"


@pytest.mark.parametrize("killed_at", ["log_batch", "set_experiment_tag", "log_artifacts", "log_inputs", "log_outputs"])
def test_a_crash_leaves_a_run_that_the_next_adoption_completes(
    sqlite_store: MlflowStore, experiment: str, killed_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    run_id = write_trainer_run(sqlite_store, experiment)
    before = all_of(sqlite_store, run_id)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, killed_at, killed)
        with pytest.raises(KeyboardInterrupt):
            adopted(sqlite_store, run_id)
    assert sqlite_store.query(Query(experiment=experiment)) == ()

    assert adopted(sqlite_store, run_id) == "adopted"

    after = all_of(sqlite_store, run_id)
    assert len(sqlite_store.query(Query(experiment=experiment))) == 1
    assert before["tags"].items() <= after["tags"].items()
    assert after["metrics"] == before["metrics"]


def test_a_run_with_a_record_of_its_own_is_refused(sqlite_store: MlflowStore, experiment: str) -> None:
    run_id = write_trainer_run(sqlite_store, experiment)
    with client_of(sqlite_store) as client:
        client.log_text(run_id, json.dumps({"mine": 1}), "record.json")
    before = all_of(sqlite_store, run_id)

    with pytest.raises(InputError, match=r"artifact record\.json of its own"):
        adopted(sqlite_store, run_id)

    assert all_of(sqlite_store, run_id) == before


def test_a_benchmark_and_its_training_are_linked_both_ways_across_experiments(
    mlflow: MlflowStore, experiment: str, make_run: MakeRun
) -> None:
    benchmark = mlflow.save(make_run("served"))
    run_id = write_trainer_run(mlflow, f"{experiment}-drafters")
    adopted(mlflow, run_id)
    adoption = Adoption(mlflow)

    for _ in range(2):
        adoption.connect(mlflow.load(run_id), benchmark)

    with client_of(mlflow) as client:
        served, trained = client.get_run(benchmark), client.get_run(run_id)
    made = [output.model_id for output in trained.outputs.model_outputs]
    assert served.data.tags["drafter.trained_by"] == run_id
    assert served.data.tags["drafter.model_id"] in made
    assert len(made) == len(set(made)) == 2


def test_runs_of_one_name_are_told_apart_by_their_ids(sqlite_store: MlflowStore, experiment: str) -> None:
    first = write_trainer_run(sqlite_store, experiment)
    write_trainer_run(sqlite_store, experiment)
    adoption = Adoption(sqlite_store)

    with pytest.raises(RunNotFoundError, match="2 runs match"):
        adoption.find("kimi-eagle3-100k")

    assert adoption.find(first[:12]).run_id == first


@pytest.mark.parametrize("wanted", ["no such run", "f" * 32, "abcd"])
def test_a_run_that_is_not_there_is_an_error_in_plain_words(sqlite_store: MlflowStore, wanted: str) -> None:
    with pytest.raises(RunNotFoundError):
        Adoption(sqlite_store).find(wanted)


def test_a_deleted_run_is_named_with_how_to_bring_it_back(sqlite_store: MlflowStore, experiment: str) -> None:
    run_id = write_trainer_run(sqlite_store, experiment)
    with client_of(sqlite_store) as client:
        client.delete_run(run_id)

    with pytest.raises(RunNotFoundError, match=f"mlflow runs restore --run-id {run_id}"):
        Adoption(sqlite_store).find(run_id)


def test_a_run_of_trackers_own_is_refused(sqlite_store: MlflowStore, make_run: MakeRun) -> None:
    run_id = sqlite_store.save(make_run())

    with pytest.raises(InputError, match=r"logged the run .* itself"):
        Adoption(sqlite_store).find(run_id)


def test_an_experiment_gives_the_runs_of_others_only(
    sqlite_store: MlflowStore, experiment: str, make_run: MakeRun
) -> None:
    sqlite_store.save(make_run())
    run_id = write_trainer_run(sqlite_store, experiment)

    found = list(Adoption(sqlite_store).find_all(experiment))

    assert [run.run_id for run in found] == [run_id]


def test_an_unknown_experiment_lists_those_there_are(sqlite_store: MlflowStore, experiment: str) -> None:
    write_trainer_run(sqlite_store, experiment)

    with pytest.raises(StoreError, match=experiment):
        list(Adoption(sqlite_store).find_all("nothing"))


def test_an_adoption_is_news_for_a_reader_who_has_read_everything(
    sqlite_store: MlflowStore, experiment: str, make_run: MakeRun
) -> None:
    sqlite_store.save(make_run())
    run_id = write_trainer_run(sqlite_store, experiment)
    assert len(sqlite_store.query(Query(experiment=experiment))) == 1

    adopted(sqlite_store, run_id)
    first = sqlite_store.query(Query(experiment=experiment, kind="training"))
    adopted(sqlite_store, run_id, note="counted")
    second = sqlite_store.query(Query(experiment=experiment, kind="training"))

    assert [run.record.note for run in (*first, *second)] == ["first try | with <b>bold</b>", "counted"]


def test_a_benchmark_of_the_same_name_is_not_meant(
    sqlite_store: MlflowStore, experiment: str, make_run: MakeRun
) -> None:
    sqlite_store.save(make_run("kimi-eagle3-100k"))
    run_id = write_trainer_run(sqlite_store, experiment)

    assert Adoption(sqlite_store).find("kimi-eagle3-100k").run_id == run_id


def test_an_adopted_training_is_copied_to_another_store_with_its_history(
    sqlite_store: MlflowStore, experiment: str, tmp_path: Path, empty_database: Path
) -> None:
    run_id = write_trainer_run(sqlite_store, experiment)
    adopted(sqlite_store, run_id)
    (tmp_path / "other").mkdir()
    shutil.copy(empty_database, tmp_path / "other" / "mlflow.db")
    other = open_store(environ={}, data_dir=tmp_path / "other")

    (outcome,) = [item for item in copy_store(sqlite_store, other) if item.run_id is not None]

    assert outcome.status == "copied"
    (found,) = other.query(Query(experiment=experiment))
    assert found.record == sqlite_store.load(run_id).record
    assert Adoption(sqlite_store).find(run_id).status == "FINISHED"
