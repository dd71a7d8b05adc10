"""Report, runs and compare over ten thousand runs, first and again, beside `mlflow.search_runs` over the same runs.

Each in a process of its own that is connected already; the report writes its files and keeps the memo in the store.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks import many_runs
from tests.benchmarks.result import Benchmark, Result
from tests.benchmarks.serving import serving
from tracker.store.mlflow_open import open_store

RUNS = 10_000
ROUNDS = 2
LATER_A_ROUND = 2
PROMISED_FIRST = 1.0
PROMISED_LATER = 0.1
PROMISED_PEAK_MB = 500.0
PROMISED_MEMO_KB = 500.0


def _run(folder: Path, scale: float) -> Iterator[Result]:
    """Yield times, ratios and memory for an embedded store and for a server."""
    count = max(round(RUNS * scale), 300)
    data = folder / "data"
    many_runs.fill(open_store(environ={}, data_dir=data, cache_dir=folder / "fill"), data / "mlflow.db", count)
    yield from _measured("SQLite", f"sqlite:///{data}/mlflow.db", folder / "near", count)
    with serving(data / "mlflow.db", data / "artifacts", folder / "server") as address:
        yield from _measured("HTTP", address, folder / "far", count)


def _measured(where: str, uri: str, folder: Path, count: int) -> Iterator[Result]:
    times: dict[str, list[float]] = {}
    peaks: dict[str, float] = {}
    memo_kb = 0.0

    def do(what: str, name: str) -> dict[str, Any]:
        found = _child(what, uri, folder, count)
        times.setdefault(name, []).append(found["seconds"])
        peaks[name] = max(peaks.get(name, 0.0), found["peak_mb"])
        return found

    for _ in range(ROUNDS):
        found = do("search_runs", "mlflow.search_runs")["runs"]
        shutil.rmtree(folder / "cache", ignore_errors=True)
        memo_kb = do("report", "first report")["memo_kb"]
        for _ in range(LATER_A_ROUND):
            for what in ("report", "runs", "compare"):
                do(what, f"later {what}")
    if found < count:
        raise RuntimeError(f"mlflow.search_runs finds {found} of {count} runs")
    search = statistics.median(times["mlflow.search_runs"])
    for name, seconds in times.items():
        if name == "mlflow.search_runs":
            continue
        took = statistics.median(seconds)
        yield Result(
            what=f"{name}, {count:,} runs, {where}", value=took, unit="s",
            beside="mlflow.search_runs alone", beside_value=search,
        )  # fmt: skip
        yield Result(
            what=f"{name} over mlflow.search_runs, {where}", value=took / search, unit="times",
            at_most=PROMISED_FIRST if name.startswith("first") else PROMISED_LATER,
        )  # fmt: skip
    yield Result(
        what=f"peak memory, {where}", value=max(peak for name, peak in peaks.items() if name != "mlflow.search_runs"),
        unit="MB", beside="mlflow.search_runs", beside_value=peaks["mlflow.search_runs"], at_most=PROMISED_PEAK_MB,
    )  # fmt: skip
    yield Result(what=f"memo.html, {where}", value=memo_kb, unit="kB", at_most=PROMISED_MEMO_KB)


def _child(what: str, uri: str, folder: Path, count: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.benchmarks.store_child", what, uri, str(folder), str(count)]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(out.stdout.splitlines()[-1])
    return found


BENCHMARK: Benchmark = _run
