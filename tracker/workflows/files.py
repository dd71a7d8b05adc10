"""Writing several files so that a reader sees all of them or none changed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tracker.errors import InputError


def write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder: all to temporary names first, then renamed.

    Raises:
        InputError: The folder cannot be written; nothing was replaced.
    """
    pending: list[tuple[Path, Path]] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{name}.")
            pending.append((Path(temporary), folder / name))
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
            Path(temporary).chmod(0o644)
        for temporary_path, final in pending:
            temporary_path.replace(final)
    except OSError as error:
        for temporary_path, _ in pending:
            temporary_path.unlink(missing_ok=True)
        raise InputError(
            f"cannot write here: {error.strerror}", where=str(folder), hint="Name another folder with --out."
        ) from error
