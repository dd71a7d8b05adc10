"""The command line, called as a user calls it, with a data folder of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tracker.cli.main import main


@dataclass(frozen=True)
class Outcome:
    """What a call left behind."""

    code: int
    out: str
    err: str


Cli = Callable[..., Outcome]


@pytest.fixture
def cli(
    tmp_path: Path, empty_database: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Cli:
    """Call the command line; its embedded store and spool lie in the test's own folder."""
    for name in ("TRACKER_TRACKING_URI", "MLFLOW_TRACKING_URI", "TRACKER_EXPERIMENT", "MLFLOW_EXPERIMENT_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRACKER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    # Making the schema takes seconds; every test begins with a copy of an empty database.
    shutil.copy(empty_database, tmp_path / "data" / "mlflow.db")

    def call(*arguments: str | Path) -> Outcome:
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        code = stop.value.code
        assert isinstance(code, int)
        return Outcome(code=code, out=captured.out, err=captured.err)

    return call
