"""demo: log the example campaigns into a store of their own and write their memos."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import timedelta, tzinfo
from pathlib import Path

from tracker.resources import experiments_dir
from tracker.workflows.log_run import LogRequest, log_run
from tracker.workflows.report import Memo, ReportRequest, write_reports
from tracker.workflows.session import Session

STORE_FOLDER = "store"
EXAMPLES = ("h200-tiny-llama", "kimi-k2.5-eagle3")


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """What the demo made."""

    memos: tuple[Memo, ...]
    """One a campaign."""
    store_uri: str
    """Where the runs are."""
    runs: int
    """How many."""


def run_demo(out: Path, session: Session, zone: tzinfo) -> DemoResult:
    """Log every example campaign and write its memo; a second call finds the same runs and adds none.

    Raises:
        TrackerError: As for log_run and write_reports.
    """
    memos: list[Memo] = []
    runs = 0
    # A window ends before its end: the report is made a moment after the last run was logged.
    later = dataclasses.replace(session, now=session.now + timedelta(seconds=1))
    for folder in _examples():
        logged = log_run(LogRequest(inputs=(folder,)), session)
        if logged.store_error is not None:
            raise logged.store_error
        ids = [item.run_id for item in logged.outcomes if item.run_id is not None]
        runs += len(ids)
        request = ReportRequest(
            since=f"run:{ids[0]}", experiment=logged.outcomes[0].record.experiment, out=out, zone=zone
        )
        memos += write_reports(request, later).memos
    return DemoResult(memos=tuple(memos), store_uri=session.store().uri, runs=runs)


def _examples() -> tuple[Path, ...]:
    """Return the example campaigns."""
    return tuple(experiments_dir() / name for name in EXAMPLES)
