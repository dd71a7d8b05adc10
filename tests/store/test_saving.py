"""Storing runs in a row with few questions, and what somebody else does between any two of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.store import samples
from tracker.domain.record import LoggedRun
from tracker.errors import RecordConflictError, StoreError
from tracker.store import mlflow_save
from tracker.store.base import Query
from tracker.store.mlflow_open import open_store
from tracker.store.mlflow_store import MlflowStore

MakeRun = Callable[..., LoggedRun]


@pytest.fixture
def other_store(sqlite_store: MlflowStore, sqlite_folder: Path, tmp_path: Path) -> MlflowStore:
    """The same embedded store, as another process has it."""
    return open_store(environ={}, data_dir=sqlite_folder, cache_dir=tmp_path / "other-cache")


def around(client: Any, name: str, *, before: Callable[[Any], Any] | None = None, after: Any | None = None) -> None:
    """Let something happen right before or after the next call of a method of MLflow's client."""
    method = getattr(client, name)

    def called(*args: Any, **kwargs: Any) -> Any:
        delattr(client, name)
        if before is not None:
            before(args)
        result = method(*args, **kwargs)
        if after is not None:
            after(args)
        return result

    setattr(client, name, called)


def shown(store: MlflowStore, experiment: str) -> list[Any]:
    """Return all active runs that MLflow itself shows, half-written ones and copies included."""
    return list(store.client.search_runs([store.experiment_id(experiment)]))


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("server", marks=pytest.mark.slow)])
def test_a_run_stored_right_after_another_takes_two_calls_more_than_its_content(
    kind: str, request: pytest.FixtureRequest, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    store: MlflowStore = request.getfixturevalue(f"{kind}_store")
    for name in ("makes the campaign", "reads it"):
        store.save(make_run(name, drafter=None))
    for name in ("makes the drafter's page", "reads it again"):
        store.save(make_run(name))
    calls: list[str] = []
    for name, method in inspect.getmembers(MlflowClient, inspect.isfunction):
        if not name.startswith("_"):

            def counted(*args: Any, _name: str = name, _method: Any = method, **kwargs: Any) -> Any:
                calls.append(_name)
                return _method(*args, **kwargs)

            monkeypatch.setattr(MlflowClient, name, counted)

    store.save(make_run("counted"))

    # Was it stored before? Did anybody store it at the same moment? Everything else carries content.
    assert calls == ["search_runs", "create_run", "log_inputs", "search_runs", "log_batch", "set_terminated"]


def test_what_others_change_of_a_campaign_is_seen_a_moment_later(
    sqlite_store: MlflowStore,
    other_store: MlflowStore,
    make_run: MakeRun,
    experiment: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("makes the campaign", "reads it"):
        sqlite_store.save(make_run(name))
    other_store.save_campaign(samples.campaign(experiment, decision_concurrency=32))
    monkeypatch.setattr(mlflow_save, "REMEMBERED_SECONDS", 0.0)

    run_id = sqlite_store.save(make_run())

    assert sqlite_store.client.get_run(run_id).data.tags["tracker.summary_concurrency"] == "32"


def test_what_the_store_itself_changes_of_a_campaign_is_seen_at_once(
    sqlite_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    for name in ("makes the campaign", "reads it"):
        sqlite_store.save(make_run(name))
    sqlite_store.save_campaign(samples.campaign(experiment, decision_concurrency=32))

    run_id = sqlite_store.save(make_run())

    assert sqlite_store.client.get_run(run_id).data.tags["tracker.summary_concurrency"] == "32"


def test_a_campaign_deleted_by_somebody_else_a_moment_ago_is_told(
    sqlite_store: MlflowStore, other_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    for name in ("makes the campaign", "reads it"):
        sqlite_store.save(make_run(name))
    other_store.client.delete_experiment(other_store.experiment_id(experiment))

    with pytest.raises(StoreError, match=r"was deleted, and holds its name.*tracker campaign restore"):
        sqlite_store.save(make_run())


def test_a_drafter_that_another_process_made_a_moment_ago_keeps_one_page(
    sqlite_store: MlflowStore, other_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    for name in ("makes the campaign", "reads it"):
        sqlite_store.save(make_run(name, drafter=None))
    other_store.save(make_run("theirs"))

    for name in ("first", "second"):
        sqlite_store.save(make_run(name))

    (model,) = sqlite_store.client.search_logged_models([sqlite_store.experiment_id(experiment)])
    served = [run for run in shown(sqlite_store, experiment) if "drafter.model_id" in run.data.tags]
    assert {run.data.tags["drafter.model_id"] for run in served} == {model.model_id}
    assert len(served) == 3


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_run_that_another_process_stores_around_the_making_of_ours_is_one_run(
    when: str, sqlite_store: MlflowStore, other_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    for name in ("makes the campaign", "reads it"):
        sqlite_store.save(make_run(name))
    run = make_run()
    theirs: list[str] = []
    around(sqlite_store._client, "create_run", **{when: lambda _: theirs.append(other_store.save(run))})

    ours = sqlite_store.save(run)

    stored = {run.run_id: run.record.name for run in sqlite_store.query(Query(experiment=experiment))}
    assert len(theirs) == 1
    assert sorted(stored.values()) == sorted(["makes the campaign", "reads it", run.record.name])
    assert stored[ours] == run.record.name
    assert {item.info.run_id for item in shown(sqlite_store, experiment)} == stored.keys()


def test_other_content_stored_by_somebody_else_around_the_making_of_ours_is_a_conflict(
    sqlite_store: MlflowStore, other_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    sqlite_store.save(make_run("makes the campaign"))
    theirs: list[str] = []
    around(
        sqlite_store._client, "create_run", before=lambda _: theirs.append(other_store.save(make_run(role="baseline")))
    )

    with pytest.raises(RecordConflictError):
        sqlite_store.save(make_run())

    assert theirs[0] in {run.info.run_id for run in shown(sqlite_store, experiment)}
    assert len(shown(sqlite_store, experiment)) == 2


def test_a_run_discarded_between_its_last_write_and_its_end_is_stored_anew(
    sqlite_store: MlflowStore, other_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    sqlite_store.save(make_run("makes the campaign"))
    discarded: list[str] = []

    def discard(args: tuple[Any, ...]) -> None:
        discarded.append(args[0])
        other_store.client.delete_run(args[0])

    around(sqlite_store._client, "log_batch", after=discard)

    run_id = sqlite_store.save(make_run())

    assert discarded != [run_id]
    assert {run.info.run_id for run in shown(sqlite_store, experiment)} >= {run_id}
    assert sqlite_store.load(run_id).record == make_run().record
