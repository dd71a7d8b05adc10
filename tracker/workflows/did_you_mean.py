"""Advice for a name that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def advice(wrong: str, known: Iterable[str]) -> str:
    """Return what was probably meant, and everything that could be."""
    names = sorted(known)
    close = difflib.get_close_matches(wrong, names, n=1)
    meant = f"Did you mean {close[0]!r}? " if close else ""
    return f"{meant}Known: {', '.join(names)}."
