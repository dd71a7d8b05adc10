"""Two people log while a third one reports, on each kind of store, for a minute: nobody sees an error."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.store.conftest import MakeRun
from tracker.store.base import Query
from tracker.store.mlflow_open import sqlite_uri
from tracker.store.mlflow_store import MlflowStore
from tracker.store.spool import Spool

BUSY_CHILD = Path(__file__).with_name("busy_child.py")
SECONDS = 60
ROLES = ("write", "write", "report")


@dataclass(frozen=True)
class Crowd:
    """Three people at one store."""

    kind: str
    store: MlflowStore
    folder: Path
    people: tuple[subprocess.Popen[str], ...]


def start(kind: str, store: MlflowStore, uri: str, experiment: str, folder: Path) -> Crowd:
    people = []
    for number, role in enumerate(ROLES):
        own = folder / f"{kind}-{number}"
        own.mkdir()
        command = [sys.executable, str(BUSY_CHILD), role, uri, str(own), experiment, str(SECONDS)]
        people.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    return Crowd(kind=kind, store=store, folder=folder, people=tuple(people))


def assert_nothing_went_wrong(crowd: Crowd, experiment: str) -> str:
    """Wait for the three, look at the store with MLflow's own client, and return the figures."""
    ended = [(child.communicate(timeout=SECONDS * 5), child.returncode) for child in crowd.people]
    assert [code for _, code in ended] == [0, 0, 0], [errors[-3000:] for (_, errors), _ in ended]
    assert not any(errors for (_, errors), _ in ended), "something was said that a user would have seen"
    *written, reported = [int(out) for (out, _), _ in ended]
    assert min(*written, reported) > 0
    expected = 1 + sum(written)
    client = crowd.store.client
    shown, token = [], None
    while True:
        page = client.search_runs([crowd.store.experiment_id(experiment)], max_results=1000, page_token=token)
        shown += page
        token = page.token
        if not token:
            break
    kinds = Counter(run.data.tags.get("tracker.kind") for run in shown)
    copies = Counter(run.data.tags.get("tracker.record_id") for run in shown if "tracker.record_id" in run.data.tags)
    runs = crowd.store.query(Query(experiment=experiment))
    lost = expected - len({run.record.record_id for run in runs})
    doubled = sum(count - 1 for count in copies.values())
    assert (lost, doubled) == (0, 0)
    assert len(runs) == expected
    assert kinds == {"benchmark": expected, "report": 1}, "a half-written run is left"
    waiting = [path for n in range(len(ROLES)) for path in Spool(crowd.folder / f"{crowd.kind}-{n}/spool").pending()]
    assert waiting == []
    return f"{crowd.kind}: {SECONDS} s, {written} runs, {reported} reports, lost {lost}, doubled {doubled}"


# A minute for the two on SQLite at once, and one for PostgreSQL: two in all.
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kinds", [("sqlite", "server"), ("postgres",)], ids=["sqlite", "postgres"])
def test_two_write_and_one_reports_for_a_minute_without_an_error(
    kinds: tuple[str, ...], request: pytest.FixtureRequest, make_run: MakeRun, experiment: str, tmp_path: Path
) -> None:
    crowds = []
    for kind in kinds:
        store: MlflowStore = request.getfixturevalue(f"{kind}_store")
        uri = sqlite_uri(request.getfixturevalue("sqlite_folder") / "mlflow.db") if kind == "sqlite" else store.uri
        store.save(make_run())
        crowds.append(start(kind, store, uri, experiment, tmp_path))

    figures = [assert_nothing_went_wrong(crowd, experiment) for crowd in crowds]

    print("\n".join(figures))  # noqa: T201 - the figures that the proof is about
