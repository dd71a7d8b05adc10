"""Reading runs back from MLflow: found on the server, the records themselves from `record.json` or a local copy."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tracker.domain.record import Attachment, RunRecord
from tracker.errors import StoreError
from tracker.store.codec import decode_record
from tracker.store.mlflow_amendments import amended
from tracker.store.mlflow_artifacts import RECORD
from tracker.store.mlflow_write import COMPLETE, RECORD_ID, RECORD_SHA256

# A run takes 3 to 12 ms, more on a busy server (measured), and an answer must come within MLflow's request time-out.
PAGE = 250
IDS_AT_ONCE = 200
LIKE_WILDCARD = "_"
EARLIER_IDS = "tracker.earlier_ids"
"""Tag: ids that a copied run had in other stores, separated by blanks, the first one first."""


class RecordCache:
    """Records read before, by store, run and digest. Only a cache: every file is checked, and may be deleted."""

    def __init__(self, folder: Path | None, uri: str) -> None:
        """Keep records of the store `uri` under `folder`; None keeps nothing."""
        self._folder = None if folder is None else folder / hashlib.sha256(uri.encode()).hexdigest()[:16]

    def get(self, run_id: str, sha256: str) -> bytes | None:
        """Return the record's bytes; None when they are not here or not what they should be."""
        if self._folder is None:
            return None
        try:
            content = self._path(self._folder, run_id, sha256).read_bytes()
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest() == sha256 else None

    def put(self, run_id: str, sha256: str, content: bytes) -> None:
        """Keep the bytes; a cache that cannot be written only costs time."""
        if self._folder is None:
            return
        path = self._path(self._folder, run_id, sha256)
        temporary = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(content)
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)

    @staticmethod
    def _path(folder: Path, run_id: str, sha256: str) -> Path:
        return folder / f"{run_id}-{sha256[:16]}.json"


def search(
    client: Any,
    experiment_ids: list[str],
    condition: str,
    *,
    order_by: list[str] | None = None,
    pages: tuple[int, ...] = (PAGE,),
    view: int | None = None,
) -> Iterator[Any]:
    """Yield all runs that meet an MLflow search condition, page by page.

    Args:
        client: MlflowClient.
        experiment_ids: Where to look; nowhere when empty.
        condition: MLflow's search condition.
        order_by: MLflow's sort keys.
        pages: Sizes of the pages; the last one repeats.
        view: MLflow's `ViewType`; active runs when None.
    """
    from mlflow.entities import ViewType

    token = None
    sizes = itertools.chain(pages, itertools.repeat(pages[-1]))
    while experiment_ids:
        page = client.search_runs(
            experiment_ids,
            filter_string=condition,
            run_view_type=ViewType.ACTIVE_ONLY if view is None else view,
            max_results=next(sizes),
            order_by=order_by,
            page_token=token,
        )
        yield from page
        token = page.token
        if not token:
            return


def search_among(
    client: Any, experiment_id: str, run_ids: Collection[str], condition: str = "", *, view: int | None = None
) -> Iterator[Any]:
    """Yield the runs of an experiment that have one of some ids and meet a condition; see `search`."""
    ids = sorted(run_ids)
    for start in range(0, len(ids), IDS_AT_ONCE):
        listed = ", ".join(f"'{run_id}'" for run_id in ids[start : start + IDS_AT_ONCE])
        one_of = f"attributes.run_id IN ({listed})"
        yield from search(client, [experiment_id], f"{condition} AND {one_of}" if condition else one_of, view=view)


def text_condition(field: str, text: str) -> str:
    """Return a condition for runs whose `field` is `text`, or looks like it: quotes cannot be escaped in MLflow."""
    if re.fullmatch(r"[^'\"\\]*", text):
        return f"{field} = '{text}'"
    pattern = re.sub(r"['\"\\]", LIKE_WILDCARD, text)
    return f"{field} LIKE '{pattern}'"


def earlier_ids(run: Any) -> tuple[str, ...]:
    """Return the ids that a run had in stores it was copied from."""
    return tuple(run.data.tags.get(EARLIER_IDS, "").split())


def earlier_id_condition(beginning: str) -> str:
    """Return a condition for runs that may have had an id with this beginning."""
    return f"tags.`{EARLIER_IDS}` LIKE '%{beginning.lower()}%'"


def is_complete(run: Any) -> bool:
    """Return whether a run was written to the end."""
    return bool(run.data.tags.get(COMPLETE) == "true")


def read_record(client: Any, run: Any, cache: RecordCache, *, experiment: str) -> RunRecord:
    """Return a run's record with the corrections its tags hold, under the name its experiment has now.

    Raises:
        StoreError: The artifact is missing, damaged, or of a newer tracker.
    """
    return amended(read_logged(client, run, cache, experiment=experiment), run.data.tags)


def read_logged(client: Any, run: Any, cache: RecordCache, *, experiment: str) -> RunRecord:
    """Return a run's record as it was logged, without the corrections its tags hold.

    Raises:
        StoreError: The artifact is missing, damaged, or of a newer tracker.
    """
    run_id, sha256 = run.info.run_id, run.data.tags.get(RECORD_SHA256, "")
    content = cache.get(run_id, sha256)
    if content is None:
        content = read_artifact(client, run, RECORD)
        # An early tracker wrote corrections into the artifact, the digest a moment later; the artifact is the truth.
        if hashlib.sha256(content).hexdigest() == sha256:
            cache.put(run_id, sha256, content)
    record = decode_record(content, where=f"run {run_id}, {RECORD}")
    return record if record.experiment == experiment else record.replace(experiment=experiment)


def read_artifact(client: Any, run: Any, name: str) -> bytes:
    """Return the bytes of one artifact.

    Raises:
        StoreError: It is not where MLflow says.
    """
    parts = urlsplit(run.info.artifact_uri)
    if parts.scheme in ("", "file"):
        path = Path(unquote(parts.path) if parts.scheme else run.info.artifact_uri) / name
        try:
            return path.read_bytes()
        except FileNotFoundError as error:
            raise _missing(run, name, str(path.parent)) from error
    with tempfile.TemporaryDirectory(prefix="tracker-") as folder:
        return Path(client.download_artifacts(run.info.run_id, name, folder)).read_bytes()


def read_attachments(client: Any, run_id: str, *, made: Collection[str]) -> tuple[Attachment, ...]:
    """Return the files of a run that came with it.

    Args:
        client: MlflowClient.
        run_id: The run.
        made: Paths of the files that are made of its record.
    """
    run = client.get_run(run_id)
    paths = sorted(path for path in _files(client, run_id, None) if path not in made)
    return tuple(Attachment(name=path, content=read_artifact(client, run, path)) for path in paths)


def _files(client: Any, run_id: str, folder: str | None) -> Iterator[str]:
    for item in client.list_artifacts(run_id, folder):
        if item.is_dir:
            yield from _files(client, run_id, item.path)
        else:
            yield str(item.path)


def record_condition(record_id: str) -> str:
    """Return the condition for runs of one record id."""
    return text_condition(f"tags.`{RECORD_ID}`", record_id)


def _missing(run: Any, name: str, folder: str) -> StoreError:
    return StoreError(
        f"run {run.info.run_id} has no artifact {name}",
        where=folder,
        hint="The artifacts were moved or live on another machine; put the folder back, or use an MLflow server",
    )
