"""Faults, with real processes: killed at every point, racing at first use, writing the same and many runs at once."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.store import samples
from tests.store.conftest import MakeRun
from tests.store.figures import assert_nothing_lost, shown_record_ids
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.record import StoredRun
from tracker.store.base import Query
from tracker.store.mlflow_open import open_store, sqlite_uri
from tracker.store.mlflow_store import MlflowStore
from tracker.store.spool import Spool
from tracker.store.sync import sync

CRASH_CHILD = Path(__file__).with_name("crash_child.py")
EXPECTED_CURVE = [(1, 1), (8, 1), (32, 1)]


def crash(uri: str, folder: Path, *, first: int, step: int, limit: int, kind: str = "benchmark") -> tuple[int, bool]:
    """Kill a logging process at every step-th point; return the number of tries and whether no point was left."""
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, str(CRASH_CHILD), uri, str(folder), str(first), str(step), str(limit), kind],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    tried, more = map(int, done.stdout.split())
    return tried, not more


def assert_every_run_is_there_once_and_whole(store: MlflowStore, folder: Path) -> Counter[str]:
    """Sync what the crashes left and look at every run with MLflow's own client; return what recovery met."""
    from mlflow import MlflowClient

    met: Counter[str] = Counter()
    for spooled in sorted(folder.iterdir()):
        outcomes = sync(store, Spool(spooled))
        assert all(outcome.status == "sent" for outcome in outcomes), outcomes
        leftovers = [path for path in spooled.iterdir() if path.name.startswith(".writing-")]
        met["in the spool" if outcomes else "left the spool" if not leftovers else "never whole on disk"] += 1
    client = MlflowClient(tracking_uri=store.uri)
    number = store.experiment_id(folder.name)
    runs = store.query(Query(experiment=folder.name))
    everything = client.search_runs([number], max_results=1000)
    assert {run.info.run_id for run in everything} == {run.run_id for run in runs}, "a half-written run is left"
    assert max(Counter(run.record.record_id for run in runs).values()) == 1
    for run in runs:
        assert_whole(client, store, run, number)
    models = client.search_logged_models([number])
    assert len(models) == 1
    met["stored"] = len(runs)
    return met


def assert_whole(client: Any, store: MlflowStore, run: StoredRun, number: str) -> None:
    name = run.record.name
    assert run.record == samples.record(name, experiment=run.record.experiment, record_id=run.record.record_id)
    assert store.requests(run.run_id) == samples.rows()
    shown = client.get_run(run.run_id)
    assert shown.info.status == "FINISHED", name
    assert shown.info.experiment_id == number
    assert len(shown.data.params) > 30, name
    curve = client.get_metric_history(run.run_id, "bench/accept_length")
    assert sorted(Counter(point.step for point in curve).items()) == EXPECTED_CURVE, name
    assert len(shown.inputs.dataset_inputs) == 1, name
    assert len(shown.inputs.model_inputs) == 1, name
    files = {item.path for item in client.list_artifacts(run.run_id)}
    assert files == {"README.md", "input", "measurements.csv", "record.json", "requests.parquet", "server"}, name


def test_a_process_killed_at_some_points_loses_and_doubles_nothing(
    sqlite_store: MlflowStore, sqlite_folder: Path, tmp_path: Path
) -> None:
    folder = tmp_path / f"crash-{uuid.uuid4().hex[:8]}"

    tried, _ = crash(sqlite_uri(sqlite_folder / "mlflow.db"), folder, first=11, step=12, limit=3)

    met = assert_every_run_is_there_once_and_whole(sqlite_store, folder)
    assert met["stored"] == tried


def test_a_drafters_page_that_was_half_completed_keeps_no_later_run_from_the_store(
    sqlite_store: MlflowStore, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    sqlite_store.save(make_run("knows its name", drafter=Checkpoint(name="d100000")))
    run = make_run("knows more", drafter=Checkpoint(name="d100000", kind="eagle3", draft_vocab_size=2048))
    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "set_experiment_tag", killed)
        with pytest.raises(KeyboardInterrupt):
            sqlite_store.save(run)

    stored = sqlite_store.load(sqlite_store.save(run))

    assert stored.record == run.record
    (model,) = sqlite_store.client.search_logged_models([sqlite_store.experiment_id(run.record.experiment)])
    assert (model.params["kind"], model.params["draft_vocab_size"]) == ("eagle3", "2048")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["sqlite", "server", "postgres"])
def test_a_process_killed_at_every_point_loses_and_doubles_nothing(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    store: MlflowStore = request.getfixturevalue(f"{kind}_store")
    uri = store.uri
    folder = tmp_path / f"crash-{uuid.uuid4().hex[:8]}"

    tried, complete = crash(uri, folder, first=0, step=1, limit=400)

    assert complete, "there were more points than tried"
    met = assert_every_run_is_there_once_and_whole(store, folder)
    # Before the file is whole on the disk there is nothing to recover; everything later must be there.
    absent = met["never whole on disk"]
    assert absent <= 4
    expected = [f"{folder.name}-{point}" for point in range(absent, tried)]
    what = f"{kind}, killed at every point; {absent} before the spool's file was whole"
    shown = shown_record_ids(store, folder.name)
    assert_nothing_lost(what, faults=tried - 1, expected=expected, stored=shown)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["sqlite", "server"])
