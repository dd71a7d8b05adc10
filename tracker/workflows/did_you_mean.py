"""Advice for a name that is not known."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any, get_args, get_type_hints


def advice(wrong: str, known: Iterable[str]) -> str:
    """Return what was probably meant, and everything that could be."""
    names = sorted(known)
    close = difflib.get_close_matches(wrong, names, n=1)
    meant = f"Did you mean {close[0]!r}? " if close else ""
    return f"{meant}Known: {', '.join(names)}."


def advice_on_choice(message: str, kind: Any) -> str | None:
    """Return what may stand in a field of fixed words; None where msgspec complains of something else.

    Args:
        message: What msgspec says.
        kind: The dataclass that was read.
    """
    found = re.search(r"Invalid enum value '(?P<wrong>[^']*)' - at `\$\.(?P<field>\w+)`", message)
    if found is None:
        return None
    annotation = get_type_hints(kind).get(found["field"])
    words = [word for part in (annotation, *get_args(annotation)) for word in get_args(part) if isinstance(word, str)]
    return advice(found["wrong"].lower().replace("-", ""), words) if words else None
