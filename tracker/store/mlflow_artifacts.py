"""The files that travel with a run: few, named, viewable."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from tracker.domain.measurement import Latency, Measurement
from tracker.domain.record import LoggedRun, RunRecord
from tracker.domain.server import ServerConfig
from tracker.errors import InputError
from tracker.store.codec import encode_record
from tracker.store.mlflow_note import readme
from tracker.store.mlflow_projection import step_time_ms
from tracker.store.rows import encode_rows

RECORD = "record.json"
REQUESTS = "requests.parquet"
MEASUREMENTS = "measurements.csv"
README = "README.md"
SERVER_ARGS = "server/server_args.json"
DERIVED = ("output_throughput_tok_s", "accept_length", "accept_rate")


def artifacts(run: LoggedRun, *, decision_concurrency: int | None = None) -> dict[str, bytes]:
    """Return all files of a run by their path. An attachment cannot take the place of one of ours.

    Raises:
        InputError: An attachment's name leads out of the artifact folder, or occurs twice.
    """
    record = run.record
    files = {
        RECORD: encode_record(record),
        README: readme(record, decision_concurrency=decision_concurrency).encode(),
    }
    if run.requests:
        files[REQUESTS] = encode_rows(run.requests)
    if record.measurements:
        files[MEASUREMENTS] = measurements_csv(record)
    if record.server is not None:
        files[SERVER_ARGS] = server_args(record.server)
    for attachment in run.attachments:
        name = attachment_name(attachment.name)
        if name in files:
            name = f"attachments/{name}"
        if name in files:
            raise InputError("two attachments have this name", where=attachment.name, hint="Rename one of the files")
        files[name] = attachment.content
    return files


def attachment_name(name: str) -> str:
    """Return a path inside the artifact folder.

    Raises:
        InputError: Absolute, empty, or with `..`.
    """
    path = PurePosixPath(name.replace("\\", "/"))
    if not path.parts or path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
        raise InputError("an attachment needs a relative name inside the run's folder", where=repr(name))
    return str(path)


def measurements_csv(record: RunRecord) -> bytes:
    """Return all measured cells as one table, which MLflow's UI shows and sorts; empty where not measured."""
    rows = [_row(cell) for cell in record.measurements]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    used = [name for name in columns if any(row.get(name) is not None for row in rows)]
    sink = io.StringIO()
    writer = csv.DictWriter(sink, used, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return sink.getvalue().encode("utf-8", "backslashreplace")


def server_args(server: ServerConfig) -> bytes:
    """Return everything recorded about the server's flags as JSON that people can read."""
    fields = {field.name: getattr(server, field.name) for field in dataclasses.fields(server)}
    content = json.dumps(fields, indent=1, sort_keys=True, ensure_ascii=False, default=_shown)
    return f"{content}\n".encode("utf-8", "backslashreplace")


def _shown(value: Any) -> Any:
    """Return a mapping or a dataclass as a dictionary, for JSON."""
    return dict(value) if isinstance(value, Mapping) else dataclasses.asdict(value)


def _row(cell: Measurement) -> dict[str, Any]:
    ours = dict(_cell(cell))
    return ours | {f"source {name}" if name in ours else name: value for name, value in cell.extra.items()}


def _cell(cell: Measurement) -> Iterator[tuple[str, Any]]:
    for name in ("concurrency", "repeat", "category"):
        yield name, getattr(cell, name)
    for name in DERIVED:
        yield name, getattr(cell, name)
    yield "step_time_ms", step_time_ms(cell)
    for field in dataclasses.fields(cell):
        value = getattr(cell, field.name)
        if isinstance(value, Latency):
            stem = field.name.removesuffix("_ms")
            yield from ((f"{stem}_{part.name}", getattr(value, part.name)) for part in dataclasses.fields(value))
        elif field.name.startswith("reported_"):
            yield field.name, None if value is None else value.value
        elif field.name == "accepted_histogram":
            yield field.name, None if value is None else " ".join(map(str, value))
        elif field.name not in ("concurrency", "repeat", "category", "extra"):
            yield field.name, value
