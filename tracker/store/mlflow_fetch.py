"""Many artifacts at once: on the disk itself, or through the server by several threads."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from tracker.store.mlflow_download import ask_mlflow, asking

# A server with two workers answers 8 at once as fast as 16 (measured on two cores).
THREADS = 8
UPLOADS = 4
# From so many files on it pays to learn how the server wants to be asked.
MANY = 8
RUN_FOLDER = "artifacts"
RUN_ID_LENGTH = 32


def local_folder(uri: str) -> Path | None:
    """Return the folder that an artifact URI names on this machine; None for any other URI."""
    parts = urlsplit(uri)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    # A drive letter is no scheme.
    return Path(uri) if len(parts.scheme) <= 1 else None


def artifact_root(experiment: Any, run_id: str) -> str:
    """Return where MLflow puts the artifacts of a run of an experiment (3.17, `SqlAlchemyStore.create_run`)."""
    return f"{experiment.artifact_location.rstrip('/')}/{run_id}/{RUN_FOLDER}"


def run_folders(client: Any, experiment: Any) -> set[str]:
    """Return the run ids for which an experiment has a folder of artifacts: those deleted and half-written as well.

    Raises:
        MlflowException: The place cannot be listed.
        OSError: As before.
    """
    folder = local_folder(experiment.artifact_location)
    if folder is not None:
        names = [item.name for item in folder.iterdir()] if folder.is_dir() else []
    else:
        listed = _repository(client, experiment.artifact_location).list_artifacts()
        names = [item.path.rstrip("/").rpartition("/")[2] for item in listed]
    return {name for name in names if len(name) == RUN_ID_LENGTH}


def fetch(client: Any, places: Mapping[str, str], name: str) -> dict[str, bytes]:
    """Return one file of many runs by run id; runs whose file cannot be read are left out.

    Args:
        client: MlflowClient.
        places: Artifact URIs by run id.
        name: The file's name.
    """
    far = {run_id: uri for run_id, uri in places.items() if local_folder(uri) is None}
    found = dict(_read_near(places, name))
    if far:
        with tempfile.TemporaryDirectory(prefix="tracker-") as folder:
            found |= _read_far(client, far, name, Path(folder))
    return {run_id: found[run_id] for run_id in places if run_id in found}


@contextlib.contextmanager
def uploading(client: Any, uri: str, files: Mapping[str, bytes]) -> Iterator[None]:
    """Write files by their paths into a run's artifacts; a server takes several at once, and other requests meanwhile.

    MLflow's own way asks for the run first, copies every file once more, and sends one after the other (3.17).

    Args:
        client: MlflowClient.
        uri: Artifact URI of the run, as MLflow gave it.
        files: Content by path.

    Raises:
        MlflowException: The server refuses.
        OSError: The disk is full, or the folder cannot be written.
    """
    near = local_folder(uri)
    if near is not None:
        _write(near, files)
        yield
        return
    repository = _repository(client, uri)
    with tempfile.TemporaryDirectory(prefix="tracker-") as name, ThreadPoolExecutor(UPLOADS) as threads:
        folder = Path(name)
        _write(folder, files)
        parents = {path: str(parent) if str(parent := PurePosixPath(path).parent) != "." else None for path in files}
        sent = [threads.submit(repository.log_artifact, str(folder / path), parents[path]) for path in files]
        yield
        for one in sent:
            one.result()  # raises what a thread raised


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _read_near(places: Mapping[str, str], name: str) -> Iterable[tuple[str, bytes]]:
    for run_id, uri in places.items():
        folder = local_folder(uri)
        if folder is not None:
            try:
                yield run_id, (folder / name).read_bytes()
            except OSError:
                continue


def _read_far(client: Any, places: Mapping[str, str], name: str, folder: Path) -> dict[str, bytes]:
    first = _repository(client, next(iter(places.values())))
    asked = asking(first, name, at_once=THREADS) if len(places) >= MANY else contextlib.nullcontext(ask_mlflow)
    with asked as ask, ThreadPoolExecutor(THREADS) as threads:

        def read(run_id: str) -> bytes | None:
            repository = _repository(client, places[run_id])
            content = ask(repository)
            return _downloaded(repository, name, folder / run_id) if content is None else content

        got = zip(places, threads.map(read, places), strict=True)
        return {run_id: content for run_id, content in got if content is not None}


def _downloaded(repository: Any, name: str, target: Path) -> bytes | None:
    """Return a file of a run, in one request: MLflow's own download asks three times (3.17)."""
    import requests
    from mlflow.exceptions import MlflowException

    try:
        repository._download_file(name, str(target))
        return target.read_bytes()
    except (MlflowException, requests.RequestException, OSError):
        return None
    finally:
        target.unlink(missing_ok=True)


def _repository(client: Any, uri: str) -> Any:
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    return get_artifact_repository(uri, tracking_uri=client.tracking_uri)
