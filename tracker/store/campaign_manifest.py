"""The list of what belongs to an exported campaign, and the mark of one that is not finished."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tracker.errors import InputError

FORMAT = "tracker campaign"
SCHEMA_VERSION = 1
MANIFEST = "manifest.json"
UNFINISHED = ".unfinished"
OWN_FOLDERS = ("runs", "memos")
"""What lies in these and was not written is removed at the end; what somebody puts beside them stays."""


def claim(folder: Path) -> frozenset[str]:
    """Mark a folder as being written and return the files of runs and memos that it holds already.

    Raises:
        InputError: It holds something else, or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = {path.name for path in folder.iterdir()}
        if there and MANIFEST not in there and UNFINISHED not in there:
            raise InputError(
                "the folder holds something else than an export",
                where=str(folder),
                hint="Name a new or an empty folder with --out",
            )
        if MANIFEST in there:
            read_manifest(folder)
        (folder / UNFINISHED).touch()
        (folder / MANIFEST).unlink(missing_ok=True)
        files = (path for own in OWN_FOLDERS for path in (folder / own).rglob("*") if path.is_file())
        return frozenset(path.relative_to(folder).as_posix() for path in files)
    except OSError as error:
        raise InputError(
            f"the folder cannot be written: {error.strerror}", where=str(folder), hint="Name another one with --out"
        ) from error


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of an export.

    Raises:
        InputError: No export, an unfinished one, or one of a newer tracker.
    """
    path = folder / MANIFEST
    if not path.is_file():
        if (folder / UNFINISHED).exists():
            raise InputError(
                "the export was not finished", where=str(folder), hint="Run the same `tracker campaign export` again"
            )
        raise InputError(
            "this is no exported campaign: it has no manifest.json",
            where=str(folder),
            hint="Name a folder that `tracker campaign export` wrote",
        )
    try:
        found = json.loads(path.read_bytes())
        version, is_ours = found["schema_version"], found["format"] == FORMAT
        _ = found["experiment"], [(item["path"], item["sha256"], item["size_bytes"]) for item in found["files"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError("the manifest cannot be read", where=str(path), hint="Export the campaign again") from error
    if not is_ours or not isinstance(version, int):
        raise InputError("this is no exported campaign", where=str(path))
    if version > SCHEMA_VERSION:
        raise InputError(
            f"the export has layout {version}, this tracker knows layouts up to {SCHEMA_VERSION}",
            where=str(path),
            hint="Upgrade tracker on this machine: a newer one wrote the export",
        )
    return dict(found)


def check_file(folder: Path, item: Mapping[str, Any]) -> None:
    """Compare a file with what the manifest says of it.

    Raises:
        InputError: Missing, changed, or outside the export.
    """
    path = folder / str(item["path"])
    hint = "Copy the folder again from where it was exported, or export again"
    if ".." in Path(str(item["path"])).parts or Path(str(item["path"])).is_absolute():
        raise InputError("the manifest names a file outside the export", where=str(path))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"a file of the export is missing: {error.strerror}", where=str(path), hint=hint) from error
    if hashlib.sha256(content).hexdigest() != item["sha256"]:
        raise InputError("a file of the export is not what was exported", where=str(path), hint=hint)


def put_file(folder: Path, path: str, content: bytes, written: dict[str, dict[str, Any]]) -> None:
    """Write a file so that it is whole or absent, and note its digest.

    Raises:
        OSError: It cannot be written.
    """
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".tracker-writing-{target.name}")
    temporary.write_bytes(content)
    temporary.replace(target)
    written[path] = {"path": path, "sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content)}


def finish(folder: Path, experiment: str, written: Mapping[str, Mapping[str, Any]], before: Iterable[str]) -> None:
    """Remove what an earlier export left and this one has not, and write the manifest; from then on it is whole.

    Args:
        folder: The export.
        experiment: Campaign.
        written: What `put_file` noted of each file, by path.
        before: Files that `claim` found.

    Raises:
        OSError: The folder cannot be written.
    """
    for stale in sorted(set(before) - written.keys()):
        (folder / stale).unlink(missing_ok=True)
        _remove_empty((folder / stale).parent, folder)
    files = [written[path] for path in sorted(written)]
    document = {"format": FORMAT, "schema_version": SCHEMA_VERSION, "experiment": experiment, "files": files}
    put_file(folder, MANIFEST, as_json(document), {})
    (folder / UNFINISHED).unlink(missing_ok=True)


def _remove_empty(folder: Path, top: Path) -> None:
    while folder != top and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def as_json(value: Any) -> bytes:
    """Return JSON that people can read, equal for equal values."""
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
