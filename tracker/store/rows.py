"""Per-request rows as a Parquet table: typed, small, and readable by every data tool."""

from __future__ import annotations

import dataclasses
import io
from functools import cache
from typing import Any

from tracker.domain.measurement import RequestRow
from tracker.errors import StoreError

ROWS_SCHEMA_VERSION = 1
COLUMN_TYPES = {
    "prompt_key": "string",
    "category": "string",
    "concurrency": "int64",
    "repeat": "int64",
    "input_tokens": "int64",
    "output_tokens": "int64",
    "cached_input_tokens": "int64",
    "latency_s": "float64",
    "ttft_s": "float64",
    "verify_steps": "int64",
    "accepted_drafts": "int64",
    "proposed_drafts": "int64",
    "accepted_histogram": "list<int64>",
    "finish_reason": "string",
    "error": "string",
}
"""Parquet type of every field of RequestRow, in order; a test keeps the two equal."""


def encode_rows(rows: tuple[RequestRow, ...]) -> bytes:
    """Return the rows as one Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {name: [_plain(getattr(row, name)) for row in rows] for name in COLUMN_TYPES}
    table = pa.table(columns, schema=_schema())
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def decode_rows(content: bytes, *, where: str = "requests.parquet") -> tuple[RequestRow, ...]:
    """Return the rows of a Parquet file; columns that an older version did not write take their defaults.

    Raises:
        StoreError: Damaged, or with columns this version does not know.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(io.BytesIO(content))
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"not readable as Parquet: {error}", where=where, hint="The file is damaged") from error
    unknown = [name for name in table.column_names if name not in COLUMN_TYPES]
    if unknown:
        raise StoreError(
            f"unknown columns {', '.join(unknown)}",
            where=where,
            hint="Upgrade tracker on this machine: a newer one wrote the file",
        )
    return tuple(_row(values) for values in table.to_pylist())


@cache
def _schema() -> Any:
    import pyarrow as pa

    kinds = {
        "string": pa.string(),
        "int64": pa.int64(),
        "float64": pa.float64(),
        "list<int64>": pa.list_(pa.int64()),
    }
    fields = [pa.field(name, kinds[kind]) for name, kind in COLUMN_TYPES.items()]
    return pa.schema(fields, metadata={"tracker.rows_schema": str(ROWS_SCHEMA_VERSION)})


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return list(value) if isinstance(value, tuple) else value


def _row(values: dict[str, Any]) -> RequestRow:
    histogram = values.pop("accepted_histogram", None)
    kept = {field.name: values[field.name] for field in dataclasses.fields(RequestRow) if field.name in values}
    return RequestRow(**kept, accepted_histogram=None if histogram is None else tuple(histogram))
