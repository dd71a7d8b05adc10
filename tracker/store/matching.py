"""What every store does alike: the order of runs, the runs a query means, the run that a name means."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from datetime import datetime

from tracker.domain.record import RunRecord, StoredRun
from tracker.errors import InputError, RunNotFoundError, StoreError
from tracker.store.base import Query

MAX_EXPERIMENT_NAME = 120
MIN_PREFIX = 4
SHOWN_CANDIDATES = 5


def oldest_first(runs: Iterable[StoredRun]) -> tuple[StoredRun, ...]:
    """Return runs by when they were measured, then logged, then by their row in the file they came from."""
    return tuple(sorted(runs, key=lambda run: _age(run.record)))


def matches(record: RunRecord, query: Query) -> bool:
    """Return whether the query means this record."""
    logged_at = record.provenance.logged_at
    return (
        (query.experiment is None or record.experiment == query.experiment)
        and (query.kind is None or record.kind == query.kind)
        and (query.logged_since is None or logged_at >= query.logged_since)
        and (query.logged_until is None or logged_at < query.logged_until)
    )


def check_experiment_name(name: str) -> None:
    """Refuse names that MLflow's pages and file systems handle badly.

    Raises:
        InputError: Empty, too long, or with characters other than letters, digits, `.`, `_`, `-` and space.
    """
    if not re.fullmatch(rf"[\w][\w. \-]{{0,{MAX_EXPERIMENT_NAME - 1}}}", name):
        raise InputError(
            f"{name!r} cannot be a campaign's name",
            where="experiment",
            hint="Use letters, digits, '-', '_' and '.', starting with a letter or digit, e.g. kimi-k2.5-eagle3",
        )


def no_campaign(name: str, known: Iterable[str], *, where: str) -> StoreError:
    """Return the error for a campaign that is not there."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    meant = f"Did you mean {close[0]!r}? " if close else "`tracker campaign list` shows deleted ones too. "
    listed = ", ".join(names) or "none yet"
    return StoreError(f"there is no campaign {name!r}", where=where, hint=f"{meant}Campaigns here: {listed}")


def the_only_run(runs: tuple[StoredRun, ...], wanted: str, *, where: str) -> StoredRun:
    """Return the one run found for what was asked.

    Raises:
        RunNotFoundError: None or several were found; the message lists the candidates.
    """
    if len(runs) == 1:
        return runs[0]
    if not runs:
        raise RunNotFoundError(
            f"no run has the id, record id or name {wanted!r}", where=where, hint="`tracker runs` lists the runs"
        )
    shown = "; ".join(f"{run.run_id} ({run.record.experiment}, {run.record.name})" for run in runs[:SHOWN_CANDIDATES])
    more = f" and {len(runs) - SHOWN_CANDIDATES} more" if len(runs) > SHOWN_CANDIDATES else ""
    raise RunNotFoundError(
        f"{len(runs)} runs match {wanted!r}: {shown}{more}", where=where, hint="Give more of the run id"
    )


def _age(record: RunRecord) -> tuple[datetime, datetime, int, str, str]:
    rows = [file.row for file in record.provenance.inputs if file.row is not None]
    row = rows[0] if rows else 0
    return (record.measured_at, record.provenance.logged_at, row, record.name, record.record_id)
