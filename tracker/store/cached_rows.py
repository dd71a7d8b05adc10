"""Per-request rows of many runs at once. They never change, so what was read once is not asked for again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tracker.domain.measurement import RequestRow
from tracker.store.cache_files import content_name, pack, read_file, write_file, write_packed
from tracker.store.mlflow_artifacts import REQUESTS
from tracker.store.mlflow_fetch import fetch
from tracker.store.rows import decode_rows

Rows = tuple[RequestRow, ...]
FOLDER = "rows"
INDEX = "index"
# A file is read as a whole; runs of one campaign are mostly asked for together.
RUNS_A_FILE = 1000

_DECODER = msgspec.msgpack.Decoder(tuple[RequestRow, ...])


class Place(msgspec.Struct, array_like=True, frozen=True):
    """Where a run's rows are."""

    file: str
    """Name of the file."""
    position: int
    """Place in it."""


class CachedRows:
    """The per-request rows of one store's runs. Deleted or damaged, the answers are the same."""

    def __init__(self, folder: Path | None, uri: str) -> None:
        """Keep what is read of the store `uri` under `folder`; None keeps nothing."""
        self._folder = None if folder is None else folder / hashlib.sha256(uri.encode()).hexdigest()[:16] / FOLDER

    def read(self, client: Any, places: Mapping[str, str], one: Callable[[str], Rows]) -> dict[str, Rows]:
        """Return the rows of several runs by run id.

        Args:
            client: MlflowClient.
            places: Artifact URIs by run id, as far as they can be told without asking.
            one: Reads a run's rows with all questions asked, for runs that have none at their place.

        Raises:
            StoreError: Rows are damaged, or are not where MLflow says.
        """
        index = self._index()
        found = self._known(index, places)
        missing = {run_id: uri for run_id, uri in places.items() if run_id not in found}
        got = fetch(client, missing, REQUESTS)
        fresh = {
            run_id: decode_rows(got[run_id], where=f"run {run_id}, {REQUESTS}") if run_id in got else one(run_id)
            for run_id in missing
        }
        self._keep(index, fresh)
        found |= fresh
        return {run_id: found[run_id] for run_id in places}

    def _index(self) -> dict[str, Place]:
        known = None if self._folder is None else read_file(self._folder / INDEX, dict[str, Place])
        return {} if known is None else known

    def _known(self, index: Mapping[str, Place], run_ids: Iterable[str]) -> dict[str, Rows]:
        if self._folder is None:
            return {}
        wanted: dict[str, list[tuple[str, int]]] = {}
        for run_id in run_ids:
            if (place := index.get(run_id)) is not None:
                wanted.setdefault(place.file, []).append((run_id, place.position))
        found: dict[str, Rows] = {}
        for name, runs in wanted.items():
            held = read_file(self._folder / name, list[bytes])
            if held is not None:
                found |= {run_id: _DECODER.decode(held[place]) for run_id, place in runs if place < len(held)}
        return found

    def _keep(self, index: dict[str, Place], fresh: Mapping[str, Rows]) -> None:
        if self._folder is None or not fresh:
            return
        run_ids = list(fresh)
        for start in range(0, len(run_ids), RUNS_A_FILE):
            here = run_ids[start : start + RUNS_A_FILE]
            packed = pack([msgspec.msgpack.encode(fresh[run_id]) for run_id in here])
            name = content_name(packed)
            if not write_packed(self._folder / name, packed):
                return
            index |= {run_id: Place(name, position) for position, run_id in enumerate(here)}
        write_file(self._folder / INDEX, index)
