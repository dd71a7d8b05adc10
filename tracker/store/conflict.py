"""The words for a record id that is already stored with other content."""

from __future__ import annotations

import dataclasses

from tracker.domain.record import RunRecord, StoredRun
from tracker.errors import RecordConflictError

SHOWN_FIELDS = 4
NOT_COMPARED = {"provenance", "findings", "amendments", "schema_version"}


def conflict(stored: StoredRun, record: RunRecord, *, where: str) -> RecordConflictError:
    """Return the error that says which run holds the id, what differs, and how to correct it."""
    names = [field.name for field in dataclasses.fields(RunRecord) if field.name not in NOT_COMPARED]
    differing = [name for name in names if getattr(stored.record, name) != getattr(record, name)]
    shown = ", ".join(differing[:SHOWN_FIELDS]) or "per-request rows or provenance"
    return RecordConflictError(
        f"this input is already logged as run {stored.run_id} ({stored.record.name}) with other content: {shown}",
        where=where,
        hint=f"Correct the stored run with `tracker amend {stored.run_id}`, or log the input as it was logged before",
    )
