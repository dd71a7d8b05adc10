"""What a checkpoint's folder holds under the name of a file: only files are opened."""

from __future__ import annotations

import stat
from pathlib import Path

from tracker.errors import CheckpointError


def size_of(path: Path) -> int:
    """Return the size of a file, also behind a link, in bytes.

    Raises:
        CheckpointError: There is none, or it is a pipe, a device or a folder: reading might never end.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise CheckpointError(
            f"cannot be read ({error.strerror})",
            where=str(path),
            hint="Check that the file exists and its permissions.",
        ) from error
    if not stat.S_ISREG(found.st_mode):
        raise CheckpointError(
            "is no file but a folder, a pipe or a device", where=str(path), hint="Remove it, or put the file there."
        )
    return found.st_size
