"""Logs or reports over and over for a while, as people do; started by test_together.py.

Usage: busy_child.py write|report URI FOLDER EXPERIMENT SECONDS; prints how often it did, and ends with 1 and the error
at the first one that a user would have seen.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from tests.store import samples
from tracker.store.spool import Spool
from tracker.store.sync import log
from tracker.workflows.report import ReportRequest, write_reports
from tracker.workflows.session import Session


def writing(session: Session, folder: Path, experiment: str) -> Callable[[], None]:
    spool = Spool(folder / "spool")

    def write() -> None:
        name = uuid.uuid4().hex
        moment = samples.provenance(logged_at=datetime.now(UTC))
        run = samples.run(name, experiment=experiment, record_id=samples.sha(name), provenance=moment)
        logged = log(run, session.store(), spool)
        if logged.error is not None:
            raise logged.error

    return write


def reporting(session: Session, folder: Path, experiment: str) -> Callable[[], None]:
    def report() -> None:
        session.now = datetime.now(UTC)
        write_reports(ReportRequest(since="7d", experiment=experiment, out=folder / "reports"), session)

    return report


def main(role: str, uri: str, folder: Path, experiment: str, seconds: float) -> None:
    session = Session(now=datetime.now(UTC), environ={}, cwd=folder, tracking_uri=uri, folder=folder)
    action = (writing if role == "write" else reporting)(session, folder, experiment)
    done, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        action()
        done += 1
    sys.stdout.write(str(done))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4], float(sys.argv[5]))
