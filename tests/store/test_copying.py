"""An embedded store moved to a server: everything once, as it was, however often; what is there already stays."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from tests.store import samples
from tests.store.conftest import MakeRun
from tests.store.test_reports import MADE, memo
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


@pytest.fixture(params=["server", "postgres"])
def server_store(request: pytest.FixtureRequest) -> MlflowStore:
    """A server on SQLite, and one on PostgreSQL as README tells a team to start it."""
    uri = request.getfixturevalue("mlflow_server" if request.param == "server" else "postgres_server")
    return open_store(uri, environ={}, cache_dir=request.getfixturevalue("tmp_path") / "cache")


@pytest.mark.slow
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


def test_memos_and_decisions_go_along_and_runs_are_found_by_the_ids_that_memos_name(
    filled: MlflowStore, second_store: MlflowStore, experiment: str
) -> None:
    old = filled.load("first")
    document = json.dumps({"runs": [{"run_id": old.run_id}, {"run_id": "0" * 32}]}).encode()
    kept = filled.save_report(
        experiment, memo(files={"memo.json": document, "memo.html": b"<h1>"}, run_ids=(old.run_id,))
    )
    filled.save_report(experiment, memo("later", generated_at=MADE + timedelta(days=7)))
    filled.save_decision(kept.run_id, b'{"option": "keep_baseline"}')

    first = copied(filled, second_store)
    second = copied(filled, second_store)

    assert [first[f"memo {key}"] for key in ("2026-11-30-campaign", "later")] == ["copied", "copied"]
    assert [second[f"memo {key}"] for key in ("2026-11-30-campaign", "later")] == ["present", "present"]
    before, after = filled.reports(experiment), second_store.reports(experiment)
    assert [(m.key, m.generated_at, m.memo_json, m.decision_json) for m in after] == [
        (m.key, m.generated_at, m.memo_json, m.decision_json) for m in before
    ]
    new = second_store.load("first")
    assert new.earlier_ids == (old.run_id,)
    assert second_store.load(old.run_id) == second_store.load(old.run_id[:8]) == new
    tags = second_store.client.get_run(new.run_id).data.tags
    assert tags["tracker.report"] == after[0].run_id
    assert second_store.report(kept.run_id) == after[0]
    second_store.save_decision(kept.run_id, b"{}")
    assert second_store.reports(experiment)[0].decision_json == b"{}"
    assert copied(filled, second_store)["memo 2026-11-30-campaign"] == "conflict"
    filled.save_report(experiment, memo("later", generated_at=MADE + timedelta(days=8), files={"memo.json": b"{}"}))
    assert copied(filled, second_store)["memo later"] == "copied"
    assert second_store.reports(experiment)[1].memo_json == b"{}"


def test_who_has_read_a_run_before_sees_the_ids_that_a_later_copy_gives_it(
    filled: MlflowStore, second_store: MlflowStore, make_run: MakeRun, experiment: str
) -> None:
    second_store.save(make_run("first"))
    query = Query(experiment=experiment)
    assert [run.earlier_ids for run in second_store.query(query)] == [()]

    copied(filled, second_store)

    old = {run.record.record_id: run.run_id for run in filled.query(query)}
    assert {run.record.record_id: run.earlier_ids[0] for run in second_store.query(query)} == old


def test_tags_that_people_gave_in_mlflow_go_along(
    filled: MlflowStore, second_store: MlflowStore, experiment: str
) -> None:
    filled.client.set_tag(filled.load("first").run_id, "team", "serving")
    filled.client.set_experiment_tag(filled.experiment_id(experiment), "owner", "maria")

    copied(filled, second_store)

    assert second_store.client.get_run(second_store.load("first").run_id).data.tags["team"] == "serving"
    assert second_store.client.get_experiment(second_store.experiment_id(experiment)).tags["owner"] == "maria"


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


@pytest.mark.slow
def test_the_command_prints_the_new_ids_and_copies_one_campaign_where_one_is_named(
    filled: MlflowStore, server_store: MlflowStore, experiment: str, sqlite_folder: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("TRACKER_DATA_DIR", str(tmp_path / "elsewhere"))
    filled.save_report(experiment, memo())
    other = f"{experiment}-other"
    filled.save_campaign(samples.campaign(other))
    capfd.readouterr()

    def copy(*more: str) -> tuple[object, str, str]:
        source = sqlite_uri(sqlite_folder / "mlflow.db")
        with pytest.raises(SystemExit) as stop:
            main(["sync", "--from", source, "--tracking-uri", server_store.uri, *more])
        said = capfd.readouterr()
        return stop.value.code, said.out, said.err

    code, out, err = copy("--experiment", experiment)
    (report,) = server_store.reports(experiment)
    assert code == 0
    ids = {run.run_id for run in server_store.query(Query(experiment=experiment))}
    assert set(out.split()) == ids | {report.run_id}
    assert "6 copied" in err
    assert server_store.load_campaign(other) is None
    code, _, err = copy("--experiment", f"{experiment}-othr")
    assert code == 1
    assert f"Did you mean '{other}'" in err
    code, _, err = copy()
    assert code == 0
    assert "1 copied" in err
    assert server_store.load_campaign(other) is not None
