"""The list of what belongs to an exported campaign, and the mark of one that is not finished."""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tracker.errors import InputError
from tracker.store.campaign_documents import DAMAGED, ListedFile, Manifest, decode

FORMAT = "tracker campaign"
SCHEMA_VERSION = 1
MANIFEST = "manifest.json"
# Ten thousand runs list 14 MB; a million request rows take 100 MB.
MAX_MANIFEST_BYTES = 256 * 2**20
MAX_FILE_BYTES = 2 * 2**30
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


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of an export.

    Raises:
        InputError: No export, an unfinished or damaged one, or one of a newer tracker.
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
        if path.stat().st_size > MAX_MANIFEST_BYTES:
            raise InputError("the manifest is larger than that of any export", where=str(path), hint=DAMAGED)
        content = path.read_bytes()
    except OSError as error:
        raise InputError("the manifest cannot be read", where=str(path), hint="Export the campaign again") from error
    _refuse_others(content, path)
    return decode(Manifest, content, where=path)


def _refuse_others(content: bytes, path: Path) -> None:
    """Refuse a manifest of another program or of a newer tracker, whatever else it holds."""
    head = decode(dict[str, Any], content, where=path)
    version = head.get("schema_version")
    if head.get("format") != FORMAT or not isinstance(version, int) or version < 1:
        raise InputError("this is no exported campaign", where=str(path))
    if version > SCHEMA_VERSION:
        raise InputError(
            f"the export has layout {version}, this tracker knows layouts up to {SCHEMA_VERSION}",
            where=str(path),
            hint="Upgrade tracker on this machine: a newer one wrote the export",
        )


def check_file(folder: Path, item: ListedFile) -> None:
    """Compare a file with what the manifest says of it.

    Raises:
        InputError: Missing, changed, no file, or outside the export, also by a link.
    """
    path = folder / item.path
    if ".." in Path(item.path).parts or Path(item.path).is_absolute() or not _is_inside(path, folder):
        raise InputError("the manifest names a file outside the export", where=str(path))
    try:
        found = path.stat()
        whole = stat.S_ISREG(found.st_mode) and found.st_size == item.size_bytes <= MAX_FILE_BYTES
        digest = _digest(path) if whole else None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such name"
        raise InputError(f"a file of the export is missing: {reason}", where=str(path), hint=DAMAGED) from error
    if digest != item.sha256:
        raise InputError("a file of the export is not what was exported", where=str(path), hint=DAMAGED)


def _is_inside(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # a name no system has, or links in a circle
        return False


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def put_file(folder: Path, path: str, content: bytes, written: dict[str, dict[str, Any]]) -> None:
    """Write a file so that it is whole or absent, and note its digest.

    Raises:
        OSError: It cannot be written.
        InputError: It would land outside the folder, by a link that somebody put there.
    """
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if not _is_inside(target.parent, folder):
        raise InputError(
            "a link leads out of the export", where=str(target.parent), hint="Name a new folder with --out"
        )
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
