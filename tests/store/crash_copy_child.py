"""Imports a campaign and kills itself with SIGKILL at a chosen point; started by test_crashed_copies.py.

Usage: crash_copy_child.py EXPORT DATABASE FOLDER FIRST STEP LIMIT, where DATABASE is an empty store that each try gets
a copy of, under FOLDER; prints as crash_child.py does.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tests.store.crash_child import crash_at
from tracker.store.campaign_folder import FolderCampaign
from tracker.store.copying import copy_campaign
from tracker.store.mlflow_open import configure_mlflow, open_store


def main(export: Path, database: Path, folder: Path, first: int, step: int, limit: int) -> None:
    configure_mlflow(os.environ)

    def act(point: int) -> bool:
        own = folder / f"{point:03}"
        own.mkdir()
        shutil.copy(database, own / "mlflow.db")
        outcomes = copy_campaign(FolderCampaign(export), open_store(environ={}, data_dir=own, cache_dir=own / "cache"))
        return {outcome.status for outcome in outcomes} == {"copied"}

    sys.stdout.write(crash_at(range(first, first + step * limit, step), act))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]), *map(int, sys.argv[4:7]))
