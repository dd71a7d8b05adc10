"""Corrects one run again and again beside others who do the same; started by test_amending_together.py.

Usage: amend_child.py URI RUN_ID FOLDER INDEX PROCESSES COUNT; all wait for each other before every correction.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from tracker.domain.record import Amendment
from tracker.store.mlflow_open import configure_mlflow, open_store


def meet(folder: Path, place: str, index: int, processes: int) -> None:
    (folder / f"{place}-{index}").touch()
    while len(list(folder.glob(f"{place}-*"))) < processes:
        time.sleep(0.002)


def main(uri: str, run_id: str, folder: Path, index: int, processes: int, count: int) -> None:
    configure_mlflow(os.environ)
    store = open_store(uri, environ={}, cache_dir=folder / f"cache-{index}")
    store.load(run_id)
    for turn in range(count):
        meet(folder, f"turn{turn}", index, processes)
        # Everybody sets a field of his own, one that all fight for, and takes back what he said the time before.
        changes = {f"tags.p{index}t{turn}": "x", "note": f"p{index} t{turn}", f"tags.p{index}t{turn - 1}": None}
        author = f"person-{index}"
        store.amend(run_id, Amendment(at=datetime.now(UTC), by=author, changes=changes, reason=f"turn {turn}"))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *map(int, sys.argv[4:7]))
