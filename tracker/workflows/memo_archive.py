"""The memos already written into a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

from tracker import report
from tracker.workflows.files import write_all

MEMO_JSON = "memo.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedMemo:
    """One memo in the reports folder."""

    folder: Path
    """Where it lies."""
    content: Mapping[str, Any]
    """Its memo.json."""
    generated_at: datetime
    """When it was made, UTC."""
    until: datetime
    """End of its window, UTC."""


def archived(out: Path, experiment: str) -> tuple[ArchivedMemo, ...]:
    """Return the memos of one campaign below `out`, oldest first; files that are no memo of ours are passed over."""
    found = []
    for file in sorted(out.glob(f"*/{MEMO_JSON}")):
        memo = _read(file)
        if memo is not None and memo.content.get("experiment") == experiment:
            found.append(memo)
    return tuple(sorted(found, key=lambda memo: memo.generated_at))


def write_index(out: Path, zone: tzinfo) -> Path:
    """Write index.html over all memos below `out` and return its path.

    Raises:
        InputError: The folder cannot be written.
    """
    memos = [memo for file in sorted(out.glob(f"*/{MEMO_JSON}")) if (memo := _read(file)) is not None]
    entries = [report.entry_from(memo.content, f"{memo.folder.name}/memo.html", zone) for memo in memos]
    write_all(out, {"index.html": report.render_index(entries).encode()})
    return out / "index.html"


def folder_name(experiment: str, generated_at: datetime) -> str:
    """Return the folder of a memo: day and campaign; a second memo on one day replaces the first."""
    return f"{generated_at:%Y-%m-%d}-{experiment}"


def _read(file: Path) -> ArchivedMemo | None:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        generated_at = datetime.fromisoformat(content["generated_at"]).astimezone(UTC)
        until = datetime.fromisoformat(content["until"]).astimezone(UTC)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return ArchivedMemo(folder=file.parent, content=content, generated_at=generated_at, until=until)
