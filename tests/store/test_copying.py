"""An embedded store moved to a server: everything once, as it was, however often; what is there already stays."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from tests.store import samples
from tests.store.conftest import MakeRun
from tests.store.test_reports import memo
from tracker.cli.main import main
from tracker.domain.record import Amendment, LoggedRun
from tracker.errors import StoreError, UsageError
from tracker.store.base import Query
from tracker.store.copying import FACTS, copy_store
from tracker.store.mlflow_open import open_store, sqlite_uri
from tracker.store.mlflow_store import MlflowStore
from tracker.workflows.session import Session
from tracker.workflows.sync import copy_from


def amendment(day: int, **changes: object) -> Amendment:
    return Amendment(at=samples.LOGGED_AT + timedelta(days=day), by="m***", changes=changes, reason="GPU was shared")


def copied(source: MlflowStore, target: MlflowStore) -> dict[str, str]:
    return {outcome.name: outcome.status for outcome in copy_store(source, target)}


@pytest.fixture
def filled(sqlite_store: MlflowStore, make_run: MakeRun, experiment: str) -> MlflowStore:
    """An embedded store with facts, three runs, one of them corrected, and a training."""
    sqlite_store.save_campaign(samples.campaign(experiment, question="Ü <b>?"))
    ids = sqlite_store.save_many([make_run("first"), make_run("second"), make_run("third", request_count=0)])
    sqlite_store.save(samples.training_run(experiment=experiment, record_id=f"train-{experiment}"))
    sqlite_store.amend(ids[1], amendment(1, validity="suspect", name="second, corrected"))
    return sqlite_store


@pytest.fixture
def second_store(tmp_path: Path, empty_database: Path) -> MlflowStore:
    """Another embedded store, where no server is needed to make the point."""
    folder = tmp_path / "second"
    folder.mkdir()
    shutil.copy(empty_database, folder / "mlflow.db")
    return open_store(environ={}, data_dir=folder, cache_dir=tmp_path / "cache")


def test_everything_arrives_on_a_server_as_it_was_and_a_second_time_changes_nothing(
    filled: MlflowStore, server_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    first = copied(filled, server_store)
    second = copied(filled, server_store)

    names = {FACTS, "first", "second, corrected", "third", "train d100000"}
    assert first == dict.fromkeys(names, "copied")
    assert second == dict.fromkeys(names, "present")
    query = Query(experiment=experiment)
    before, after = filled.query(query), server_store.query(query)
    assert [run.record for run in after] == [run.record for run in before]
    for old, new in zip(before, after, strict=True):
        assert server_store.whole_run(new) == filled.whole_run(old)
        assert server_store.content_sha256(new.run_id) == filled.content_sha256(old.run_id)
    assert any(run.record.amendments for run in after)
    assert server_store.load_campaign(experiment) == filled.load_campaign(experiment)
    logged_again = server_store.save(make_run("second"))
    assert server_store.load(logged_again).record.name == "second, corrected"
    assert len(server_store.query(query)) == len(before)


@pytest.mark.slow
def test_corrections_made_later_follow(filled: MlflowStore, second_store: MlflowStore, experiment: str) -> None:
    copied(filled, second_store)
    filled.amend("second, corrected", amendment(2, role="baseline"))
    filled.amend("third", amendment(2, note="watch"))

    again = copied(filled, second_store)

    assert [again[name] for name in ("first", "second, corrected", "third")] == ["present", "amended", "amended"]
    query = Query(experiment=experiment)
    assert [run.record for run in second_store.query(query)] == [run.record for run in filled.query(query)]


def test_what_was_changed_at_the_new_place_stays_and_is_told(
    filled: MlflowStore, second_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    other: LoggedRun = make_run("first", role="baseline")
    second_store.save(other)
    second_store.save_campaign(samples.campaign(experiment, deployed="something else"))
    kept = second_store.load(second_store.save(make_run("second")))
    second_store.amend(kept.run_id, amendment(5, note="made here"))

    statuses = copied(filled, second_store)

    assert statuses[FACTS] == statuses["first"] == statuses["second, corrected"] == "conflict"
    assert statuses["third"] == "copied"
    assert second_store.load(other.record.record_id).record == other.record
    assert second_store.load(kept.run_id).record.note == "made here"
    campaign = second_store.load_campaign(experiment)
    assert campaign is not None
    assert campaign.deployed == "something else"


@pytest.mark.slow
def test_a_run_whose_files_are_gone_does_not_stop_the_others(
    filled: MlflowStore, second_store: MlflowStore, sqlite_folder: Path
) -> None:
    run_id = filled.load("first").run_id
    for path in (sqlite_folder / "artifacts").rglob("requests.parquet"):
        if run_id in path.parts:
            path.unlink()

    statuses = copied(filled, second_store)

    assert statuses["first"] == "failed"
    assert statuses["third"] == "copied"


def test_the_source_must_exist_and_be_another_store(tmp_path: Path, sqlite_folder: Path) -> None:
    session = Session(now=samples.LOGGED_AT, environ={}, cwd=tmp_path, folder=sqlite_folder)

    with pytest.raises(StoreError, match="there is no database to copy from"):
        copy_from(session, sqlite_uri(tmp_path / "none.db"))
    with pytest.raises(UsageError, match="copied onto itself"):
        copy_from(session, sqlite_uri(sqlite_folder / "mlflow.db"))

    assert not (tmp_path / "none.db").exists()


def test_the_command_prints_the_new_ids_and_what_was_not_copied(
    filled: MlflowStore, server_store: MlflowStore, experiment: str, sqlite_folder: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("TRACKER_DATA_DIR", str(tmp_path / "elsewhere"))
    filled.save_report(experiment, memo())
    capfd.readouterr()

    with pytest.raises(SystemExit) as stop:
        main(["sync", "--from", sqlite_uri(sqlite_folder / "mlflow.db"), "--tracking-uri", server_store.uri])

    said = capfd.readouterr()
    assert stop.value.code == 0
    assert set(said.out.split()) == {run.run_id for run in server_store.query(Query(experiment=experiment))}
    assert "5 copied" in said.err
    assert "memos not copied: 1" in said.err
