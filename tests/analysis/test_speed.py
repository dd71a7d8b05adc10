"""A campaign of 200 runs with request rows is analysed in two seconds."""

from __future__ import annotations

import sys
import time
from datetime import timedelta

import numpy as np
import pytest

from tests.analysis.campaigns import H200, LOGGED, WINDOW, pooled_cell
from tracker.analysis.campaign import analyse
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.measurement import RequestRow
from tracker.domain.provenance import Provenance
from tracker.domain.record import RunRecord, StoredRun
from tracker.domain.server import ServerConfig, Speculation
from tracker.domain.training import Training

RUNS, LOADS, PROMPTS = 200, (1, 8, 32), 80


def large_campaign() -> list[StoredRun]:
    rng = np.random.default_rng(1)
    return [_run(index, rng) for index in range(RUNS)]


def _run(index: int, rng: np.random.Generator) -> StoredRun:
    speculative = index % 10 != 0
    steps = 2 + index % 4
    rows = [
        RequestRow(
            prompt_key=f"prompt-{number}",
            category=f"category-{number % 6}",
            concurrency=load,
            input_tokens=70,
            output_tokens=256,
            latency_s=float(rng.uniform(0.3, 0.5)),
            verify_steps=100 if speculative else None,
            accepted_drafts=156 if speculative else None,
            proposed_drafts=100 * steps if speculative else None,
            accepted_histogram=(20, 24, *(0 for _ in range(steps - 2)), 56) if speculative else None,
        )
        for load in LOADS
        for number in range(PROMPTS)
    ]
    cells = [pooled_cell([row for row in rows if row.concurrency == load], load, 80 * 0.4 / load) for load in LOADS]
    moment = LOGGED + timedelta(minutes=index)
    record = RunRecord(
        record_id=f"run-{index}",
        kind="benchmark",
        experiment="large",
        name=f"run {index}",
        server=ServerConfig(
            engine="sglang", version="0.5.17", arguments={f"flag_{number}": number for number in range(400)}
        ),
        speculation=Speculation(
            enabled=speculative,
            algorithm="EAGLE3" if speculative else None,
            num_steps=steps if speculative else None,
            eagle_topk=1 if speculative else None,
            num_draft_tokens=steps + 1 if speculative else None,
        ),
        target=Checkpoint(name="target"),
        drafter=Checkpoint(name=f"drafter-{index}") if speculative else None,
        cuda_graph=True,
        measurements=tuple(cells),
        training=Training(samples=1000 * (1 + index), epochs=3, mix="chat") if speculative else None,
        provenance=Provenance(measured_at=moment, logged_at=moment, tracker_version="0"),
    )
    return StoredRun(run_id=f"run-{index}", record=record, requests=tuple(rows))


@pytest.mark.skipif(sys.gettrace() is not None, reason="a tracer (coverage, a debugger) doubles the time")
def test_two_hundred_runs_take_less_than_two_seconds() -> None:
    runs = large_campaign()
    analyse(runs[:10], campaign=H200, window=WINDOW)

    started = time.process_time()
    found = analyse(runs, campaign=H200, window=WINDOW)
    elapsed = time.process_time() - started

    assert len(found.points) == RUNS * len(LOADS)
    assert elapsed < 2
