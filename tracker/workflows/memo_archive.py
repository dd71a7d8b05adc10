"""The memos already written: those in a folder, else those the store keeps."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

import msgspec

from tracker import report
from tracker.store.base import RunStore
from tracker.workflows.files import write_all

MEMO_JSON = "memo.json"
DECISION_JSON = "decision.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedMemo:
    """One memo in the reports folder."""

    key: str
    """Its folder's name, which is also its name in the store."""
    content: Mapping[str, Any]
    """Its memo.json."""
    generated_at: datetime
    """When it was made, UTC."""
    until: datetime
    """End of its window, UTC."""
    folder: Path | None = None
    """Where it lies; None for one read from the store."""
    decision: Mapping[str, Any] | None = None
    """The decision taken on it."""


def archived(out: Path, experiment: str, *, but: str = "") -> tuple[ArchivedMemo, ...]:
    """Return the memos of one campaign below `out`, oldest first; files that are no memo of ours are passed over."""
    found = []
    for file in sorted(out.glob(f"*/{MEMO_JSON}")):
        memo = None if file.parent.name == but else _read(file)
        if memo is not None and memo.content.get("experiment") == experiment:
            found.append(memo)
    return tuple(sorted(found, key=lambda memo: memo.generated_at))


def earlier_memos(out: Path, experiment: str, store: RunStore, *, before: str) -> tuple[ArchivedMemo, ...]:
    """Return the memos of one campaign other than `before`, oldest first: of the folder, else those in the store.

    Raises:
        StoreError: The store is unreachable.
    """
    local = archived(out, experiment, but=before)
    if local:
        return local
    reports = (memo for memo in store.reports(experiment) if memo.key != before)
    kept = (_parsed(memo.memo_json, memo.decision_json, key=memo.key) for memo in reports)
    return tuple(memo for memo in kept if memo is not None)


def write_index(out: Path, zone: tzinfo) -> Path:
    """Write index.html over all memos below `out` and return its path.

    Raises:
        InputError: The folder cannot be written.
    """
    memos = [memo for file in sorted(out.glob(f"*/{MEMO_JSON}")) if (memo := _read(file)) is not None]
    entries = [report.entry_from(memo.content, f"{memo.key}/memo.html", zone) for memo in memos]
    write_all(out, {"index.html": report.render_index(entries).encode()})
    return out / "index.html"


def folder_name(experiment: str, generated_at: datetime) -> str:
    """Return the folder of a memo: day and campaign; a second memo on one day replaces the first."""
    return f"{generated_at:%Y-%m-%d}-{experiment}"


def _read(file: Path) -> ArchivedMemo | None:
    try:
        content = file.read_bytes()
        beside = file.with_name(DECISION_JSON)
        decision = beside.read_bytes() if beside.is_file() else None
    except OSError:
        return None
    memo = _parsed(content, decision, key=file.parent.name)
    return None if memo is None else dataclasses.replace(memo, folder=file.parent)


def _parsed(content: bytes, decision: bytes | None, *, key: str) -> ArchivedMemo | None:
    """Return a memo from its bytes; None for what is no memo of ours."""
    try:
        memo = msgspec.json.decode(content)
        generated_at = datetime.fromisoformat(memo["generated_at"]).astimezone(UTC)
        until = datetime.fromisoformat(memo["until"]).astimezone(UTC)
        taken = None if decision is None else msgspec.json.decode(decision)
    except (msgspec.MsgspecError, ValueError, KeyError, TypeError):
        return None
    return ArchivedMemo(key=key, content=memo, generated_at=generated_at, until=until, decision=taken)
