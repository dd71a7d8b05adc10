"""An import killed at every point: the next one finishes it, and what is there then is what was exported."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from tests.store import samples
from tests.store.conftest import MakeRun
from tests.store.figures import assert_nothing_lost, shown_record_ids
from tests.store.test_reports import memo
from tracker.domain.record import Amendment
from tracker.store.campaign_export import write_folder
from tracker.store.campaign_folder import FolderCampaign
from tracker.store.copying import copy_campaign
from tracker.store.mlflow_campaign import MlflowCampaign
from tracker.store.mlflow_campaigns import rename
from tracker.store.mlflow_open import open_store
from tracker.store.mlflow_store import MlflowStore

COPY_CHILD = Path(__file__).with_name("crash_copy_child.py")
EVERY = 5
MOST_POINTS = 400


def bytes_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def export(sqlite_store: MlflowStore, make_run: MakeRun, experiment: str, tmp_path: Path) -> Path:
    """A campaign that was renamed, with facts, a corrected run, a training, a decided memo, and tags people gave."""
    store = sqlite_store
    store.save_campaign(samples.campaign(experiment))
    run_id = store.save(make_run("first"))
    store.save(samples.training_run(experiment=experiment, record_id=f"train-{experiment}"))
    store.amend(run_id, Amendment(at=samples.LOGGED_AT + timedelta(days=1), by="m***", changes={"validity": "suspect"}))
    document = json.dumps({"runs": [{"run_id": run_id}]}).encode()
    kept = store.save_report(experiment, memo(files={"memo.json": document, "memo.html": b"<h1>"}, run_ids=(run_id,)))
    store.save_decision(kept.run_id, b'{"option": "A"}')
    store.client.set_tag(run_id, "team", "serving")
    store.client.set_experiment_tag(store.experiment_id(experiment), "owner", "maria")
    rename(store, experiment, f"{experiment}-new")
    list(write_folder(MlflowCampaign(store, f"{experiment}-new"), tmp_path / "export"))
    return tmp_path / "export"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_import_killed_at_any_point_is_finished_by_the_next(
    export: Path, empty_database: Path, experiment: str, tmp_path: Path
) -> None:
    folder = tmp_path / "killed"
    folder.mkdir()
    command = [sys.executable, str(COPY_CHILD), str(export), str(empty_database), str(folder)]
    done = subprocess.run([*command, "0", str(EVERY), str(MOST_POINTS)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    tried, more = map(int, done.stdout.split())
    assert not more, "there were more points than tried"

    shown: list[str] = []
    for own in sorted(folder.iterdir()):
        store = open_store(environ={}, data_dir=own, cache_dir=own / "cache")
        outcomes = list(copy_campaign(FolderCampaign(export), store))
        assert {outcome.status for outcome in outcomes} <= {"copied", "amended", "present"}, own.name
        list(write_folder(MlflowCampaign(store, f"{experiment}-new"), tmp_path / "again" / own.name))
        assert bytes_in(tmp_path / "again" / own.name) == bytes_in(export), own.name
        there = store.client.search_runs([store.experiment_id(f"{experiment}-new")])
        assert Counter(run.data.tags["tracker.kind"] for run in there) == {"benchmark": 1, "training": 1, "report": 1}
        shown += [f"{own.name} {record_id}" for record_id in shown_record_ids(store, f"{experiment}-new")]

    ids = [samples.sha(f"{experiment}first"), f"train-{experiment}"]
    expected = [f"{own.name} {record_id}" for own in folder.iterdir() for record_id in ids]
    what = f"import killed at every {EVERY}th point"
    assert_nothing_lost(what, faults=tried - 1, expected=expected, stored=shown)
