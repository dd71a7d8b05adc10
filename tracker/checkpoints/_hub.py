"""Hub ids resolved in the local Hugging Face cache; nothing is ever downloaded."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tracker.errors import CheckpointError

HUB_ID = re.compile(r"(?P<repo>[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?)(?:@(?P<revision>[\w./-]+))?")
_SNAPSHOT = re.compile(r"models--(?P<owner>[^/]+?)(?:--(?P<name>[^/]+))?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A checkpoint's folder."""

    folder: Path
    """Where its files lie."""
    name: str
    """Hub id, or the folder's own name."""
    revision: str | None = None
    """Commit on the Hub, when the folder is a snapshot."""


def default_cache() -> Path:
    """Return the place of the cache when nothing says otherwise."""
    return Path("~/.cache/huggingface/hub").expanduser()


def find_cached(hub_id: str, cache_dir: Path) -> Located | None:
    """Return the cached snapshot of `owner/name` or `owner/name@revision`; None when it is not there."""
    match = HUB_ID.fullmatch(hub_id)
    if match is None:
        return None
    repo = cache_dir / ("models--" + match["repo"].replace("/", "--"))
    revision = match["revision"] or "main"
    reference = repo / "refs" / revision
    if reference.is_file():
        revision = reference.read_text(encoding="utf-8").strip()
    folder = repo / "snapshots" / revision
    if folder.parent != repo / "snapshots" or not folder.is_dir():
        return None
    return Located(folder=folder, name=match["repo"], revision=revision)


def name_of(folder: Path) -> Located:
    """Return a folder with the name people know it by: the Hub id of a snapshot, else its last telling part."""
    snapshot = _SNAPSHOT.search(folder.parent.parent.name) if folder.parent.name == "snapshots" else None
    if snapshot is not None:
        parts = [part for part in (snapshot["owner"], snapshot["name"]) if part]
        return Located(folder=folder, name="/".join(parts), revision=folder.name)
    vague = re.fullmatch(
        r"(?i)(?:checkpoint|global_?step|step|epoch|iter)[-_]?\d*|latest|final|best|last|hf", folder.name
    )
    return Located(
        folder=folder, name=f"{folder.parent.name}/{folder.name}" if vague and folder.parent.name else folder.name
    )


def not_found(path_or_id: str, cache_dir: Path) -> CheckpointError:
    """Return the error for something that is neither a folder nor in the cache."""
    if HUB_ID.fullmatch(path_or_id) and not path_or_id.startswith("."):
        return CheckpointError(
            "is neither a folder nor a model in the local Hugging Face cache",
            where=path_or_id,
            hint=f"Nothing is downloaded from here: fetch it first (`hf download {path_or_id}`), or give its folder.",
        )
    return CheckpointError("does not exist", where=path_or_id, hint="Give the folder that holds config.json.")
