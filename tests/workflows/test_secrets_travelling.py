"""Secrets when a campaign travels: an export, an import and a copy carry none that `log-run` would have redacted."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.store.test_adopt import write_trainer_run
from tests.trainer_runs import SPECFORGE_0_1
from tests.workflows import test_secrets
from tests.workflows.test_secrets import SECRETS
from tracker.cli.main import main
from tracker.domain.record import Amendment
from tracker.store.base import Query
from tracker.store.mlflow_open import sqlite_uri
from tracker.workflows.adopt import AdoptRequest, adopt_runs
from tracker.workflows.amend import AmendRequest, amend_run
from tracker.workflows.campaign_files import export_campaign, import_campaign
from tracker.workflows.session import Session
from tracker.workflows.sync import copy_from

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
TAG, NOTE = "hf_PLANTEDtagtoken0123456789AB", "PLANTEDnotepassword77"


def session_in(folder: Path, empty_database: Path) -> Session:
    folder.mkdir()
    shutil.copy(empty_database, folder / "mlflow.db")
    return Session(now=NOW, environ={"USER": "maria"}, cwd=folder, folder=folder)


def leaks(folder: Path, *more: str) -> dict[str, list[str]]:
    planted = {**SECRETS, **{text: text for text in more}}
    found = {}
    for name, content in test_secrets._all_bytes(folder):
        if here := [key for key, secret in planted.items() if secret.encode() in content]:
            found[name] = here
    return found


def exported(session: Session, name: str, folder: Path) -> tuple[str, ...]:
    exporting = export_campaign(session, name, folder)
    list(exporting.names)
    return exporting.secret_tags


def test_an_export_an_import_and_a_copy_carry_no_secret(tmp_path: Path, empty_database: Path) -> None:
    (tmp_path / "data").mkdir()
    shutil.copy(empty_database, tmp_path / "data" / "mlflow.db")
    first = test_secrets._session(tmp_path)
    test_secrets._log_all(tmp_path, first)
    test_secrets._memo(tmp_path, first)
    run = first.store().query(Query(experiment="secrets"))[0]
    amend_run(AmendRequest(run=run.run_id, note=f"login --password {NOTE}", tags={"token": TAG}), first)
    second, third = (session_in(tmp_path / name, empty_database) for name in ("second", "third"))

    told = exported(first, "secrets", tmp_path / "exported")
    imported = list(import_campaign(second, tmp_path / "exported"))
    copied = list(copy_from(third, sqlite_uri(tmp_path / "data" / "mlflow.db")))

    assert told == ()
    assert {outcome.status for outcome in (*imported, *copied)} == {"copied"}
    assert len(third.store().query(Query(experiment="secrets"))) == 5
    for name in ("exported", "second", "third"):
        assert leaks(tmp_path / name, NOTE, TAG) == {}, name


def test_a_tag_that_a_person_gave_in_mlflow_is_theirs_and_is_named_where_it_looks_like_a_secret(
    tmp_path: Path, empty_database: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from tests.store import samples

    session = session_in(tmp_path / "first", empty_database)
    store = session.mlflow_store()
    run_id = store.save(samples.run(experiment="kimi"))
    store.client.set_tag(run_id, "team", "serving")
    store.client.set_tag(run_id, "hf_token", TAG)
    store.client.set_tag(run_id, "mlflow.note.content", f"password={NOTE}")
    store.client.set_experiment_tag(store.experiment_id("kimi"), "how", f"curl -H 'Authorization: Bearer {NOTE}'")
    monkeypatch.chdir(tmp_path)
    capfd.readouterr()

    with pytest.raises(SystemExit) as stop:
        main(["campaign", "export", "kimi", "--tracking-uri", store.uri])
    said = capfd.readouterr()

    assert stop.value.code == 0
    assert said.err.count("looks like a secret") == 2
    assert "the tag hf_token of the run" in said.err
    assert "the tag how of the campaign 'kimi'" in said.err
    assert TAG not in said.err + said.out
    assert NOTE not in said.err + said.out
    # The tags go as their owners wrote them; the text of MLflow's page is made anew where the run arrives.
    assert leaks(tmp_path / "kimi", TAG) != {}
    assert all("campaign.json" in name for name in leaks(tmp_path / "kimi", NOTE))


def test_what_a_trainer_put_beside_an_adopted_run_does_not_travel(tmp_path: Path, empty_database: Path) -> None:
    session = session_in(tmp_path / "first", empty_database)
    second, third = (session_in(tmp_path / name, empty_database) for name in ("second", "third"))
    store = session.mlflow_store()
    run_id = write_trainer_run(store, "drafters", wandb_token=TAG)
    store.client.log_text(run_id, f"WANDB_API_KEY={NOTE}\n", "config/env.txt")
    store.client.log_text(run_id, "w" * 100_000, "checkpoint/model.safetensors")
    store.client.log_param(run_id, "wandb_key", SPECFORGE_0_1["wandb_key"])
    adopt_runs(AdoptRequest(run=run_id), session)
    store.client.set_tag(run_id, "team", "serving")
    store.amend(run_id, Amendment(at=NOW, by="m***", changes={"note": "recounted"}))

    told = exported(session, "drafters", tmp_path / "exported")
    list(import_campaign(second, tmp_path / "exported"))
    list(copy_from(third, store.uri))

    assert told == ()
    for name in ("exported", "second", "third"):
        assert leaks(tmp_path / name, TAG, NOTE, SPECFORGE_0_1["wandb_key"]) == {}, name
    expected = store.load(run_id).record
    for other in (second, third):
        (found,) = other.store().query(Query(experiment="drafters"))
        assert found.record == expected
        client = other.mlflow_store().client
        assert client.get_run(found.run_id).data.tags["team"] == "serving"
        assert {item.path for item in client.list_artifacts(found.run_id)} <= {"README.md", "record.json"} | {
            "measurements.csv"
        }
