"""Names of files and folders after what people called things."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

NAME_CHARACTERS = 48
DIGEST_CHARACTERS = 12


def file_name(text: str, *, otherwise: str) -> str:
    """Return a text as part of a file's name on every system; `otherwise` where nothing of it is left."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:NAME_CHARACTERS].strip(".-") or otherwise


def short_digest(text: str) -> str:
    """Return what tells two texts apart that have one file name."""
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:DIGEST_CHARACTERS]


def files_in(folder: Path, suffix: str) -> tuple[Path, ...]:
    """Return the files with a suffix, sorted; none where there is no such folder.

    Raises:
        OSError: The folder cannot be read. `Path.glob` would say that it is empty.
    """
    try:
        found = sorted(path for path in folder.iterdir() if path.name.endswith(suffix))
    except FileNotFoundError:
        return ()
    return tuple(path for path in found if path.is_file())
