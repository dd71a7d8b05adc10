"""Values typed by hand or given in Python, read as a table of their own: same names, same units, same rounding."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

from tracker.errors import InputError
from tracker.importers import _tabletext, table
from tracker.importers.base import ImportedRun

WHERE = "values given"


def from_values(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str] | None = None) -> tuple[ImportedRun, ...]:
    """Return one run a mapping of column names to values; None and NaN are not reported.

    Args:
        rows: One mapping a run.
        columns: What a column holds, by name, where its name does not say so.

    Raises:
        InputError: No value is a throughput or an accept length, or a value is no number or text.
    """
    header = tuple(dict.fromkeys(str(key) for row in rows for key in row))
    lines = tuple(
        _tabletext.Row(line=index, cells=tuple(_text(key, row.get(key)) for key in header))
        for index, row in enumerate(rows, start=1)
    )
    found = table.runs(_tabletext.Table(header=header, header_line=0, rows=lines), where=WHERE, given=columns)
    # Typed values are no file: a row number would make two different typings the same run.
    return tuple(dataclasses.replace(run, row=None) for run in found)


def _text(key: str, value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, str | bool):
        return str(value)
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    raise InputError(f"{key!r} is a {type(value).__name__}", where=WHERE, hint="Give a number or a text.")
