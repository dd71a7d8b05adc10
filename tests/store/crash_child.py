"""Logs a run and kills itself with SIGKILL at a chosen point; started by test_faults.py.

A point is the moment before or after one of: a call of the MLflow client, a commit of the database, an fsync, a rename,
a removal of a file. The process forks once a point, after the imports, so that a hundred crashes take seconds.

Usage: crash_child.py URI FOLDER FIRST STEP LIMIT KIND, where KIND is benchmark or training; prints the number
of points tried, and 0 once no point was left.
"""

from __future__ import annotations

import functools
import inspect
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.store import samples
from tracker.store.mlflow_open import configure_mlflow, open_store
from tracker.store.spool import Spool
from tracker.store.sync import log


class Fuse:
    """Kills the process at the n-th point."""

    def __init__(self, point: int) -> None:
        self.left = point

    def burn(self, *_: Any) -> None:
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            self.burn()
            result = function(*args, **kwargs)
            self.burn()
            return result

        return wrapped


def arm(point: int) -> None:
    """Put a fuse at every point."""
    import sqlalchemy
    from mlflow import MlflowClient

    fuse = Fuse(point)
    for name, function in inspect.getmembers(MlflowClient, inspect.isfunction):
        if not name.startswith("_"):
            setattr(MlflowClient, name, fuse.around(function))
    sqlalchemy.event.listen(sqlalchemy.engine.Engine, "commit", fuse.burn)
    os.fsync = fuse.around(os.fsync)
    for name in ("replace", "unlink"):
        setattr(Path, name, fuse.around(getattr(Path, name)))


def crash_at(points: range, act: Callable[[int], bool]) -> str:
    """Let a process of its own act for each point, killed there; return the number of points tried, and 0 at the end.

    `act` is given the point and returns whether all went well, as it does once no point is left to be killed at.
    """
    import mlflow.store.tracking.sqlalchemy_store
    import pyarrow.parquet

    assert mlflow.store.tracking.sqlalchemy_store
    assert pyarrow.parquet
    for tried, point in enumerate(points, start=1):
        child = os.fork()
        if child == 0:
            arm(point)
            os._exit(0 if act(point) else 1)
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) == 0:
            return f"{tried} 0"
        if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
            sys.exit(f"point {point}: the child ended with {status} instead of being killed")
    return f"{len(points)} 1"


def main(uri: str, folder: Path, first: int, step: int, limit: int, kind: str) -> None:
    configure_mlflow(os.environ)
    make = samples.run if kind == "benchmark" else samples.training_run

    def act(point: int) -> bool:
        name = f"crash-{point:03}"
        run = make(name, experiment=folder.name, record_id=f"{folder.name}-{point}")
        return log(run, open_store(uri, environ={}), Spool(folder / name)).run_id is not None

    sys.stdout.write(crash_at(range(first, first + step * limit, step), act))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:6]), sys.argv[6])
