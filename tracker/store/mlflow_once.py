"""One run a record, whatever happens: crashed processes, repeated requests, two machines at the same moment.

MLflow has no unique key of ours, so that copies can arise; they are removed by two rules under which a record that was
written whole by anybody always stays:

1. A whole copy is deleted only by somebody who sees an equal whole copy with a smaller run id. So the whole copy with
   the smallest id is never deleted, and all agree on it.
2. A copy that looks half-written is deleted, then read again: MLflow lets nobody write into a deleted run, so what is
   read is its last state. If its writer has finished in between, it is restored, and rule 1 decides; if not, its
   writer is refused, starts again, and finds the whole copy.
3. Of two whole copies with other content, each writer takes back its own and reports a conflict; its spool has it.

When to look for copies follows from it: once a writer's own run is there, at any time. Of two writers the one who made
its run later sees the other's when it looks, and settles both when it has written its own. A run that was discarded
between its last write and its end is noticed by the call that ends it, which MLflow refuses for a deleted run.
"""

from __future__ import annotations

from typing import Any

from tracker.store.mlflow_read import is_complete, record_condition, search
from tracker.store.mlflow_write import CONTENT_SHA256, RECORD_ID, RECORD_SHA256


def runs_of(client: Any, record_id: str, experiment_ids: list[str]) -> list[Any]:
    """Return all active runs of a record by run id."""
    found = search(client, experiment_ids, record_condition(record_id))
    runs = [run for run in found if run.data.tags.get(RECORD_ID) == record_id]
    return sorted(runs, key=lambda run: str(run.info.run_id))


def whole(runs: list[Any]) -> list[Any]:
    """Return the runs that were written to their end; the first is the one that stays."""
    return [run for run in runs if is_complete(run)]


def has_copies(client: Any, record_id: str, run_id: str, experiment_ids: list[str]) -> bool:
    """Return whether the record has other runs than this one, which itself need not be read back for the answer."""
    condition = f"{record_condition(record_id)} AND attributes.run_id != '{run_id}'"
    return any(True for _ in search(client, experiment_ids, condition))


def settle(
    client: Any, record_id: str, experiment_ids: list[str], *, content_sha256: str, own: str | None = None
) -> Any | None:
    """Remove all copies of a record but one and return that one; None when no whole copy is there.

    Args:
        client: MlflowClient.
        record_id: The record.
        experiment_ids: Where to look.
        content_sha256: Content that the caller wants stored.
        own: Run that the caller has just written.
    """
    while True:
        runs = runs_of(client, record_id, experiment_ids)
        complete = whole(runs)
        if not complete:
            return None
        others = [run for run in complete if run.data.tags.get(CONTENT_SHA256) != content_sha256]
        if own is not None and others:
            client.delete_run(own)
            return others[0]
        kept = complete[0]
        for copy in complete[1:]:
            if copy.data.tags.get(CONTENT_SHA256) == kept.data.tags.get(CONTENT_SHA256):
                client.delete_run(copy.info.run_id)
        finished_meanwhile = [discard(client, run.info.run_id) for run in runs if not is_complete(run)]
        if not any(finished_meanwhile):
            return kept


def resumable(client: Any, half_written: list[Any], *, record_sha256: str, experiment_id: str) -> Any | None:
    """Return the half-written run that holds the beginning of exactly this record; discard any other."""
    kept: Any | None = None
    for run in half_written:
        same = run.data.tags.get(RECORD_SHA256) == record_sha256 and run.info.experiment_id == experiment_id
        if kept is None and same:
            kept = run
        else:
            discard(client, run.info.run_id)
    return kept


def discard(client: Any, run_id: str) -> bool:
    """Delete a half-written run; restore it and return True if its writer has finished it in the meantime."""
    client.delete_run(run_id)
    if not is_complete(client.get_run(run_id)):
        return False
    client.restore_run(run_id)
    return True
