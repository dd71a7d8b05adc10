"""The spool: whole or absent, never lost."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.store import samples
from tracker.domain.record import LoggedRun
from tracker.errors import InputError, RecordConflictError, StoreError
from tracker.store import codec
from tracker.store.base import Query
from tracker.store.failures import DamagedError, StoreDownError
from tracker.store.memory import MemoryStore
from tracker.store.mlflow_open import open_store
from tracker.store.spool import Spool
from tracker.store.spooled_campaigns import pending_campaigns
from tracker.store.sync import log, log_many, sync

MakeRun = Callable[..., LoggedRun]


@pytest.fixture
def dead_store(tmp_path: Path) -> object:
    return open_store("http://127.0.0.1:9", environ={}, cache_dir=tmp_path / "cache")


def test_a_run_waits_in_a_file_of_its_own_until_it_is_done(spool: Spool) -> None:
    assert spool.pending() == ()
    path = spool.put(samples.run())

    assert spool.pending() == (path,)
    assert spool.read(path) == samples.run()
    spool.done(path)
    assert spool.pending() == ()
    assert list(spool.folder.iterdir()) == []


def test_the_same_run_twice_is_one_file_and_another_is_another(spool: Spool) -> None:
    paths = [spool.put(samples.run()), spool.put(samples.run()), spool.put(samples.run(role="baseline"))]

    assert paths[0] == paths[1]
    assert len(spool.pending()) == 2


def test_files_are_named_so_that_people_recognise_them_and_sorted_by_time(spool: Spool) -> None:
    path = spool.put(samples.run("../../<b> ü / name"))

    assert path.parent == spool.folder
    assert path.name.startswith("20261129T203015-")
    assert "name-" in path.name


@pytest.fixture
def closed(spool: Spool) -> Iterator[Spool]:
    """A spool with a run, whose folder this process may not look into; root gives up its rights for that."""
    spool.put(samples.run())
    spool.folder.chmod(0)
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    yield spool
    os.seteuid(was)
    spool.folder.chmod(0o700)


def test_a_spool_that_cannot_be_read_is_not_taken_for_an_empty_one(closed: Spool) -> None:
    for ask in (closed.pending, closed.damaged, lambda: pending_campaigns(closed), lambda: sync(MemoryStore(), closed)):
        with pytest.raises(StoreError, match="the spool cannot be read: Permission denied"):
            ask()
    with pytest.raises(StoreError, match="the spool cannot be written: Permission denied"):
        closed.try_writing()


@pytest.mark.parametrize("keep", [0, 10, 200, -1])
def test_a_truncated_file_is_noticed(spool: Spool, keep: int) -> None:
    path = spool.put(samples.run())
    path.write_bytes(path.read_bytes()[:keep])

    with pytest.raises(DamagedError) as caught:
        spool.read(path)

    assert str(path) in str(caught.value)


def test_a_flipped_bit_is_noticed(spool: Spool) -> None:
    path = spool.put(samples.run())
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)

    with pytest.raises(DamagedError, match="does not match its digest"):
        spool.read(path)


def test_logging_into_a_store_that_answers_leaves_nothing_behind(spool: Spool) -> None:
    store = MemoryStore()

    logged = log(samples.run(), store, spool)

    assert logged.error is None
    assert logged.spooled_path is None
    assert logged.run_id is not None
    assert store.load(logged.run_id).record == samples.record()
    assert spool.pending() == ()


def test_logging_into_a_dead_store_keeps_the_run_and_sync_sends_it(spool: Spool, dead_store: MemoryStore) -> None:
    logged = log(samples.run(), dead_store, spool)

    assert logged.run_id is None
    assert logged.spooled_path is not None
    assert isinstance(logged.error, StoreDownError)

    store = MemoryStore()
    outcomes = sync(store, spool)

    assert [outcome.status for outcome in outcomes] == ["sent"]
    assert outcomes[0].run_id is not None
    assert store.load(outcomes[0].run_id).record == samples.record()
    assert spool.pending() == ()


def test_several_runs_are_all_on_the_disk_and_a_dead_store_is_asked_once(spool: Spool, dead_store: MemoryStore) -> None:
    runs = [samples.run(str(i), record_id=str(i)) for i in range(20)]

    logged = log_many(runs, dead_store, spool)

    assert len(spool.pending()) == len(runs)
    assert {item.error for item in logged} == {logged[0].error}


def test_one_bad_file_does_not_stop_the_others(spool: Spool) -> None:
    store = MemoryStore()
    store.save(samples.run("taken", record_id="taken"))
    conflicting = spool.put(samples.run("taken", record_id="taken", role="baseline"))
    damaged = spool.put(samples.run("damaged", record_id="damaged"))
    damaged.write_bytes(damaged.read_bytes()[:-5])
    spool.put(samples.run("good", record_id="good"))

    outcomes = sync(store, spool)

    assert sorted(outcome.status for outcome in outcomes) == ["conflict", "damaged", "sent"]
    assert spool.pending() == (conflicting,)
    conflict = next(outcome for outcome in outcomes if outcome.status == "conflict")
    assert isinstance(conflict.error, RecordConflictError)
    assert conflict.name == "taken"
    aside = next(outcome for outcome in outcomes if outcome.status == "damaged").path
    assert aside.parent == spool.folder / "bad"
    assert aside.exists()
    assert "does not match its digest" in aside.with_suffix(".reason.txt").read_text()


def test_a_run_of_a_newer_tracker_stays_where_it_is(spool: Spool) -> None:
    path = spool.put(samples.run())
    newer = codec.encode_logged_run(samples.run()).replace(b'"schema_version":1', b'"schema_version":7')
    import hashlib

    path.write_bytes(b"tracker-spool 1 sha256 " + hashlib.sha256(newer).hexdigest().encode() + b"\n" + newer)

    outcomes = sync(MemoryStore(), spool)

    assert [(outcome.status, outcome.path) for outcome in outcomes] == [("failed", path)]
    assert "Upgrade tracker" in str(outcomes[0].error)
    assert path.exists()


def test_a_name_that_no_store_takes_is_refused_before_anything_is_written(spool: Spool) -> None:
    with pytest.raises(InputError):
        log_many([samples.run(), samples.run(experiment="a/b")], MemoryStore(), spool)

    assert spool.pending() == ()


def test_a_spool_that_cannot_be_written_does_not_keep_a_run_from_the_store(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    store = MemoryStore()

    logged = log(samples.run(), store, Spool(blocked / "spool"))

    assert logged.run_id is not None
    assert store.load(logged.run_id).record == samples.record()
    assert "could not be written to the local spool" in str(logged.error)


def test_a_run_that_is_nowhere_says_so_with_both_reasons(tmp_path: Path, dead_store: MemoryStore) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")

    logged = log(samples.run(), dead_store, Spool(blocked / "spool"))

    assert (logged.run_id, logged.spooled_path) == (None, None)
    assert "stored nowhere" in str(logged.error)
    assert "does not answer" in str(logged.error)


def test_a_full_disk_is_one_clear_error_and_leaves_nothing_half_written(spool: Spool) -> None:
    spool.put(samples.run("before", record_id="before"))
    script = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from tests.store import samples; from tracker.store.spool import Spool\n"
        "from tracker.errors import StoreError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try: Spool(Path(sys.argv[1])).put(samples.run('big'))\n"
        "except StoreError as error: print(error)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script, str(spool.folder)], capture_output=True, text=True, check=True, cwd=Path.cwd()
    )

    assert "could not be written to the local spool: File too large" in done.stdout
    assert "Free some space" in done.stdout
    assert [path.name for path in spool.folder.iterdir()] == [spool.pending()[0].name]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_no_space_left_is_told_by_that_name(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def full(handle: int) -> None:
        if os.fstat(handle).st_size > 1000:
            with Path("/dev/full").open("wb", buffering=0) as device:
                device.write(b"x")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(StoreError, match="No space left on device"):
        spool.put(samples.run())

    assert list(spool.folder.iterdir()) == []


def test_two_processes_never_send_one_file_at_once(spool: Spool) -> None:
    path = spool.put(samples.run())
    inside = threading.Event()
    order: list[str] = []

    def other() -> None:
        inside.wait()
        with spool.sending(path):
            order.append("other")

    thread = threading.Thread(target=other)
    thread.start()
    with spool.sending(path):
        inside.set()
        thread.join(timeout=0.3)
        order.append("first")
    thread.join()

    assert order == ["first", "other"]
    assert list((spool.folder / "sending").iterdir()) == []


def test_a_sent_run_is_found_whole_after_many_syncs(spool: Spool) -> None:
    store = MemoryStore()
    for i in range(3):
        spool.put(samples.run(str(i), record_id=str(i)))
    sync(store, spool)
    for i in range(3):
        spool.put(samples.run(str(i), record_id=str(i)))

    outcomes = sync(store, spool)

    assert [outcome.status for outcome in outcomes] == ["sent"] * 3
    assert len(store.query(Query())) == 3
