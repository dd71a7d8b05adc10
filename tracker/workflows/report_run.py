"""Keeping a memo in the store: a run of kind `report` beside the runs it speaks of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from tracker import report
from tracker.domain.record import StoredRun
from tracker.errors import StoreError
from tracker.store.base import ReportRun, RunStore, StoredReport

SHOWN_DIGITS = 6  # memo.json has all


def keep_report(
    store: RunStore, *, key: str, runs: Sequence[StoredRun], files: Mapping[str, bytes], memo: Mapping[str, Any]
) -> StoredReport | StoreError:
    """Return the memo as the store keeps it, or why it does not: the memo itself is on disk already.

    Args:
        store: Where the runs are.
        key: Name of the memo within its campaign; the same key again replaces it.
        runs: Runs that the memo was made from.
        files: The memo's files by name, memo.json among them.
        memo: What memo.json says.
    """
    shown = {str(row["run_id"]) for row in memo["runs"]}
    try:
        return store.save_report(
            memo["experiment"],
            ReportRun(
                key=key,
                generated_at=datetime.fromisoformat(memo["generated_at"]),
                verdict=memo["verdict"]["status"] if memo["verdict"]["comparable"] else memo["state"],
                headline=memo["headline"],
                files={name: content for name, content in files.items() if name != "memo.eml"},
                run_ids=tuple(run.run_id for run in runs if run.run_id in shown),
                params={"since": memo["since"], "until": memo["until"], "memo_number": str(memo["memo_number"])},
                metrics=_metrics(memo),
            ),
        )
    except StoreError as error:
        return error


def linked(memo_json: bytes, kept: StoredReport) -> bytes:
    """Return memo.json with the run that keeps the memo."""
    return report.with_report_run(memo_json.decode(), run_id=kept.run_id, url=kept.url).encode()


def _metrics(memo: Mapping[str, Any]) -> dict[str, float]:
    """Return the verdict's number and its bar at the load that matters, as columns beside the runs."""
    loads = memo["verdict"]["by_concurrency"]
    wanted = memo["verdict"]["decision_concurrency"]
    load = next((item for item in loads if item["concurrency"] == wanted), loads[0] if loads else None)
    if load is None:
        return {}
    row = next(
        (
            item
            for item in memo["evidence"]
            if (item["run_id"], item["concurrency"]) == (load["best_run_id"], load["concurrency"])
        ),
        None,
    )
    found = {
        "report/speedup": load["speedup"]["value"],
        "report/speedup_low": load["speedup"]["low"],
        "report/speedup_high": load["speedup"]["high"],
        "report/break_even": None if row is None else row["break_even"]["value"],
        "report/accept_length": None if row is None else row["accept_length"],
    }
    return {key: float(f"{value:.{SHOWN_DIGITS}g}") for key, value in found.items() if value is not None}
