"""Secrets in the columns of a table: the heading says so, the cells do not."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

_DELIMITERS = (",", "\t", ";", "|")
_KEEP = frozenset({"", "none", "null", "true", "false"})


def redact_columns(text: str, is_secret: Callable[[str], bool], stand_in: str) -> str:
    """Return a delimited table with the cells below every secret heading replaced; other texts as they are.

    Args:
        text: Any text; it is a table where its first line that is no comment has a secret name as one of several cells.
        is_secret: Whether a heading names a secret.
        stand_in: What replaces a cell.
    """
    lines = text.splitlines(keepends=True)
    first = next((index for index, line in enumerate(lines) if line.strip() and not line.startswith("#")), None)
    if first is None:
        return text
    heading = lines[first]
    for delimiter in _DELIMITERS:
        try:
            cells = next(csv.reader([heading], delimiter=delimiter), [])
        except csv.Error:  # a cell of more than 131,072 characters: a line of JSON, no heading
            continue
        secret = {index for index, cell in enumerate(cells) if is_secret(cell.strip())}
        if len(cells) > 1 and secret:
            body = _body("".join(lines[first + 1 :]), delimiter, secret, stand_in)
            return text if body is None else "".join(lines[: first + 1]) + body
    return text


def _body(text: str, delimiter: str, secret: set[int], stand_in: str) -> str | None:
    """Return the rows with their secret cells replaced; None when they hold nothing to replace."""
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:  # which cells are below the heading cannot be told
        return stand_in
    changed = False
    for row in rows:
        for index in secret & set(range(len(row))):
            if row[index].strip().lower() not in _KEEP and row[index].strip() != stand_in:
                row[index], changed = stand_in, True
    if not changed:
        return None
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, lineterminator="\r\n" if "\r\n" in text else "\n").writerows(rows)
    return out.getvalue()
