"""Memos made in another store name runs by the ids they had there; what changed since is told in today's."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracker.domain.record import StoredRun
from tracker.workflows.memo_archive import ArchivedMemo


def named_as_here(memos: Iterable[ArchivedMemo], runs: Sequence[StoredRun]) -> tuple[ArchivedMemo, ...]:
    """Return earlier memos with the ids that their runs have in this store; a run that is not here keeps its id."""
    here = {earlier: run.run_id for run in runs for earlier in run.earlier_ids}
    if not here:
        return tuple(memos)
    return tuple(dataclasses.replace(memo, content=_renamed(memo.content, here)) for memo in memos)


def _renamed(value: Any, here: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {here.get(key, key): _renamed(item, here) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(item, here) for item in value]
    return here.get(value, value) if isinstance(value, str) else value
