"""Two hundred runs at three loads with 48,000 request rows: the whole analysis, its options, and the next server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.analysis.campaigns import H200, WINDOW
from tests.analysis.test_speed import large_campaign
from tests.benchmarks.result import Benchmark, Result
from tracker.analysis.campaign import analyse
from tracker.analysis.decision import gather
from tracker.analysis.next_configuration import Unmeasured, next_configurations
from tracker.domain.server import Speculation
from tracker.options import decide

PROMISED_S = 2.0


def _sorting_s(numbers: int) -> float:
    """Return seconds to sort as many numbers as the campaign has request rows, a hundred times over."""
    values = np.random.default_rng(1).random(numbers)
    started = time.process_time()
    for _ in range(100):
        np.sort(values)
    return time.process_time() - started


def _bench(folder: Path, scale: float) -> Iterator[Result]:
    del folder
    runs = large_campaign()[: max(10, round(200 * scale))]
    rows = sum(len(run.requests) for run in runs)
    analyse(runs[:10], campaign=H200, window=WINDOW)
    beside = _sorting_s(rows)

    started = time.process_time()
    analysis = analyse(runs, campaign=H200, window=WINDOW)
    analysed_s = time.process_time() - started
    yield Result(
        what=f"analysis of {len(runs)} runs, {rows:,} rows",
        value=analysed_s,
        unit="s",
        beside="sorting the rows 100 times",
        beside_value=beside,
        at_most=PROMISED_S,
    )

    started = time.process_time()
    decide(gather(analysis))
    yield Result(what="options, experiments and sensitivity", value=time.process_time() - started, unit="s")

    waiting = [
        Unmeasured(
            name=f"{steps}",
            gpu_hours=0.1,
            speculation=Speculation(
                enabled=True, algorithm="EAGLE3", num_steps=steps, eagle_topk=1, num_draft_tokens=steps + 1
            ),
        )
        for steps in range(1, 25)
    ]
    started = time.process_time()
    next_configurations(runs, waiting, campaign=H200)
    yield Result(what="choosing the next of 24 servers", value=time.process_time() - started, unit="s")


BENCHMARK: Benchmark = _bench
