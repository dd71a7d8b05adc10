"""Reads a campaign with a cache again and again until a file appears, and once more; writes how often it did.

Runs are only added or deleted meanwhile: every reading must have each run once, and those of the last one all.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tracker.store.base import Query
from tracker.store.mlflow_open import configure_mlflow
from tracker.store.mlflow_store import MlflowStore


def main(uri: str, cache: str, experiment: str, done: str) -> None:
    configure_mlflow(os.environ)
    readings, is_last = 0, False
    while not is_last:
        is_last = Path(done).exists()
        runs = MlflowStore(uri, cache_dir=Path(cache)).query(Query(experiment=experiment))
        names = [run.record.name for run in runs]
        if len(names) != len(set(names)):
            raise SystemExit(f"twice: {names}")
        readings += 1
    wanted = {f"run {number}" for number in range(25) if number % 5 or number == 0}
    if set(names) != wanted:
        raise SystemExit(f"missing or too many: {wanted ^ set(names)}")
    sys.stdout.write(str(readings))


if __name__ == "__main__":
    main(*sys.argv[1:])
