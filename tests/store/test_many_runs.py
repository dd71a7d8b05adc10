"""The benchmark's way of making ten thousand runs at once writes what storing them one by one writes."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import many_runs
from tracker.store.base import Query
from tracker.store.mlflow_open import open_store
from tracker.store.mlflow_projection import CHANGED_AT

# What differs between any two runs of the same thing: ids, and the moment at which the store was told.
ID = re.compile(r"\b(?:[0-9a-f]{32}|[0-9a-f-]{36}|m-[0-9a-f]{32})\b")
TABLES = (
    "runs", "tags", "params", "metrics", "latest_metrics", "inputs", "input_tags", "datasets", "logged_models",
    "logged_model_tags", "logged_model_params", "logged_model_metrics",
)  # fmt: skip
COUNT = 2 * many_runs.RUNS_A_NIGHT


def content(database: Path, table: str, folder: Path) -> Counter[tuple[str, ...]]:
    """Return a table's rows without ids and without the times at which they were written."""
    with sqlite3.connect(database) as connection:
        cursor = connection.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
    kept = [row for row in rows if row.get("key") != CHANGED_AT]
    return Counter(tuple(_plain(name, value, folder) for name, value in sorted(row.items())) for row in kept)


def _plain(name: str, value: Any, folder: Path) -> str:
    if name in ("creation_timestamp_ms", "last_updated_timestamp_ms"):
        return name
    return f"{name}={ID.sub('ID', str(value).replace(str(folder), 'FOLDER'))}"


@pytest.mark.slow
def test_made_at_once_the_database_and_the_files_are_those_of_runs_stored_one_by_one(
    tmp_path: Path, empty_database: Path
) -> None:
    stores = {}
    for name in ("at once", "one by one"):
        folder = tmp_path / name.replace(" ", "-")
        folder.mkdir()
        (folder / "mlflow.db").write_bytes(empty_database.read_bytes())
        stores[name] = (open_store(environ={}, data_dir=folder, cache_dir=folder / "cache"), folder)
    bulk, bulk_folder = stores["at once"]
    single, single_folder = stores["one by one"]
    many_runs.fill(bulk, bulk_folder / "mlflow.db", COUNT)
    single.save_many(many_runs.runs(COUNT))

    for table in TABLES:
        expected = content(single_folder / "mlflow.db", table, single_folder)
        assert content(bulk_folder / "mlflow.db", table, bulk_folder) == expected, table
        assert sum(expected.values()) > 0, table
    query = Query(experiment="nightly")
    assert [run.record for run in bulk.query(query)] == [run.record for run in single.query(query)]
    assert files(bulk_folder) == files(single_folder)


def files(folder: Path) -> Counter[tuple[str, bytes]]:
    root = folder / "artifacts"
    return Counter(
        (ID.sub("ID", str(path.relative_to(root))), path.read_bytes()) for path in root.rglob("*") if path.is_file()
    )
