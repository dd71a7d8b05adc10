"""One run of MLflow, by whatever people call it: its id here or elsewhere, how an id begins, its record id, a name."""

from __future__ import annotations

import string
from collections.abc import Iterator
from typing import Any

from tracker.errors import RunNotFoundError
from tracker.store.matching import MIN_PREFIX
from tracker.store.mlflow_names import storable
from tracker.store.mlflow_read import (
    earlier_id_condition,
    earlier_ids,
    is_complete,
    record_condition,
    search,
    text_condition,
)
from tracker.store.mlflow_write import RECORD_ID

RUN_ID_LENGTH = 32


def is_run_id(text: str) -> bool:
    """Return whether a text looks like a whole run id of MLflow's."""
    return len(text) == RUN_ID_LENGTH and set(text) <= set(string.hexdigits)


def whole_run(client: Any, run_id: str, *, where: str) -> Any:
    """Return the run with this id, read from MLflow.

    Raises:
        RunNotFoundError: It was deleted, is not ours, or was not written to its end.
        MlflowException: There is none.
    """
    run = client.get_run(run_id)
    if run.info.lifecycle_stage != "active":
        raise RunNotFoundError(
            f"the run {run_id} was deleted", where=where, hint=f"`mlflow runs restore --run-id {run_id}`"
        )
    if not is_complete(run):
        raise RunNotFoundError(
            f"the run {run_id} was not written by tracker, or not to its end",
            where=where,
            hint="If logging was interrupted, `tracker sync` completes it",
        )
    return run


def copied_from(client: Any, run_id: str, experiment_ids: list[str]) -> str | None:
    """Return the id here of a run or memo that had this one elsewhere; None when there is none."""
    found = search(client, experiment_ids, earlier_id_condition(run_id))
    return next((str(run.info.run_id) for run in found), None)


def called(client: Any, wanted: str, experiment_ids: list[str]) -> Iterator[Any]:
    """Yield the runs that a text can mean; one that it means in several ways comes several times."""
    wanted = storable(wanted)
    conditions = [
        record_condition(wanted),
        text_condition("attributes.run_name", wanted),
        text_condition("tags.`tracker.name`", wanted),
    ]
    if len(wanted) >= MIN_PREFIX and set(wanted) <= set(string.hexdigits):
        conditions.append(f"attributes.run_id LIKE '{wanted.lower()}%'")
        conditions.append(earlier_id_condition(wanted))
    for condition in conditions:
        for run in search(client, experiment_ids, condition):
            tags = run.data.tags
            names = (tags.get(RECORD_ID), run.info.run_name, tags.get("tracker.name"))
            ids = (run.info.run_id, *earlier_ids(run))
            is_meant = wanted in names or any(known.startswith(wanted.lower()) for known in ids)
            if is_complete(run) and is_meant:
                yield run
