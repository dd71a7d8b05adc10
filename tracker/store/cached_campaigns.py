"""Runs of a campaign as a query means them, from what this machine has read before and what changed since."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tracker.collector import collector_at_rest
from tracker.domain.record import RunRecord
from tracker.errors import StoreError
from tracker.store.base import Query
from tracker.store.campaign_cache import CampaignCache, Known, Row
from tracker.store.codec import decode_record
from tracker.store.matching import matches
from tracker.store.mlflow_amendments import amended
from tracker.store.mlflow_artifacts import RECORD
from tracker.store.mlflow_fetch import fetch
from tracker.store.mlflow_fresh import OVERLAP, beginnings, bring_up_to_date, changed_since
from tracker.store.mlflow_projection import sortable
from tracker.store.mlflow_read import EARLIER_IDS, PAGE, earlier_ids, read_artifact

LATEST_CLOCK = timedelta(days=250)

Found = tuple[str, RunRecord, tuple[str, ...]]
"""Run id, record with its corrections, ids in other stores."""


class CachedCampaigns:
    """The campaigns of one store. With no folder, or nothing in it, everything is read: the answers are the same."""

    def __init__(self, folder: Path | None, uri: str) -> None:
        """Keep what is read of the store `uri` under `folder`; None keeps nothing."""
        self._folder = None if folder is None else folder / hashlib.sha256(uri.encode()).hexdigest()[:16]

    def query(self, client: Any, experiment: Any, query: Query) -> Iterator[Found]:
        """Yield the runs of one campaign that a query means.

        Raises:
            StoreError: A record cannot be read.
            MlflowException: The store does not answer or refuses.
        """
        cache = CampaignCache(self._place(experiment))
        known = cache.load()
        if known.is_empty and query.logged_since is not None:
            # A few new runs of a campaign that was never read as a whole: no reason to read it.
            yield from _newest(client, experiment, query)
            return
        if bring_up_to_date(client, experiment, known):
            cache.save(known)
        try:
            with collector_at_rest():
                found = list(_meant(known, experiment.name, query))
        except StoreError:
            if not known.was_loaded:
                raise
            # What another version has written, or a fault of ours: the store itself decides.
            known = Known()
            bring_up_to_date(client, experiment, known)
            cache.save(known)
            found = list(_meant(known, experiment.name, query))
        yield from found

    def _place(self, experiment: Any) -> Path | None:
        # A database made anew gives the same number to another campaign; its time of creation is another.
        name = f"{experiment.experiment_id}-{experiment.creation_time}"
        return None if self._folder is None else self._folder / name


def _meant(known: Known, experiment: str, query: Query) -> Iterator[Found]:
    rows = known.index.rows
    for run_id, record in known.records(run_id for run_id, row in rows.items() if _is_meant(row, query)):
        tags = rows[run_id].tags
        here = record if record.experiment == experiment else record.replace(experiment=experiment)
        yield run_id, amended(here, tags), tuple(tags.get(EARLIER_IDS, "").split())


def _is_meant(row: Row, query: Query) -> bool:
    """Return whether the query means the run; neither its kind nor the time of its logging can be corrected."""
    since, until = query.logged_since, query.logged_until
    return (
        (query.kind is None or row.kind == query.kind)
        and (since is None or row.logged_at >= sortable(since))
        and (until is None or row.logged_at < sortable(until))
    )


def _newest(client: Any, experiment: Any, query: Query) -> Iterator[Found]:
    """Yield the runs logged since a moment: none of them changed before. Those of wrong clocks say a later time."""
    now = datetime.now(UTC)
    times = beginnings(sortable(query.logged_since or now), sortable(now + OVERLAP))
    later = beginnings(sortable(now), sortable(now + LATEST_CLOCK))
    runs = changed_since(client, experiment, dict.fromkeys((*times, *later)))
    while here := {run.info.run_id: run for run in itertools.islice(runs, PAGE)}:
        got = fetch(client, {run_id: run.info.artifact_uri for run_id, run in here.items()}, RECORD)
        for run_id, run in here.items():
            content = got[run_id] if run_id in got else read_artifact(client, run, RECORD)
            record = decode_record(content, where=f"run {run_id}, {RECORD}").replace(experiment=experiment.name)
            if matches(record, query):
                yield run_id, amended(record, run.data.tags), earlier_ids(run)
