"""Foreign text made harmless: names, notes and flags come from anywhere."""

from __future__ import annotations

import dataclasses
import unicodedata
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")

# Cc: control characters. Cf: invisible ones, among them the marks that turn the reading direction around.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def clean_text(text: str) -> str:
    """Return `text` in one line, every invisible or direction-changing character shown as its code point."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    if char in "\n\r\t":
        return " "
    return f"⟨U+{ord(char):04X}⟩" if unicodedata.category(char) in _INVISIBLE else char


def clean(value: T) -> T:
    """Return a copy of a result in which every string is cleaned; dataclasses, mappings and sequences are walked."""
    cleaned: Any = _clean(value)
    return cleaned  # type: ignore[no-any-return]


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {}
        for field in dataclasses.fields(value):
            old = getattr(value, field.name)
            new = _clean(old)
            if new is not old:
                changes[field.name] = new
        return dataclasses.replace(value, **changes) if changes else value
    if isinstance(value, Mapping):
        return {_clean(key): _clean(item) for key, item in value.items()} if value else value
    if isinstance(value, tuple | list):
        items = [_clean(item) for item in value]
        unchanged = all(new is old for new, old in zip(items, value, strict=True))
        return value if unchanged else type(value)(items)
    return value


def safe_url(url: str | None) -> str | None:
    """Return `url` where it leads to a web page, else None: no script, no file, no white space."""
    if url is None or not url.isprintable() or any(char.isspace() for char in url):
        return None
    return url if url.startswith(("http://", "https://")) else None