def test_a_process_killed_at_every_point_of_logging_a_training_loses_and_doubles_nothing(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    store: MlflowStore = request.getfixturevalue(f"{kind}_store")
    folder = tmp_path / f"crash-{uuid.uuid4().hex[:8]}"

    tried, complete = crash(store.uri, folder, first=0, step=1, limit=400, kind="training")

    assert complete, "there were more points than tried"
    for spooled in sorted(folder.iterdir()):
        outcomes = sync(store, Spool(spooled))
        assert all(outcome.status == "sent" for outcome in outcomes), outcomes
    runs = store.query(Query(experiment=folder.name))
    absent = tried - len(runs)
    assert absent <= 4
    expected = [f"{folder.name}-{point}" for point in range(absent, tried)]
    shown = shown_record_ids(store, folder.name)
    what = f"{kind}, training killed at every point; {absent} before the spool's file was whole"
    assert_nothing_lost(what, faults=tried - 1, expected=expected, stored=shown)
    (model,) = store.client.search_logged_models([store.experiment_id(folder.name)])
    for run in runs:
        name, record_id = run.record.name, run.record.record_id
        made = samples.training_run(name, experiment=folder.name, record_id=record_id)
        assert run.record == made.record
        outputs = store.client.get_run(run.run_id).outputs.model_outputs
        assert [(output.model_id, output.step) for output in outputs] == [(model.model_id, 1200)], name


RACE = """
import sys, time
from pathlib import Path
from tests.store import samples
from tests.store.figures import assert_nothing_lost, shown_record_ids
from tracker.store.mlflow_open import configure_mlflow, open_store
from tracker.store.spool import Spool
from tracker.store.sync import log
uri, folder = sys.argv[1], Path(sys.argv[2])
index, processes, experiment, count, same = sys.argv[3:8]
import os; configure_mlflow(os.environ); import mlflow.store.tracking.sqlalchemy_store
def meet(place):
    (folder / f"{place}-{index}").touch()
    while len(list(folder.glob(f"{place}-*"))) < int(processes):
        time.sleep(0.003)
meet("start")
store = open_store(uri, environ={})
for i in range(int(count)):
    if same == "same":
        meet(f"run{i}")
    name = f"run {i}" if same == "same" else f"run {index} {i}"
    run = samples.run(name, experiment=experiment, record_id=f"{experiment} {name}")
    logged = log(run, store, Spool(folder / f"spool-{index}"))
    print(logged.run_id, logged.error)
"""


def race(uri: str, folder: Path, experiment: str, *, processes: int, count: int = 1, same: bool = False) -> list[str]:
    """Let several processes log at the same moment and return what they printed."""
    folder.mkdir()
    kind = "same" if same else "own"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, uri, str(folder), str(index), str(processes), experiment, str(count), kind],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for index in range(processes)
    ]
    printed: list[str] = []
    for process in started:
        out, err = process.communicate(timeout=300)
        assert (process.returncode, err) == (0, "")
        printed += out.splitlines()
    return printed


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_six_processes_meeting_an_empty_store_all_succeed(tmp_path: Path) -> None:
    path = tmp_path / "new" / "mlflow.db"

    printed = race(sqlite_uri(path), tmp_path / "race", "first-use", processes=6)

    assert all(line.endswith(" None") for line in printed), printed
    store = open_store(sqlite_uri(path), environ={})
    assert len(store.query(Query())) == 6
    shown = shown_record_ids(store, "first-use")
    expected = [f"first-use run {index} 0" for index in range(6)]
    assert_nothing_lost("6 processes make the schema at once", faults=6, expected=expected, stored=shown)
    assert sorted(item.name for item in path.parent.iterdir()) == ["artifacts", "mlflow.db", "mlflow.db.lock"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_sixteen_processes_writing_at_once_lose_nothing(sqlite_folder: Path, tmp_path: Path) -> None:
    uri = sqlite_uri(sqlite_folder / "mlflow.db")

    printed = race(uri, tmp_path / "race", "crowd", processes=16, count=5)

    store = open_store(uri, environ={})
    for index in range(16):
        sync(store, Spool(tmp_path / "race" / f"spool-{index}"))
    waited = [line for line in printed if not line.endswith(" None")]
    assert len(store.query(Query(experiment="crowd"))) == 80
    expected = [f"crowd run {index} {count}" for index in range(16) for count in range(5)]
    what = f"sqlite, 16 writers of 5 runs each lock each other out; {len(waited)} runs waited"
    assert_nothing_lost(what, faults=len(printed), expected=expected, stored=shown_record_ids(store, "crowd"))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["sqlite", "server", "postgres"])
def test_four_processes_logging_the_same_runs_at_once_store_each_once(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, experiment: str
) -> None:
    store: MlflowStore = request.getfixturevalue(f"{kind}_store")

    printed = race(store.uri, tmp_path / "race", experiment, processes=4, count=10, same=True)

    for index in range(4):
        assert all(o.status == "sent" for o in sync(store, Spool(tmp_path / "race" / f"spool-{index}")))
    runs = store.query(Query(experiment=experiment))
    expected = [f"{experiment} run {index}" for index in range(10)]
    what = f"{kind}, 4 processes log the same 10 runs at once"
    shown = shown_record_ids(store, experiment)
    assert_nothing_lost(what, faults=len(printed), expected=expected, stored=shown)
    assert sorted(run.record.name for run in runs) == [f"run {i}" for i in range(10)]
