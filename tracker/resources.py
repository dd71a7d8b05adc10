"""Where the files that travel with the package lie: in the wheel, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def template_dir() -> Path:
    """Return the folder of the Jinja templates."""
    return _folder("templates")


def experiments_dir() -> Path:
    """Return the folder of the example campaigns."""
    return _folder("experiments")


def _folder(name: str) -> Path:
    packaged = _PACKAGE / name
    return packaged if packaged.is_dir() else _PACKAGE.parent / name
