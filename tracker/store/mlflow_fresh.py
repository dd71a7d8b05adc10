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

4. A count cannot tell one run that `mlflow gc` took for good and one that a late clock added. So folders of artifacts
   of which nothing is known are asked about too: one listing, 10 ms for ten thousand on the same disk.

A campaign that was never read is found by the folders of its artifacts instead of by the search: 2 ms a run over HTTP,
where the search takes 12; the same count proves that nothing is missing.

What others change in MLflow's own pages: deleting and restoring runs is noticed at the next reading; a run's tags and
name there are not part of the record, which only `tracker amend` changes.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tracker.collector import collector_at_work
from tracker.store.campaign_cache import Known, Read, Row
from tracker.store.mlflow_amendments import AMENDMENTS, PREFIX
from tracker.store.mlflow_artifacts import RECORD
from tracker.store.mlflow_count import UncountableError, count_from, require_countable
from tracker.store.mlflow_fetch import artifact_root, fetch, run_folders
from tracker.store.mlflow_projection import CHANGED_AT, sortable
from tracker.store.mlflow_read import EARLIER_IDS, PAGE, read_artifact, search, search_among
from tracker.store.mlflow_write import COMPLETE, RECORD_SHA256

IS_COMPLETE = f"tags.`{COMPLETE}` = 'true'"
IS_INCOMPLETE = f"tags.`{COMPLETE}` IS NULL"
IS_CORRECTED = f"tags.`{AMENDMENTS}` IS NOT NULL"
IS_COPY = f"tags.`{EARLIER_IDS}` IS NOT NULL"
FIRST_PAGE = 50
OVERLAP = timedelta(minutes=15)
LOOKS = 4
FEW = 200
READ_AT_ONCE = 1000
# How much of a time names ten minutes, an hour, a day, a month, a year.
BEGINNINGS = (len("2026-11-30T05:1"), len("2026-11-30T05"), len("2026-11-30"), len("2026-11"), len("2026"))
MOST_BEGINNINGS = 10
# A question that finds nothing takes as long as loading a run, and another for every thousand that are searched (3.17:
# 43 ms over ten thousand).
SEARCHED_A_LOAD = 1000


@collector_at_work()
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
        _take_all(client, experiment, known, _pages(client, experiment, IS_COMPLETE))
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
        counted = count_from(client, experiment.experiment_id, IS_COMPLETE, total) or 0
        if counted == total:
            return True
    return is_explained


def _state(known: Known) -> tuple[Any, ...]:
    index = known.index
    return (index.read_up_to, dict(index.rows), tuple(index.deleted))


def _look(client: Any, experiment: Any, known: Known, *, thorough: bool) -> bool:
    """Read what changed; return True when that was everything there is."""
    index, now = known.index, datetime.now(UTC)
    latest: Iterable[Any] = ()
    if known.is_empty or thorough:
        # By when they were measured, latest first: a new run is found here also when its writer's clock is wrong.
        page = client.search_runs([experiment.experiment_id], filter_string=IS_COMPLETE, max_results=FIRST_PAGE)
        if not page.token:
            _take_all(client, experiment, known, page)
            return True
        require_countable(page)
        latest = page
    changed: Iterable[Any] = ()
    if index.read_up_to is None:
        _take_folders(client, experiment, known)
    else:
        stamps = [row.changed_at for row in index.rows.values() if row.changed_at]
        times = beginnings(index.read_up_to, sortable(now + OVERLAP), known=stamps)
        changed = itertools.chain(changed_since(client, experiment, times), _new_folders(client, experiment, known))
    _notice_deletions(client, experiment, known, thorough=thorough)
    _take(client, known, itertools.chain(latest, changed, _unsettled(client, experiment, known)))
    _require_last_change(client, experiment, known)
    index.read_up_to = sortable(now - OVERLAP)
    return False


def changed_since(client: Any, experiment: Any, times: Iterable[str]) -> Iterator[Any]:
    """Yield the complete runs whose time of change begins with one of some texts."""
    for beginning in times:
        yield from _pages(client, experiment, f"{IS_COMPLETE} AND tags.`{CHANGED_AT}` LIKE '{beginning}%'")


def beginnings(since: str, until: str, *, known: Sequence[str] = ()) -> list[str]:
    """Return texts with one of which every time of a span begins, in the form of `sortable`; at most a dozen.

    Longer texts are more questions, shorter ones find more of the runs that are known: what takes less is chosen.

    Args:
        since: Begin of the span.
        until: End of the span.
        known: Times of the runs that are known; with none the longest texts are chosen.
    """
    first, last = datetime.fromisoformat(since), datetime.fromisoformat(until)
    steps = (timedelta(minutes=10), timedelta(hours=1), timedelta(days=1), timedelta(days=28), timedelta(days=365))
    found: list[tuple[float, list[str]]] = []
    for length, step in zip(BEGINNINGS, steps, strict=True):
        count = (last - first) / step
        if count <= MOST_BEGINNINGS or length == BEGINNINGS[-1]:
            moments = (first + step * number for number in range(int(count) + 1))
            texts = sorted({sortable(moment)[:length] for moment in (*moments, last)})
            again = sum(texts[0] <= moment[:length] <= texts[-1] for moment in known)
            loads = again + len(texts) * (1 + len(known) / SEARCHED_A_LOAD) if known else 0
            found.append((loads, texts))
    return min(found, key=lambda choice: choice[0])[1]


