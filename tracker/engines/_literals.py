"""Python reprs in log lines read as data, never run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

# Far above any real server_args line (about 20 kB); a longer one is not read.
MAX_CHARACTERS = 1_000_000
MAX_DEPTH = 8
_OBJECT = re.compile(r"[A-Za-z_][\w.]*(?=\(.*=.*\)$)", re.DOTALL)
_OPEN = {"(": ")", "[": "]", "{": "}", "<": ">"}


def read_fields(text: str, start: int, separator: str, *, depth: int = 0) -> dict[str, Any]:
    """Return the `name=value` or `'name': value` pairs of the bracket that opens at `start`.

    An object inside (`Config(a=1)`) becomes a mapping, any other value that is no literal stays text; a bracket that
    never closes gives what is whole.

    Args:
        text: The line.
        start: Index of the opening bracket.
        separator: `=` for `Name(a=1)`, `:` for `{'a': 1}`.
        depth: How many objects enclose this one.
    """
    if len(text) > MAX_CHARACTERS:
        return {}
    fields: dict[str, Any] = {}
    for item in _items(text, start):
        name, found, value = item.partition(separator)
        if found:
            fields[name.strip().strip("'\"")] = read_literal(value.strip(), depth=depth)
    return fields


def read_literal(text: str, *, depth: int = 0) -> Any:
    """Return the Python literal or the object's fields that a text spells, else the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        named = _OBJECT.match(text) if depth < MAX_DEPTH else None
        return (read_fields(text, named.end(), "=", depth=depth + 1) or text) if named else text


def _items(text: str, start: int) -> Iterator[str]:
    """Yield the comma-separated parts of the bracket at `start`; a part that is cut off is left out."""
    stack = [_OPEN[text[start]]]
    quote = ""
    begin = index = start + 1
    while index < len(text):
        character = text[index]
        if quote:
            if character == "\\":
                index += 1
            elif character == quote:
                quote = ""
        elif character in "'\"":
            quote = character
        elif character == "<" and not _opens_repr(text, index):
            pass
        elif character in _OPEN:
            stack.append(_OPEN[character])
        elif character == stack[-1]:
            stack.pop()
            if not stack:
                if text[begin:index].strip():
                    yield text[begin:index]
                return
        elif character == "," and len(stack) == 1:
            yield text[begin:index]
            begin = index + 1
        index += 1


def _opens_repr(text: str, index: int) -> bool:
    """Return whether `<` opens an object's repr (`<Mode.A: 1>`), not a comparison in free text."""
    return index + 1 < len(text) and (text[index + 1].isalpha() or text[index + 1] == "_")
