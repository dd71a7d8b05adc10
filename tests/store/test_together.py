"""Two people log while a third one reports, on each kind of store, for a while: nobody sees an error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.store.conftest import MakeRun
from tracker.store.base import Query
from tracker.store.mlflow_open import sqlite_uri
from tracker.store.mlflow_store import MlflowStore

BUSY_CHILD = Path(__file__).with_name("busy_child.py")
SECONDS = 20
ROLES = ("write", "write", "report")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_two_write_and_one_reports_without_an_error(
    kind: str, request: pytest.FixtureRequest, make_run: MakeRun, experiment: str, tmp_path: Path
) -> None:
    store: MlflowStore = request.getfixturevalue(f"{kind}_store")
    uri = store.uri if kind == "postgres" else sqlite_uri(request.getfixturevalue("sqlite_folder") / "mlflow.db")
    store.save(make_run())
    children = []
    for number, role in enumerate(ROLES):
        folder = tmp_path / f"person-{number}"
        folder.mkdir()
        command = [sys.executable, str(BUSY_CHILD), role, uri, str(folder), experiment, str(SECONDS)]
        children.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    ended = [(child.communicate(timeout=SECONDS * 5), child.returncode) for child in children]

    assert [code for _, code in ended] == [0, 0, 0], [errors[-3000:] for (_, errors), _ in ended]
    *written, reported = [int(out) for (out, _), _ in ended]
    assert min(*written, reported) > 0
    runs = store.query(Query(experiment=experiment))
    assert len(runs) == len({run.record.record_id for run in runs}) == 1 + sum(written)
    sys.stderr.write(f"{kind}: {written} runs, {reported} reports\n")
