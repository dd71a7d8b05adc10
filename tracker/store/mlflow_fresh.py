"""Bringing what is known of a campaign up to date with few questions, and proving it by counting.

MLflow's search loads every parameter, metric and tag of each run it returns: 3 to 12 ms a run (measured, 3.17), with no
way to ask for less. So runs that are known are not asked for again:

1. Changes: every run and every correction carries the time of its writing (`tracker.changed_at`); the search sorts by
   it, newest first, and is left at the first run older than what was read up to.
2. Deletions and restorations change no tag: known deleted runs are looked for among the active ones by id, and the
   number of deleted runs is compared; where it differs, the deleted ones are listed.
3. The number of runs is compared with what is known. Whatever made it differ (a run written meanwhile or by a clock
   that runs behind, `mlflow gc`, a database put back) leads to another look and in the end to a listing of all runs.

A campaign that was never read is found by the folders of its artifacts instead of by the search, which takes a fifth of
the time over HTTP; the same count proves that nothing is missing.

What others change in MLflow's own pages: deleting and restoring runs is noticed at the next reading; a run's tags and
name there are not part of the record, which only `tracker amend` changes.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tracker.store.campaign_cache import Known, Read, Row
from tracker.store.mlflow_amendments import AMENDMENTS, PREFIX
from tracker.store.mlflow_artifacts import RECORD
from tracker.store.mlflow_fetch import artifact_root, fetch, run_folders
from tracker.store.mlflow_projection import CHANGED_AT, sortable
from tracker.store.mlflow_read import EARLIER_IDS, PAGE, is_complete, read_artifact
from tracker.store.mlflow_write import COMPLETE, RECORD_SHA256

IS_COMPLETE = f"tags.`{COMPLETE}` = 'true'"
IS_INCOMPLETE = f"tags.`{COMPLETE}` IS NULL"
IS_CORRECTED = f"tags.`{AMENDMENTS}` IS NOT NULL"
IS_COPY = f"tags.`{EARLIER_IDS}` IS NOT NULL"
NEWEST_PAGES = (5, 50, 200, PAGE)
# A change is visible at most this long after the time it is stamped with: MLflow's client tries three times 30 s.
OVERLAP = timedelta(seconds=120)
LOOKS = 4
IDS_AT_ONCE = 200
LATEST = 50
FEW = 200
COUNTED_AT_ONCE = 20


@dataclass(slots=True, kw_only=True)
class _Look:
    """What one look at the store found."""

    runs: dict[str, Any] = field(default_factory=dict)
    """Active, complete runs that were returned, by id."""
    is_everything: bool = False
    """Whether these are all."""
    newest: str | None = None
    """Time of the newest change."""
    can_count: bool = True
    """Whether the server's page tokens are understood."""


class UncountableError(Exception):
    """The store's pages cannot be counted; only a listing of all runs tells."""


def bring_up_to_date(client: Any, experiment: Any, known: Known) -> bool:
    """Make `known` what the store holds now; return whether anything changed.

    Raises:
        StoreError: A run's record cannot be read.
        MlflowException: The store does not answer or refuses.
    """
    before = _state(known)
    try:
        is_proven = _looked_until_proven(client, experiment, known)
    except UncountableError:
        is_proven = False
    if not is_proven:
        _list_all(client, experiment, known)
    return _state(known) != before


def _looked_until_proven(client: Any, experiment: Any, known: Known) -> bool:
    """Return whether `known` is what the store holds.

    While others write there may always be one more run than at the look before; where each look found those that had
    been counted too many, they were written meanwhile, and the last look is good.
    """
    counted, is_explained = 0, True
    for number in range(LOOKS):
        if _look(client, experiment, known, thorough=number > 0):
            return True
        total = len(known.index.rows)
        is_explained = is_explained and (number == 0 or 0 < counted <= total)
        counted = _count_from(client, experiment, total) or 0
        if counted == total:
            return True
    return is_explained


def _state(known: Known) -> tuple[Any, ...]:
    index = known.index
    return (index.read_up_to, dict(index.rows), tuple(index.deleted))


def _look(client: Any, experiment: Any, known: Known, *, thorough: bool) -> bool:
    """Read what changed; return True when that was everything there is."""
    index = known.index
    look = _newest(client, experiment, index.read_up_to)
    if look.is_everything:
        _take(client, known, look.runs, only_these=True)
        index.deleted = _deleted(client, experiment)
        index.read_up_to = look.newest or index.read_up_to or ""
        return True
    if not look.can_count:
        raise UncountableError
    if known.is_empty:
        _take_folders(client, experiment, known)
    _notice_deletions(client, experiment, known, thorough=thorough)
    if thorough:
        look.runs |= _latest_started(client, experiment)
    _take(client, known, look.runs | _unsettled(client, experiment, known))
    _forget_rolled_back(known, look)
    index.read_up_to = max(look.newest or "", index.read_up_to or "")
    return False


