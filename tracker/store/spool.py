"""Runs on their way to the store, one file each: nothing measured is lost when the store is down.

A file is written under a temporary name, flushed to the disk and renamed, so that a file with the final name is whole.
It leaves only when the store has confirmed the run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from tracker.domain.record import LoggedRun
from tracker.errors import StoreError
from tracker.store.codec import decode_logged_run, encode_logged_run
from tracker.store.failures import DamagedError
from tracker.store.file_names import file_name, files_in

SUFFIX = ".run"
MAGIC = b"tracker-spool 1 sha256 "
TEMPORARY_PREFIX = ".writing-"
LOCK_SECONDS = 60


class Spool:
    """A folder of runs that the store has not confirmed."""

    def __init__(self, folder: Path) -> None:
        """Use `folder`; it is made at the first `put`."""
        self.folder = folder

    def put(self, run: LoggedRun) -> Path:
        """Write the run to the disk and return its file. The same run twice is one file.

        Raises:
            StoreError: Disk full, read-only, or no permission; nothing half-written is left.
        """
        payload = encode_logged_run(run)
        digest = hashlib.sha256(payload).hexdigest()
        logged_at = run.record.provenance.logged_at.strftime("%Y%m%dT%H%M%S")
        name = file_name(run.record.name, otherwise="run")
        path = self.folder / f"{logged_at}-{name}-{digest[:16]}{SUFFIX}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_durably(path, MAGIC + digest.encode() + b"\n" + payload)
        except OSError as error:
            raise StoreError(
                f"the run {run.record.name!r} could not be written to the local spool: {error.strerror or error}",
                where=str(self.folder),
                hint="Free some space or make the folder writable, then log again; nothing was stored",
            ) from error
        return path

    def pending(self) -> tuple[Path, ...]:
        """Return the files still to send, oldest first.

        Raises:
            StoreError: The folder cannot be read.
        """
        return self.files(SUFFIX)

    def damaged(self) -> tuple[Path, ...]:
        """Return the files that were set aside in `bad/`, oldest first.

        Raises:
            StoreError: The folder cannot be read.
        """
        return self.files(SUFFIX, below="bad")

    def files(self, suffix: str, *, below: str = "") -> tuple[Path, ...]:
        """Return the files with a suffix in the spool, or in a folder of it, sorted.

        Raises:
            StoreError: The folder cannot be read.
        """
        try:
            return files_in(self.folder / below, suffix)
        except OSError as error:
            raise StoreError(
                f"the spool cannot be read: {error.strerror or error}",
                where=str(self.folder),
                hint="Let this user read it, or name another one in TRACKER_SPOOL",
            ) from error

    def try_writing(self) -> None:
        """Write a file as `put` does and remove it, with the folders that were made for it.

        Raises:
            StoreError: Disk full, read-only, or no permission.
        """
        trial = self.folder / f"{TEMPORARY_PREFIX}trial-{os.getpid()}"
        try:
            made = [folder for folder in (self.folder, *self.folder.parents) if not folder.exists()]
            self.folder.mkdir(parents=True, exist_ok=True)
            write_durably(trial, b"trial")
            trial.unlink()
            for folder in made:
                folder.rmdir()
        except OSError as error:
            raise StoreError(
                f"the spool cannot be written: {error.strerror or error}",
                where=str(self.folder),
                hint="Free some space or make the folder writable, or name another one in TRACKER_SPOOL",
            ) from error

    def read(self, path: Path) -> LoggedRun:
        """Return the run in a file.

        Raises:
            StoreError: The file is unreadable, damaged, or of a newer tracker.
        """
        try:
            content = path.read_bytes()
        except OSError as error:
            raise StoreError(f"the spooled run cannot be read: {error.strerror or error}", where=str(path)) from error
        head, _, payload = content.partition(b"\n")
        if not head.startswith(MAGIC):
            raise DamagedError("not a spooled run", where=str(path))
        if hashlib.sha256(payload).hexdigest().encode() != head.removeprefix(MAGIC):
            raise DamagedError("the spooled run is damaged: its content does not match its digest", where=str(path))
        return decode_logged_run(payload, where=str(path))

    def done(self, path: Path) -> None:
        """Remove a file whose run the store has confirmed.

        Raises:
            StoreError: The file cannot be removed; the run is stored all the same.
        """
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"the run is stored, but its spool file cannot be removed: {error.strerror or error}",
                where=str(path),
                hint="Delete it by hand, or leave it: sending it again changes nothing",
            ) from error

    def set_aside(self, path: Path, reason: str) -> Path:
        """Move a damaged file to `bad/` with its reason beside it, and return where it went. Nothing is ever deleted.

        Raises:
            StoreError: It cannot be moved.
        """
        target = self.folder / "bad" / path.name
        try:
            target.parent.mkdir(exist_ok=True)
            target.with_suffix(".reason.txt").write_text(f"{reason}\n", encoding="utf-8")
            path.rename(target)
        except OSError as error:
            raise StoreError(f"a damaged file cannot be moved: {error.strerror or error}", where=str(path)) from error
        return target

    @contextlib.contextmanager
    def sending(self, path: Path) -> Iterator[None]:
        """Hold the right to send one file, so that `log-run` and `tracker sync` never send it at once.

        Raises:
            StoreError: Another process has been sending it for a minute, or the spool cannot be written.
        """
        lock_file = self.folder / "sending" / f"{path.name}.lock"
        lock = FileLock(lock_file)
        try:
            lock_file.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=LOCK_SECONDS)
        except Timeout as error:
            raise StoreError(
                "another tracker process is sending this run", where=str(path), hint="Run `tracker sync` later"
            ) from error
        except OSError as error:
            raise StoreError(
                f"the spool cannot be written: {error.strerror or error}",
                where=str(self.folder),
                hint="Make the folder writable, then run `tracker sync`",
            ) from error
        try:
            yield
        finally:
            # Removed while held: whoever waits for it next finds the spool file gone, or sends it again to no effect.
            lock_file.unlink(missing_ok=True)
            lock.release()


def write_durably(path: Path, content: bytes) -> None:
    """Write `content` so that after a crash `path` is absent or whole."""
    handle, name = tempfile.mkstemp(prefix=TEMPORARY_PREFIX, dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable; Windows has no handle for a folder and needs none."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
