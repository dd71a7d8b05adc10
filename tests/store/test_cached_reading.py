"""What was read before is only a cache: whatever happens to it or to the store, a query's answer is the store's."""

from __future__ import annotations

import contextlib
import random
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.store import samples
from tests.store.conftest import MakeRun
from tracker.domain.record import Amendment, StoredRun
from tracker.store import cache_files, campaign_cache, mlflow_fresh, mlflow_read
from tracker.store.base import Query
from tracker.store.codec import decode_record
from tracker.store.matching import oldest_first
from tracker.store.mlflow_amendments import amended
from tracker.store.mlflow_projection import CHANGED_AT
from tracker.store.mlflow_read import earlier_ids, is_complete, read_artifact
from tracker.store.mlflow_store import MlflowStore

CHILD = Path(__file__).with_name("reading_child.py")
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "flipped": lambda content: content[:-20] + bytes(byte ^ 1 for byte in content[-20:-19]) + content[-19:],
    "of another version": lambda content: content.replace(cache_files.layout().encode(), b"0" * 16, 1),
    "text": lambda content: b"not a cache\n",
}


@pytest.fixture(
    params=["sqlite", pytest.param("server", marks=pytest.mark.slow), pytest.param("postgres", marks=pytest.mark.slow)]
)
def mlflow_store(request: pytest.FixtureRequest) -> MlflowStore:
    found: MlflowStore = request.getfixturevalue(f"{request.param}_store")
    return found


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a handful of runs what thousands are: more than the first pages hold, and nothing read twice."""
    monkeypatch.setattr(mlflow_fresh, "FIRST_PAGE", 2)
    monkeypatch.setattr(mlflow_fresh, "PAGE", 3)
    monkeypatch.setattr(mlflow_fresh, "FEW", 3)
    monkeypatch.setattr(mlflow_read, "IDS_AT_ONCE", 2)
    monkeypatch.setattr(mlflow_fresh, "OVERLAP", timedelta())
    monkeypatch.setattr(campaign_cache, "MOST_LOOSE", 2)
    monkeypatch.setattr(campaign_cache, "RUNS_A_SEGMENT", 3)


def by_search(store: MlflowStore, experiment: str) -> tuple[StoredRun, ...]:
    """Return a campaign's runs by MLflow's search and nothing else."""
    client = store._client
    found = client.get_experiment_by_name(experiment)
    runs = client.search_runs([found.experiment_id], max_results=1000)
    return oldest_first(
        StoredRun(
            run_id=run.info.run_id,
            record=amended(decode_record(read_artifact(client, run, "record.json")), run.data.tags).replace(
                experiment=experiment
            ),
            url=store._run_url(run),
            earlier_ids=earlier_ids(run),
        )
        for run in runs
        if is_complete(run)
    )


class Interleaving(RuleBasedStateMachine):
    """Writers, people in MLflow's pages, and two machines that read with a cache each."""

    store: MlflowStore
    folder: Path

    def __init__(self) -> None:
        super().__init__()
        self.experiment = f"campaign-{uuid.uuid4().hex[:12]}"
        self.number = 0
        self.active: list[str] = []
        self.deleted: list[str] = []
        self.chance = random.Random(0)
        self.caches = [self.folder / self.experiment / name for name in ("here", "there")]
        self.log()

    @property
    def client(self) -> Any:
        return self.store._client

    @rule()
    def log(self) -> None:
        self.number += 1
        self.active.append(self.store.save(samples.small(self.experiment, self.number)))

    @rule(hours=st.sampled_from([1, 10_000]))
    def log_by_a_clock_that_runs_behind(self, hours: int) -> None:
        self.log()
        old = (datetime.now(UTC) - timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        self.client.set_tag(self.active[-1], CHANGED_AT, old)

    @rule()
    def leave_a_run_half_written(self) -> None:
        number = self.store.experiment_id(self.experiment)
        self.client.create_run(number, tags={"tracker.kind": "benchmark"})

    @precondition(lambda self: self.active)
    @rule(which=st.integers(0, 99), validity=st.sampled_from(["ok", "suspect", "invalid"]))
    def amend(self, which: int, validity: str) -> None:
        run_id = self.active[which % len(self.active)]
        changes = {"validity": validity, "note": f"correction {self.number}"}
        # As if by a clock that is years behind.
        self.store.amend(run_id, Amendment(at=samples.LOGGED_AT, by="x***", changes=changes, reason="r"))

    @precondition(lambda self: self.active)
    @rule(which=st.integers(0, 99))
    def delete(self, which: int) -> None:
        run_id = self.active.pop(which % len(self.active))
        self.client.delete_run(run_id)
        self.deleted.append(run_id)

    @precondition(lambda self: self.deleted)
    @rule(which=st.integers(0, 99))
    def restore(self, which: int) -> None:
        run_id = self.deleted.pop(which % len(self.deleted))
        self.client.restore_run(run_id)
        self.active.append(run_id)

    @precondition(lambda self: self.active)
    @rule(which=st.integers(0, 99))
    def delete_for_good(self, which: int) -> None:
        run_id = self.active.pop(which % len(self.active))
        self.client.delete_run(run_id)
        self.client._tracking_client.store._hard_delete_run(run_id)  # what `mlflow gc` calls
        self.read(1)

    @precondition(lambda self: self.active and self.deleted)
    @rule(which=st.integers(0, 99))
    def delete_one_and_restore_another(self, which: int) -> None:
        self.restore(which)
        self.delete(which)

    @precondition(lambda self: self.active)
    @rule(which=st.integers(0, 99))
    def edit_in_the_pages(self, which: int) -> None:
        run_id = self.active[which % len(self.active)]
        self.client.update_run(run_id, name=f"renamed {self.number}")
        self.client.set_tag(run_id, "validity", "edited by hand")

    @rule()
    def rename_the_campaign(self) -> None:
        name = f"campaign-{uuid.uuid4().hex[:12]}"
        self.client.rename_experiment(self.store.experiment_id(self.experiment), name)
        self.experiment = name

    @rule(machine=st.integers(0, 1), which=st.integers(0, 99), damage=st.sampled_from(sorted(DAMAGES)))
    def spoil_a_cache(self, machine: int, which: int, damage: str) -> None:
        files = sorted(path for path in self.caches[machine].rglob("*") if path.is_file())
        if files:
            path = files[which % len(files)]
            path.write_bytes(DAMAGES[damage](path.read_bytes()))

    @rule(machine=st.integers(0, 1))
    def delete_a_cache(self, machine: int) -> None:
        shutil.rmtree(self.caches[machine], ignore_errors=True)

    @rule()
    def copy_a_cache_from_the_other_machine(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            shutil.copytree(*self.caches, dirs_exist_ok=True)

    @rule(machine=st.integers(0, 1))
    def read(self, machine: int) -> None:
        reader = MlflowStore(self.store.uri, cache_dir=self.caches[machine])
        reader._connected = self.client

        assert reader.query(Query(experiment=self.experiment)) == by_search(self.store, self.experiment)

    @rule()
    def read_a_window(self) -> None:
        reader = MlflowStore(self.store.uri, cache_dir=self.caches[0])
        reader._connected = self.client
        moment = samples.LOGGED_AT
        expected = by_search(self.store, self.experiment)

        assert reader.query(Query(experiment=self.experiment, logged_since=moment)) == expected
        assert reader.query(Query(experiment=self.experiment, logged_until=moment)) == ()

    @invariant()
    def every_reading_is_right(self) -> None:
        self.read(0)

    def teardown(self) -> None:
        self.read(1)


@pytest.mark.usefixtures("small_pages")
def test_any_order_of_writing_correcting_deleting_and_reading_gives_the_answers_of_the_store(
    sqlite_store: MlflowStore, tmp_path: Path
) -> None:
    Interleaving.store, Interleaving.folder = sqlite_store, tmp_path / "caches"
    run_state_machine_as_test(
        Interleaving,
        settings=settings(
            max_examples=6, stateful_step_count=14, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("small_pages")
def test_many_orders_of_writing_correcting_deleting_and_reading_give_the_answers_of_the_store(
    sqlite_store: MlflowStore, tmp_path: Path
) -> None:
    Interleaving.store, Interleaving.folder = sqlite_store, tmp_path / "caches"
    run_state_machine_as_test(
        Interleaving,
        settings=settings(
            max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


@pytest.mark.usefixtures("small_pages")
def test_whatever_happens_to_its_files_the_answer_is_the_same(
    mlflow_store: MlflowStore, experiment: str, tmp_path: Path
) -> None:
    for number in range(6):
        mlflow_store.save(samples.small(experiment, number))
    query = Query(experiment=experiment)
    expected = mlflow_store.query(query)
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]

    assert len(files) >= 2
    assert expected == by_search(mlflow_store, experiment)
    for damage in DAMAGES.values():
        for path in files:
            if path.exists():
                path.write_bytes(damage(path.read_bytes()))
            assert mlflow_store.query(query) == expected
    shutil.rmtree(tmp_path / "cache")
    assert mlflow_store.query(query) == expected


def test_a_cache_that_cannot_be_written_changes_no_answer(
    sqlite_store: MlflowStore, make_run: MakeRun, experiment: str, tmp_path: Path
) -> None:
    sqlite_store.save(make_run())
    (tmp_path / "file").write_text("in the way")
    reader = MlflowStore(sqlite_store.uri, cache_dir=tmp_path / "file")

    assert reader.query(Query(experiment=experiment)) == by_search(sqlite_store, experiment)


def test_the_cache_of_another_store_at_the_same_address_is_not_believed(
    sqlite_folder: Path, empty_database: Path, experiment: str, tmp_path: Path
) -> None:
    def store() -> MlflowStore:
        return MlflowStore(f"sqlite:///{sqlite_folder}/mlflow.db", cache_dir=tmp_path / "cache")

    for number in range(3):
        store().save(samples.small(experiment, number))
    store().query(Query(experiment=experiment))
    shutil.copy(empty_database, sqlite_folder / "mlflow.db")
    for number in range(10, 13):
        store().save(samples.small(experiment, number))

    assert [run.record.name for run in store().query(Query(experiment=experiment))] == ["run 10", "run 11", "run 12"]


@pytest.mark.usefixtures("small_pages")
def test_a_database_put_back_to_an_earlier_state_is_read_as_it_is(
    sqlite_folder: Path, experiment: str, tmp_path: Path
) -> None:
    def store() -> MlflowStore:
        return MlflowStore(f"sqlite:///{sqlite_folder}/mlflow.db", cache_dir=tmp_path / "cache")

    ids = [store().save(samples.small(experiment, number)) for number in range(5)]
    shutil.copy(sqlite_folder / "mlflow.db", tmp_path / "backup.db")
    store().amend(ids[1], Amendment(at=samples.LOGGED_AT, by="x***", changes={"validity": "invalid"}, reason="r"))
    store().query(Query(experiment=experiment))
    shutil.copy(tmp_path / "backup.db", sqlite_folder / "mlflow.db")

    assert store().query(Query(experiment=experiment)) == by_search(store(), experiment)
    assert store().load(ids[1]).record.validity == "ok"


@pytest.mark.usefixtures("small_pages")
def test_a_run_of_a_late_clock_is_found_though_another_one_went_for_good(
    sqlite_store: MlflowStore, experiment: str
) -> None:
    ids = [sqlite_store.save(samples.small(experiment, number)) for number in range(1, 8)]
    sqlite_store.query(Query(experiment=experiment))
    client = sqlite_store._client
    client.delete_run(ids[2])
    client._tracking_client.store._hard_delete_run(ids[2])
    late = sqlite_store.save(samples.small(experiment, 0))  # measured first, so that no page of latest runs shows it
    client.set_tag(late, CHANGED_AT, "2026-11-01T00:00:00.000000Z")

    assert sqlite_store.query(Query(experiment=experiment)) == by_search(sqlite_store, experiment)


@pytest.mark.usefixtures("small_pages")
def test_known_runs_are_not_asked_for_again(
    mlflow_store: MlflowStore, experiment: str, asked: list[tuple[int, int]]
) -> None:
    ids = [mlflow_store.save(samples.small(experiment, number)) for number in range(12)]
    for run_id in ids:
        mlflow_store._client.set_tag(run_id, CHANGED_AT, "2026-11-01T00:00:00.000000Z")
    query = Query(experiment=experiment)
    mlflow_store.query(query)
    asked.clear()
    mlflow_store.query(query)
    nothing_new = sum(count for _, count in asked)
    mlflow_store._client.delete_run(ids[3])
    mlflow_store.save(samples.small(experiment, 12))
    mlflow_store.amend(ids[5], Amendment(at=samples.LOGGED_AT, by="x***", changes={"note": "n"}, reason="r"))
    asked.clear()
    found = mlflow_store.query(query)

    assert nothing_new <= 5
    assert sum(count for _, count in asked) <= 12
    assert found == by_search(mlflow_store, experiment)


@pytest.fixture
def asked(mlflow_store: MlflowStore, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Every search that MLflow's client was asked for, with the runs it returned."""
    client, answers = mlflow_store._client, []
    search = client.search_runs

    def counting(*arguments: Any, **options: Any) -> Any:
        page = search(*arguments, **options)
        answers.append((options.get("max_results", 0), len(page)))
        return page

    monkeypatch.setattr(client, "search_runs", counting)
    return answers


@pytest.mark.slow
def test_two_processes_that_use_one_cache_at_once_while_runs_are_written_both_read_right(
    sqlite_store: MlflowStore, experiment: str, tmp_path: Path
) -> None:
    sqlite_store.save(samples.small(experiment, 0))
    readers = [_reader(sqlite_store.uri, tmp_path / "cache", experiment) for _ in range(2)]
    with contextlib.ExitStack() as stack:
        started = [stack.enter_context(reader) for reader in readers]
        for number in range(1, 25):
            run_id = sqlite_store.save(samples.small(experiment, number))
            if number % 5 == 0:
                sqlite_store._client.delete_run(run_id)
        (tmp_path / "done").touch()
        for process in started:
            out, err = process.communicate(timeout=120)
            assert (process.returncode, err) == (0, "")
            assert int(out) > 1

    assert sqlite_store.query(Query(experiment=experiment)) == by_search(sqlite_store, experiment)
    assert len(by_search(sqlite_store, experiment)) == 21


@contextlib.contextmanager
def _reader(uri: str, cache: Path, experiment: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(CHILD), uri, str(cache), experiment, str(cache.parent / "done")]
    root = Path(__file__).parents[2]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root)
    try:
        yield process
    finally:
        process.kill()


def test_rows_are_the_same_whatever_happens_to_their_files(
    sqlite_store: MlflowStore, make_run: MakeRun, tmp_path: Path
) -> None:
    runs = [sqlite_store.load(sqlite_store.save(make_run(f"run {count}", request_count=count))) for count in (0, 1, 5)]
    expected = {run.run_id: sqlite_store.requests(run.run_id) for run in runs}
    sqlite_store.requests_many(runs)
    files = [path for path in (tmp_path / "cache").rglob("rows/*") if path.is_file()]

    assert len(files) == 2
    for damage in DAMAGES.values():
        for path in files:
            path.write_bytes(damage(path.read_bytes()))
            assert sqlite_store.requests_many(runs) == expected
    shutil.rmtree(tmp_path / "cache")
    assert sqlite_store.requests_many(runs) == expected
