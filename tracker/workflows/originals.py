"""Input files as they are kept beside a record: without texts, without secrets, bounded."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tracker.domain.provenance import InputFile
from tracker.domain.record import Attachment
from tracker.domain.redaction import clean_bytes
from tracker.errors import InputError
from tracker.importers import _source
from tracker.workflows.originals_text import without_texts

# Larger originals stay where they are; the record keeps their digest, and requests.parquet what was read.
MAX_ORIGINAL_BYTES = 16 * 2**20
MAX_FILES = 64
_CHUNK_BYTES = 2**20
# A training's folder holds checkpoints of gigabytes, which have an identity of their own.
_WEIGHTS = frozenset({".bin", ".ckpt", ".distcp", ".pt", ".pth", ".safetensors"})
_PACKED = (".gz", ".zst")


def files_of(path: Path) -> tuple[Path, ...]:
    """Return the file itself, or the files of a folder, sorted; deeper folders included, weights left out."""
    if path.is_dir():
        return tuple(sorted(item for item in path.rglob("*") if item.is_file() and item.suffix not in _WEIGHTS))
    return (path,)


def digests(path: Path) -> tuple[InputFile, ...]:
    """Return name, SHA-256 and size of the file, or of every file of a folder.

    Raises:
        InputError: A file cannot be read.
    """
    return tuple(_digest(item, item.relative_to(path).as_posix() if path.is_dir() else item.name)
                 for item in files_of(path))  # fmt: skip


def keep(path: Path, *, keep_text: bool = False) -> tuple[Attachment, ...]:
    """Return the file, or the files of a folder, as attachments under `input/`, unpacked and in UTF-8.

    Prompt and answer texts become `{"sha256", "characters"}` unless `keep_text`; secrets are redacted; files above
    16 MB are left out (their digest is in the record).

    Raises:
        InputError: A file cannot be read.
    """
    kept = []
    for item in files_of(path)[:MAX_FILES]:
        name = item.relative_to(path).as_posix() if path.is_dir() else item.name
        content = _content(item)
        cleaned = content if keep_text or content is None else without_texts(content)
        if cleaned is not None:
            kept.append(Attachment(name=f"input/{_unpacked(name)}", content=clean_bytes(cleaned)))
    return tuple(kept)


def _content(path: Path) -> bytes | None:
    """Return a file's content, unpacked; None where it is larger than what is kept, or packed and damaged.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        if path.stat().st_size > MAX_ORIGINAL_BYTES:
            return None
        with _source.opened(path) as stream:
            content = stream.read(MAX_ORIGINAL_BYTES + 1)
    except InputError:
        if path.suffix in _PACKED:
            return None
        raise
    except OSError as error:
        raise InputError(f"cannot read the file: {error.strerror}", where=str(path)) from error
    return content if len(content) <= MAX_ORIGINAL_BYTES else None


def _unpacked(name: str) -> str:
    """Return the name of a file after unpacking."""
    return next((name.removesuffix(suffix) for suffix in _PACKED if name.endswith(suffix)), name)


def _digest(path: Path, name: str) -> InputFile:
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                digest.update(chunk)
                size += len(chunk)
    except OSError as error:
        raise InputError(f"cannot read the file: {error.strerror}", where=str(path)) from error
    return InputFile(name=name, sha256=digest.hexdigest(), size_bytes=size)
