"""Bringing what is known of a campaign up to date with few questions, and proving it by counting.

MLflow's search loads every parameter, metric and tag of each run it returns: 3 to 12 ms a run (measured, 3.17), with no
way to ask for less. So runs that are known are not asked for again:

1. Changes: every run and every correction carries the time of its writing (`tracker.changed_at`); runs are asked for
   whose time begins like one since the last reading. (Sorting by that tag takes 10 s over 10,000 runs, this 0.1 s.)
   Writers' clocks may run `OVERLAP` behind the reader's; a correction stamped further back is missed.
2. Deletions and restorations change no tag: known deleted runs are looked for among the active ones by id, and the
   number of deleted runs is compared; where it differs, the deleted ones are listed.
3. The number of runs is compared with what is known. Whatever made it differ (a run written meanwhile or by a clock
   that runs behind, `mlflow gc`, a database put back) leads to another look and in the end to a listing of all runs.
   A database put back that has lost corrections alone shows in the run that changed last.

One thing no count can show: that `mlflow gc` took a run for good and a writer whose clock runs behind by more than
`OVERLAP` added one, both since the last reading. The run measured last is looked at for that; an earlier one is missed
until the next difference.

A campaign that was never read is found by the folders of its artifacts instead of by the search: 5 ms a run over HTTP,
where the search takes 12; the same count proves that nothing is missing.

What others change in MLflow's own pages: deleting and restoring runs is noticed at the next reading; a run's tags and
name there are not part of the record, which only `tracker amend` changes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
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
FIRST_PAGE = 50
OVERLAP = timedelta(minutes=15)
LOOKS = 4
IDS_AT_ONCE = 200
FEW = 200
READ_AT_ONCE = 1000
COUNTED_AT_ONCE = 20
# How much of a time names ten minutes, an hour, a day, a month, a year; the finest that takes few questions is asked.
BEGINNINGS = (len("2026-11-30T05:1"), len("2026-11-30T05"), len("2026-11-30"), len("2026-11"), len("2026"))
MOST_BEGINNINGS = 10


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
    index, now = known.index, datetime.now(UTC)
    is_careful = known.is_empty or thorough
    # By when they were measured, latest first: a new run is found here also when its writer's clock is wrong.
    page = client.search_runs(
        [experiment.experiment_id], filter_string=IS_COMPLETE, max_results=FIRST_PAGE if is_careful else 1
    )
    runs = {run.info.run_id: run for run in page}
    if is_careful:
        if not page.token:
            _take(client, known, runs, only_these=True)
            index.deleted = _deleted(client, experiment)
            index.read_up_to = sortable(now - OVERLAP)
            return True
        if _text(page.token) != _token(len(page)):
            raise UncountableError
    if index.read_up_to is None:
        _take_folders(client, experiment, known)
    else:
        runs |= changed_since(client, experiment, beginnings(index.read_up_to, sortable(now + OVERLAP)))
    _notice_deletions(client, experiment, known, thorough=thorough)
    _take(client, known, runs | _unsettled(client, experiment, known))
    _require_last_change(client, experiment, known)
    index.read_up_to = sortable(now - OVERLAP)
    return False


def changed_since(client: Any, experiment: Any, times: Iterable[str]) -> dict[str, Any]:
    """Return the complete runs whose time of change begins with one of some texts, by run id."""
    found: dict[str, Any] = {}
    for beginning in times:
        condition = f"{IS_COMPLETE} AND tags.`{CHANGED_AT}` LIKE '{beginning}%'"
        found |= {run.info.run_id: run for run in _pages(client, experiment, condition)}
    return found


def beginnings(since: str, until: str) -> list[str]:
    """Return texts with one of which every time of a span begins, in the form of `sortable`; at most a dozen."""
    first, last = datetime.fromisoformat(since), datetime.fromisoformat(until)
    steps = (timedelta(minutes=10), timedelta(hours=1), timedelta(days=1), timedelta(days=28), timedelta(days=365))
    for length, step in zip(BEGINNINGS, steps, strict=True):
        count = (last - first) / step
        if count <= MOST_BEGINNINGS or length == BEGINNINGS[-1]:
            moments = (first + step * number for number in range(int(count) + 1))
            return sorted({sortable(moment)[:length] for moment in (*moments, last)})
    raise AssertionError  # the last length is taken in any case


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
    for start in range(0, len(wanted), READ_AT_ONCE):  # ten thousand records are 135 MB before they share anything
        here = wanted[start : start + READ_AT_ONCE]
        got = fetch(client, {run_id: artifact_root(experiment, run_id) for run_id in here}, RECORD)
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


def _require_last_change(client: Any, experiment: Any, known: Known) -> None:
    """Check that the run which changed last, as far as we know, is as we know it.

    Raises:
        UncountableError: A database was put back to an earlier state.
    """
    stamped = [(row.changed_at, run_id) for run_id, row in known.index.rows.items() if row.changed_at]
    if not stamped:
        return
    stamp, run_id = max(stamped)
    now = [run.data.tags.get(CHANGED_AT, "") for run in _active_among(client, experiment, [run_id])]
    # One that is gone is counted as missing.
    if now and now[0] < stamp:
        raise UncountableError


def _list_all(client: Any, experiment: Any, known: Known) -> None:
    """Read the campaign by MLflow's search alone, keeping records that are known."""
    now = datetime.now(UTC)
    runs = {run.info.run_id: run for run in _pages(client, experiment, IS_COMPLETE)}
    _take(client, known, runs, only_these=True)
    known.index.deleted = _deleted(client, experiment)
    known.index.read_up_to = sortable(now - OVERLAP)


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
