"""Records as they may be kept: every text in them without secrets, people and machines.

Importers and engines redact what they know to be a command, a description or a log. This is the last gate before a
record is kept, and it knows nothing: a note, a tag, a run name or a column nobody asked for passes through it too.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any, TypeVar, cast

from tracker.domain.redaction import REDACTED, clean_text, is_secret_name, mask_value, redact_argv, redact_mapping

T = TypeVar("T")

# A digest, a number or a short word holds no secret: a million request rows must not be searched for one.
_PLAIN = re.compile(r"[0-9a-f]{0,64}|[a-z0-9-]{0,14}")
_NUMBERS_ONLY = re.compile(r"(?:(?:int|float|bool|None|datetime|tuple)\b|[\s|,.\[\]])*")


def cleaned(value: T) -> T:
    """Return a dataclass, mapping, sequence or text of the same kind with secrets redacted and identities masked.

    What needs no cleaning is returned as it is, so that equal records stay equal and large ones are not copied.
    """
    result: T = _cleaned(value, {})
    return result


def _cleaned(value: Any, seen: dict[str, str]) -> Any:
    if isinstance(value, str):
        return _text(value, seen)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value, seen)
    if isinstance(value, Mapping):
        return _mapping(value, seen)
    if isinstance(value, (tuple, list)):
        return _sequence(value, seen)
    return value


def _text(text: str, seen: dict[str, str]) -> str:
    if _PLAIN.fullmatch(text):
        return text
    if text not in seen:
        seen[text] = clean_text(text)
    return seen[text]


def _fields(value: Any, seen: dict[str, str]) -> Any:
    """Return a dataclass; one that names a secret, as a difference between two flags may, loses all its texts."""
    name = getattr(value, "name", None)
    secret = isinstance(name, str) and is_secret_name(name)
    changes = {}
    for entry in _text_fields(cast(Hashable, type(value))):
        old = getattr(value, entry)
        new = REDACTED if secret and entry in ("first", "second", "value") else _cleaned(old, seen)
        if new is not old and new != old:
            changes[entry] = new
    return dataclasses.replace(value, **changes) if changes else value


@cache
def _text_fields(kind: Any) -> tuple[str, ...]:
    """Return the fields of a dataclass that can hold a text, by their annotations."""
    return tuple(entry.name for entry in dataclasses.fields(kind) if not _NUMBERS_ONLY.fullmatch(str(entry.type)))


def _mapping(value: Mapping[Any, Any], seen: dict[str, str]) -> Mapping[Any, Any]:
    redacted = redact_mapping(value)
    result = {_cleaned(key, seen): mask_value(_cleaned(item, seen), str(key)) for key, item in redacted.items()}
    return value if result == value else result


def _sequence(value: tuple[Any, ...] | list[Any], seen: dict[str, str]) -> Any:
    words = redact_argv(value) if value and all(isinstance(item, str) for item in value) else value
    parts = [_cleaned(item, seen) for item in words]
    if all(new is old for new, old in zip(parts, value, strict=True)):
        return value
    return tuple(parts) if isinstance(value, tuple) else parts
