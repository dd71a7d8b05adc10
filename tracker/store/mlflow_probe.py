"""Whether a store can be written and read, tried out on it; nothing of the trial stays."""

from __future__ import annotations

import contextlib
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from tracker.errors import StoreError
from tracker.store import mlflow_experiments, mlflow_open, mlflow_read, mlflow_write
from tracker.store.mlflow_artifacts import RECORD
from tracker.store.mlflow_errors import store_errors

PROBE = "tracker.doctor"
FILE = "probe.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What was tried on a store, and where."""

    experiment: str
    """Experiment that the trial was made in: the newest campaign, else MLflow's own."""
    is_campaign: bool
    """Whether it is a campaign; MLflow's own experiment may keep its artifacts elsewhere."""
    artifacts: str
    """Where its artifacts go."""
    left_behind: str | None = None
    """Artifact folder that the store did not let go of; None when nothing is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """What a tracking server says of itself."""

    version: str | None
    """Its MLflow version; None when it does not say."""
    clock_ahead_s: float | None
    """Seconds by which its clock is ahead of this machine's; 0 within a second, the header's precision; None without a
    header."""


def try_store(uri: str) -> Trial:
    """Write a tag and an artifact, read both back, remove both, and return where that was.

    A run would stay in MLflow as a deleted one; a tag and a file leave nothing.

    Raises:
        StoreError: One of it failed; says which.
    """
    where = mlflow_open.without_credentials(uri)
    client = mlflow_open.connect(uri)
    key = f"{PROBE}.{uuid.uuid4().hex}"
    with store_errors("the experiments could not be read", where=where):
        experiment = _somewhere(client, where)
    number = experiment.experiment_id
    with store_errors(f"a tag could not be written into {experiment.name!r} and removed", where=where):
        client.set_experiment_tag(number, key, "1")
        read = client.get_experiment(number).tags.get(key)
        client.delete_experiment_tag(number, key)
    if read != "1":
        raise StoreError("a tag that was written could not be read back", where=where)
    root = mlflow_open.artifact_root(uri)
    location = experiment.artifact_location if root is None else str(root)
    with store_errors(f"an artifact could not be written into {experiment.name!r} and read back", where=where):
        left_behind = _try_artifact(location, uri, key, where=where)
    return Trial(
        experiment=experiment.name,
        is_campaign=mlflow_experiments.is_campaign(experiment),
        artifacts=location,
        left_behind=left_behind,
    )


def read_newest_record(uri: str) -> str | None:
    """Return the name of the newest run after reading its record back; None where there are no runs.

    A folder of artifacts that was moved, or lies on another machine, lets every trial succeed and no record be read.

    Raises:
        StoreError: It is not where MLflow says; names the place.
    """
    where = mlflow_open.without_credentials(uri)
    client = mlflow_open.connect(uri)
    with store_errors("the newest record could not be read back", where=where):
        found = mlflow_experiments.find_experiments(client).values()
        ids = [item.experiment_id for item in found if mlflow_experiments.is_campaign(item)]
        condition = f"tags.`{mlflow_write.COMPLETE}` = 'true'"
        runs = client.search_runs(ids, condition, order_by=["attributes.start_time DESC"], max_results=1) if ids else []
        for run in runs:
            mlflow_read.read_artifact(client, run, RECORD)
            return str(run.info.run_name)
    return None


def ask_server(uri: str, *, clock: Callable[[], datetime]) -> ServerFacts:
    """Return a tracking server's version and how its clock stands to ours.

    Args:
        uri: Its address.
        clock: Tells the time here, UTC.

    Raises:
        StoreError: It does not answer.
    """
    mlflow_open.connect(uri)
    # MLflow's own way to ask: with its credentials, its TLS settings and its proxies.
    from mlflow.tracking._tracking_service.utils import get_default_host_creds
    from mlflow.utils.rest_utils import http_request

    with store_errors("the server could not be asked", where=mlflow_open.without_credentials(uri)):
        creds = get_default_host_creds(uri)
        before = clock()
        date = http_request(creds, "/health", "GET").headers.get("date")
        after = clock()
        version = http_request(creds, "/version", "GET")
    said = version.text.strip() if version.ok else ""
    return ServerFacts(version=said if said[:1].isdigit() else None, clock_ahead_s=_ahead(date, before, after))


def _somewhere(client: Any, where: str) -> Any:
    """Return an experiment to try things in.

    Raises:
        StoreError: The store has none.
    """
    found = list(mlflow_experiments.find_experiments(client).values())
    if not found:
        raise StoreError("the store has no experiment to try anything in", where=where, hint="Log a run first")
    campaigns = [item for item in found if mlflow_experiments.is_campaign(item)]
    return max(campaigns or found, key=lambda item: int(item.creation_time or 0))


def _try_artifact(location: str, uri: str, name: str, *, where: str) -> str | None:
    """Return the folder that could not be removed again; None when it is gone.

    Raises:
        StoreError: Something else came back.
    """
    from mlflow.exceptions import MlflowException
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    folder = f"{location.rstrip('/')}/{name}"
    here = Path(location)
    new_folders = [path for path in (here, *here.parents) if here.is_absolute() and not path.exists()]
    repository = get_artifact_repository(folder, tracking_uri=uri)
    content = name.encode()
    with tempfile.TemporaryDirectory(prefix="tracker-") as temporary:
        source = Path(temporary) / FILE
        source.write_bytes(content)
        repository.log_artifact(str(source))
        back = Path(temporary) / "back"
        back.mkdir()
        read = Path(repository.download_artifacts(FILE, str(back))).read_bytes()
    if read != content:
        raise StoreError("an artifact came back different from what was written", where=where)
    try:
        repository.delete_artifacts()
    except (MlflowException, NotImplementedError, OSError):
        return folder
    for made in new_folders:
        with contextlib.suppress(OSError):  # somebody else has just put something into it
            made.rmdir()
    return None


def _ahead(date: str | None, before: datetime, after: datetime) -> float | None:
    try:
        said = None if date is None else parsedate_to_datetime(date).astimezone(UTC)
    except ValueError:
        said = None
    if said is None:
        return None
    if (said - after).total_seconds() > 0:
        return (said - after).total_seconds()
    behind = (before - said).total_seconds() - 1.0  # the header cuts off what is less than a second
    return -behind if behind > 0 else 0.0