def _take(client: Any, known: Known, runs: Iterable[Any]) -> set[str]:
    """Read the records of runs that are new, and the tags of those that changed; return their run ids.

    A page at a time: one of MLflow's runs is 150 KB in memory, and after `tracker sync --from` ten thousand are new.
    """
    taken: set[str] = set()
    left = iter(runs)
    while here := {run.info.run_id: run for run in itertools.islice(left, PAGE)}:
        _take_page(client, known, here)
        taken |= here.keys()
    return taken


def _take_all(client: Any, experiment: Any, known: Known, runs: Iterable[Any]) -> None:
    """Make `known` these runs, which are all there are, keeping records that are known."""
    now, rows = datetime.now(UTC), known.index.rows
    for run_id in rows.keys() - _take(client, known, runs):
        del rows[run_id]
    known.index.deleted = _deleted(client, experiment)
    known.index.read_up_to = sortable(now - OVERLAP)


def _take_page(client: Any, known: Known, runs: Mapping[str, Any]) -> None:
    rows = known.index.rows
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
    known.add(fresh.items())


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


def _unsettled(client: Any, experiment: Any, known: Known) -> Iterator[Any]:
    """Yield the runs whose correction was still being written when they were read."""
    return _active_among(client, experiment, [run_id for run_id, row in known.index.rows.items() if not row.is_settled])


def _take_folders(client: Any, experiment: Any, known: Known) -> None:
    """Read the records of a campaign by the folders of its artifacts.

    Raises:
        UncountableError: They cannot be listed, or many are not of complete runs.
    """
    folders = _folders(client, experiment)
    if folders is None:
        raise UncountableError
    index = known.index
    incomplete = _few(client, experiment, IS_INCOMPLETE, most=max(FEW, len(folders) // 10))
    for tagged in (IS_CORRECTED, IS_COPY):
        _take(client, known, _pages(client, experiment, f"{IS_COMPLETE} AND {tagged}"))
    deleted = {run.info.run_id: run.data.tags for run in _pages(client, experiment, "", deleted=True)}
    index.deleted = sorted(run_id for run_id, tags in deleted.items() if tags.get(COMPLETE) == "true")
    wanted = sorted(folders - deleted.keys() - incomplete - index.rows.keys())
    for start in range(0, len(wanted), READ_AT_ONCE):  # ten thousand records are 135 MB before they share anything
        here = wanted[start : start + READ_AT_ONCE]
        got = fetch(client, {run_id: artifact_root(experiment, run_id) for run_id in here}, RECORD)
        known.add((key, Read(content=it, sha256=hashlib.sha256(it).hexdigest())) for key, it in got.items())


def _few(client: Any, experiment: Any, condition: str, *, most: int) -> set[str]:
    """Return the ids of the runs that meet a condition which few meet.

    Raises:
        UncountableError: More than `most` do.
    """
    found = {run.info.run_id for run in itertools.islice(_pages(client, experiment, condition), most + 1)}
    if len(found) > most:
        raise UncountableError
    return found


def _folders(client: Any, experiment: Any) -> set[str] | None:
    """Return the run ids for which there is a folder of artifacts; None where they cannot be listed."""
    from mlflow.exceptions import MlflowException

    try:
        return run_folders(client, experiment)
    except (MlflowException, OSError):
        return None


def _new_folders(client: Any, experiment: Any, known: Known) -> Iterator[Any]:
    """Yield the complete runs that have a folder and are not known, whatever their writers' clocks say."""
    unknown = (_folders(client, experiment) or set()) - known.index.rows.keys() - set(known.index.deleted)
    return _active_among(client, experiment, unknown)


def _notice_deletions(client: Any, experiment: Any, known: Known, *, thorough: bool) -> None:
    index = known.index
    back = {run.info.run_id: run for run in _active_among(client, experiment, index.deleted)}
    if back:
        index.deleted = [run_id for run_id in index.deleted if run_id not in back]
        _take(client, known, back.values())
    expected = len(index.deleted)
    counted = count_from(client, experiment.experiment_id, IS_COMPLETE, expected, view=_view(deleted=True))
    if not thorough and counted == expected:
        return
    index.deleted = _deleted(client, experiment)
    for run_id in index.deleted:
        index.rows.pop(run_id, None)


def _deleted(client: Any, experiment: Any) -> list[str]:
    return sorted(run.info.run_id for run in _pages(client, experiment, IS_COMPLETE, deleted=True))


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


def _pages(client: Any, experiment: Any, condition: str, *, deleted: bool = False) -> Iterator[Any]:
    return search(client, [experiment.experiment_id], condition, pages=(PAGE,), view=_view(deleted=deleted))


def _active_among(client: Any, experiment: Any, run_ids: Collection[str]) -> Iterator[Any]:
    return search_among(client, experiment.experiment_id, run_ids, IS_COMPLETE)


def _view(*, deleted: bool) -> int:
    from mlflow.entities import ViewType

    return int(ViewType.DELETED_ONLY if deleted else ViewType.ACTIVE_ONLY)
