"""Files of a cache: checked when read, replaced in one step when written, never trusted to be there.

Several processes may use one folder. A file is written under another name and renamed; what it holds is known by its
digest, so that a damaged, cut or foreign file is no file at all. Nobody locks anything: whoever writes last wins, and
what the other one had learned is learned again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
import zlib
from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec

from tracker.domain.measurement import RequestRow
from tracker.domain.record import SCHEMA_VERSION, RunRecord

MAGIC = b"tracker-cache 1 "
ORPHAN_SECONDS = 3600
FAST = 1

T = TypeVar("T")


def read_file(path: Path, kind: type[T]) -> T | None:
    """Return what a file holds; None when it is missing, damaged, or of another version of tracker."""
    packed = read_packed(path)
    return None if packed is None else unpack(packed, kind)


def write_file(path: Path, value: object) -> bool:
    """Write a file in one step; return False when it cannot be written: a cache only saves time."""
    return write_packed(path, pack(value))


def pack(value: object) -> bytes:
    """Return a value as a file holds it: a tenth of its size and less."""
    return zlib.compress(msgspec.msgpack.encode(value), FAST)


def unpack(packed: bytes, kind: type[T]) -> T | None:
    """Return the value that was packed; None when it is of another kind."""
    try:
        return msgspec.msgpack.decode(zlib.decompress(packed), type=kind)
    except (zlib.error, msgspec.MsgspecError):
        return None


def read_packed(path: Path) -> bytes | None:
    """Return what a file holds, packed; None as for `read_file`."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    head, _, packed = content.partition(b"\n")
    return packed if head == _head(packed) else None


def write_packed(path: Path, packed: bytes) -> bool:
    """Write what was packed; see `write_file`."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(_head(packed) + b"\n" + packed)
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        return False
    return True


def content_name(packed: bytes) -> str:
    """Return a file name that is the same for the same content only."""
    return hashlib.sha256(packed).hexdigest()[:20]


def remove_orphans(folder: Path, kept: set[str], *, now: float | None = None) -> None:
    """Remove files that nothing names any more and that no other process can still be about to name."""
    limit = (time.time() if now is None else now) - ORPHAN_SECONDS
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            with contextlib.suppress(OSError):
                if path.name not in kept and path.is_file() and path.stat().st_mtime < limit:
                    path.unlink()


def _head(packed: bytes) -> bytes:
    return MAGIC + layout().encode() + b" " + hashlib.sha256(packed).hexdigest().encode()


@cache
def layout() -> str:
    """Return what names the layout of records: a cache of another tracker is not read."""
    schema = msgspec.json.schema_components([RunRecord, RequestRow])
    return hashlib.sha256(msgspec.json.encode([SCHEMA_VERSION, schema], order="sorted")).hexdigest()[:16]