def _newest(client: Any, experiment: Any, read_up_to: str | None) -> _Look:
    """Return the runs that changed since the last reading, or all when one page holds them."""
    look = _Look()
    floor = None if read_up_to is None else _earlier(read_up_to)
    order = [f"tags.`{CHANGED_AT}` DESC"]
    token, seen = None, 0
    for size in itertools.chain(NEWEST_PAGES, itertools.repeat(PAGE)):
        page = client.search_runs(
            [experiment.experiment_id], filter_string=IS_COMPLETE, max_results=size, order_by=order, page_token=token
        )
        seen += len(page)
        token = page.token
        for run in page:
            stamp = run.data.tags.get(CHANGED_AT, "")
            look.newest = look.newest or stamp
            if floor is not None and stamp < floor and token:
                return look
            look.runs[run.info.run_id] = run
        if not token:
            look.is_everything = True
            return look
        look.can_count = look.can_count and _text(token) == _token(seen)
        if floor is None and size == NEWEST_PAGES[1]:
            return look
    raise AssertionError  # the sizes never end


def _take(client: Any, known: Known, runs: Mapping[str, Any], *, only_these: bool = False) -> None:
    """Read the records of runs that are new, and the tags of those that changed."""
    rows = known.index.rows
    if only_these:
        for run_id in rows.keys() - runs.keys():
            del rows[run_id]
    wanted = {run_id: run for run_id, run in runs.items() if not _is_known(rows.get(run_id), run)}
    got = fetch(client, {run_id: run.info.artifact_uri for run_id, run in wanted.items()}, RECORD)
    for run_id, run in wanted.items():
        if run_id not in got:
            got[run_id] = read_artifact(client, run, RECORD)  # says what is wrong
    fresh = {}
    for run_id, run in runs.items():
        row = rows.get(run_id)
        read = _read(run, got.get(run_id, b""))
        if run_id in got and (row is None or row.sha256 != read.sha256 or row.is_settled != read.is_settled):
            fresh[run_id] = read
        elif row is not None and (row.tags, row.changed_at) != (read.tags, read.changed_at):
            known.set_tags(run_id, read)
    known.add(fresh)


def _is_known(row: Row | None, run: Any) -> bool:
    return row is not None and row.is_settled and row.sha256 == run.data.tags.get(RECORD_SHA256)


def _read(run: Any, content: bytes) -> Read:
    tags, digest = run.data.tags, hashlib.sha256(content).hexdigest()
    return Read(
        content=content,
        sha256=digest,
        changed_at=tags.get(CHANGED_AT, ""),
        is_settled=tags.get(RECORD_SHA256) == digest,
        tags={key: value for key, value in tags.items() if key == EARLIER_IDS or key.startswith(PREFIX)},
    )


def _unsettled(client: Any, experiment: Any, known: Known) -> dict[str, Any]:
    """Return the runs whose correction was still being written when they were read."""
    waiting = [run_id for run_id, row in known.index.rows.items() if not row.is_settled]
    return {run.info.run_id: run for run in _active_among(client, experiment, waiting)}


def _latest_started(client: Any, experiment: Any) -> dict[str, Any]:
    """Return the runs measured last: a new run is found here also when its writer's clock is wrong."""
    page = client.search_runs([experiment.experiment_id], filter_string=IS_COMPLETE, max_results=LATEST)
    return {run.info.run_id: run for run in page}


def _take_folders(client: Any, experiment: Any, known: Known) -> None:
    """Read the records of a campaign by the folders of its artifacts."""
    from mlflow.exceptions import MlflowException

    try:
        folders = run_folders(client, experiment)
    except (MlflowException, OSError) as error:
        raise UncountableError from error
    index = known.index
    incomplete = _few(client, experiment, IS_INCOMPLETE)
    with_tags = _few(client, experiment, IS_CORRECTED) | _few(client, experiment, IS_COPY)
    deleted = {run.info.run_id: run.data.tags for run in _pages(client, experiment, "", deleted=True)}
    index.deleted = sorted(run_id for run_id, tags in deleted.items() if tags.get(COMPLETE) == "true")
    wanted = sorted(folders - deleted.keys() - incomplete.keys() - with_tags.keys() - index.rows.keys())
    got = fetch(client, {run_id: artifact_root(experiment, run_id) for run_id in wanted}, RECORD)
    known.add({key: Read(content=it, sha256=hashlib.sha256(it).hexdigest()) for key, it in got.items()})
    _take(client, known, {run_id: run for run_id, run in with_tags.items() if is_complete(run)})


