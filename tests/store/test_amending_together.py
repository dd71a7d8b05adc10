"""Several people correct one run at the same moment, in processes of their own: every correction stays, once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.store import samples
from tests.store.conftest import MakeRun
from tracker.domain.record import Amendment
from tracker.store.mlflow_amendments import PREFIX, amended, amendment_tags, kept_in
from tracker.store.mlflow_note import note
from tracker.store.mlflow_open import sqlite_uri
from tracker.store.mlflow_projection import CHANGED_AT, project
from tracker.store.mlflow_store import MlflowStore

CHILD = Path(__file__).with_name("amend_child.py")
ROOT = Path(__file__).parents[2]


def correction(**changes: object) -> Amendment:
    return Amendment(at=samples.LOGGED_AT, by="m***", changes=changes, reason="looked again")


def assert_all_stay(store: MlflowStore, uri: str, run_id: str, folder: Path, *, processes: int, count: int) -> None:
    folder.mkdir()
    started = [
        subprocess.Popen(
            [sys.executable, str(CHILD), uri, run_id, str(folder), str(index), str(processes), str(count)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for index in range(processes)
    ]  # fmt: skip
    for process in started:
        out, err = process.communicate(timeout=300)
        assert (process.returncode, out, err) == (0, "", "")

    from mlflow import MlflowClient

    record = store.load(run_id).record
    told = Counter((amendment.by, amendment.reason) for amendment in record.amendments)
    assert told == {(f"person-{p}", f"turn {t}"): 1 for p in range(processes) for t in range(count)}
    last = {f"p{p}t{count - 1}" for p in range(processes)}
    assert {key for key in record.tags if key.startswith("p")} == last
    shown = MlflowClient(tracking_uri=store.uri).get_run(run_id).data.tags
    expected = {key: text for key, text in project(record).tags.items() if key != CHANGED_AT}
    assert shown[CHANGED_AT] >= project(record).tags[CHANGED_AT]
    assert {key: shown.get(key) for key in expected} == expected
    assert {key for key in shown if key.startswith("user.p")} == {f"user.{key}" for key in last}
    assert shown["mlflow.note.content"] == note(record)
    print(f"{processes} x {count} corrections at once: lost 0, doubled 0")  # noqa: T201 - the figure


@pytest.mark.slow
def test_two_people_who_correct_one_run_at_once_both_stay(
    sqlite_store: MlflowStore, sqlite_folder: Path, make_run: MakeRun, tmp_path: Path
) -> None:
    run_id = sqlite_store.save(make_run())

    uri = sqlite_uri(sqlite_folder / "mlflow.db")
    assert_all_stay(sqlite_store, uri, run_id, tmp_path / "meet", processes=2, count=3)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["sqlite", "server", "postgres"])
def test_four_people_who_correct_one_run_at_once_all_stay(
    kind: str, request: pytest.FixtureRequest, make_run: MakeRun, tmp_path: Path
) -> None:
    store: MlflowStore = request.getfixturevalue(f"{kind}_store")
    run_id = store.save(make_run())
    uri = sqlite_uri(request.getfixturevalue("sqlite_folder") / "mlflow.db") if kind == "sqlite" else store.uri

    assert_all_stay(store, uri, run_id, tmp_path / "meet", processes=4, count=8)


def test_all_readers_apply_corrections_of_the_same_moment_in_the_same_order() -> None:
    one, other = amendment_tags(correction(note="one"), {}), amendment_tags(correction(note="other"), {})

    record = amended(samples.record(), one | other)

    assert record == amended(samples.record(), dict(reversed((one | other).items())))
    assert [kept.number for kept in kept_in(one | other)] == [1, 1]
    assert {amendment.changes["note"] for amendment in record.amendments} == {"one", "other"}
    assert record.note == record.amendments[-1].changes["note"]


def test_a_correction_made_later_wins_even_where_its_author_has_a_slow_clock() -> None:
    tags = amendment_tags(correction(note="first"), {})
    slow = Amendment(at=samples.LOGGED_AT.replace(year=2020), by=None, changes={"note": "second"})

    tags |= amendment_tags(slow, tags)

    assert amended(samples.record(), tags).note == "second"


def test_the_same_correction_sent_again_is_one() -> None:
    tags = amendment_tags(correction(note="first"), {})

    assert amendment_tags(correction(note="first"), tags) == {}


def test_a_correction_longer_than_a_tag_is_kept_in_parts_and_half_of_one_is_not_counted() -> None:
    long = correction(note="Ü" * 30_000)
    tags = amendment_tags(long, {})

    assert len(tags) > 3
    assert max(map(len, tags.values())) <= 8000
    assert amended(samples.record(), tags).amendments == (long,)
    tags.pop(max(key for key in tags if key.startswith(PREFIX)))
    assert amended(samples.record(), tags) == samples.record()


def test_an_amended_run_keeps_what_was_logged_and_shows_who_corrected_it(
    sqlite_store: MlflowStore, make_run: MakeRun
) -> None:
    from mlflow import MlflowClient

    from tracker.store.codec import decode_record

    run = make_run()
    run_id = sqlite_store.save(run)
    sqlite_store.amend(run_id, correction(validity="invalid", note="n" * 20_000))
    client = MlflowClient(tracking_uri=sqlite_store.uri)

    assert decode_record(Path(client.download_artifacts(run_id, "record.json")).read_bytes()) == run.record
    tags = client.get_run(run_id).data.tags
    assert [kept.amendment.by for kept in kept_in(tags)] == ["m***"]
    assert any(key.startswith(PREFIX) for key in tags)
    assert "INVALID" in Path(client.download_artifacts(run_id, "README.md")).read_text()