def _few(client: Any, experiment: Any, condition: str) -> dict[str, Any]:
    """Return the runs that meet a condition which few meet.

    Raises:
        UncountableError: Many do.
    """
    page = client.search_runs([experiment.experiment_id], filter_string=condition, max_results=FEW)
    if page.token:
        raise UncountableError
    return {run.info.run_id: run for run in page}


def _notice_deletions(client: Any, experiment: Any, known: Known, *, thorough: bool) -> None:
    index = known.index
    back = {run.info.run_id: run for run in _active_among(client, experiment, index.deleted)}
    if back:
        index.deleted = [run_id for run_id in index.deleted if run_id not in back]
        _take(client, known, back)
    if not thorough and _count_from(client, experiment, len(index.deleted), deleted=True) == len(index.deleted):
        return
    index.deleted = _deleted(client, experiment)
    for run_id in index.deleted:
        index.rows.pop(run_id, None)


def _deleted(client: Any, experiment: Any) -> list[str]:
    return sorted(run.info.run_id for run in _pages(client, experiment, IS_COMPLETE, deleted=True))


def _active_among(client: Any, experiment: Any, run_ids: list[str]) -> Iterator[Any]:
    for start in range(0, len(run_ids), IDS_AT_ONCE):
        listed = ", ".join(f"'{run_id}'" for run_id in run_ids[start : start + IDS_AT_ONCE])
        yield from _pages(client, experiment, f"{IS_COMPLETE} AND attributes.run_id IN ({listed})")


def _forget_rolled_back(known: Known, look: _Look) -> None:
    """Forget runs that changed, as we know, in the time that was read, and were not met there.

    A database put back to an earlier state shows them as they were before. They are counted as missing then.
    """
    rows, floor = known.index.rows, _earlier(known.index.read_up_to or "")
    for run_id in [key for key, row in rows.items() if row.changed_at is not None and row.changed_at >= floor]:
        stamp = look.runs[run_id].data.tags.get(CHANGED_AT, "") if run_id in look.runs else ""
        if stamp < (rows[run_id].changed_at or ""):
            del rows[run_id]


def _list_all(client: Any, experiment: Any, known: Known) -> None:
    """Read the campaign by MLflow's search alone, keeping records that are known."""
    runs = {run.info.run_id: run for run in _pages(client, experiment, IS_COMPLETE)}
    _take(client, known, runs, only_these=True)
    known.index.deleted = _deleted(client, experiment)
    known.index.read_up_to = max((run.data.tags.get(CHANGED_AT, "") for run in runs.values()), default="")


def _count_from(client: Any, experiment: Any, expected: int, *, deleted: bool = False) -> int | None:
    """Return how many complete runs there are, when that is `expected` or little more; else None.

    One run is loaded where the number is the expected one: the page starts at the last expected run.
    """
    start = max(expected - 1, 0)
    page = client.search_runs(
        [experiment.experiment_id],
        filter_string=IS_COMPLETE,
        run_view_type=_view(deleted),
        max_results=COUNTED_AT_ONCE,
        page_token=_token(start) if start else None,
    )
    return None if page.token or (not page and start) else start + len(page)


def _pages(client: Any, experiment: Any, condition: str, *, deleted: bool = False) -> Iterator[Any]:
    token = None
    while True:
        page = client.search_runs(
            [experiment.experiment_id],
            filter_string=condition,
            run_view_type=_view(deleted),
            max_results=PAGE,
            page_token=token,
        )
        yield from page
        token = page.token
        if not token:
            return


def _view(deleted: bool) -> int:
    from mlflow.entities import ViewType

    return int(ViewType.DELETED_ONLY if deleted else ViewType.ACTIVE_ONLY)


def _token(offset: int) -> str:
    """Return the page token that leads to a place, as MLflow's stores write it; compared with theirs before it is used.

    3.17, `SearchUtils.create_page_token`: base64 of `{"offset": N}`, which its comment calls unstable.
    """
    return base64.b64encode(json.dumps({"offset": offset}).encode()).decode()


def _text(token: str | bytes) -> str:
    return token.decode() if isinstance(token, bytes) else token


def _earlier(stamp: str) -> str:
    if not stamp:
        return ""
    return sortable(datetime.fromisoformat(stamp) - OVERLAP)
