"""Running a benchmark in a test."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tracker.load.answers import Sampling
from tracker.load.prompts import Prompt, PromptSet
from tracker.workflows.bench import BenchOutcome, BenchRequest, run_bench
from tracker.workflows.bench_plan import BenchPlan, Load
from tracker.workflows.session import Session

PROMPTS = PromptSet(
    name="test", prompts=tuple(Prompt(text=f"secret text {index}", category="ab"[index % 2]) for index in range(8))
)


def plan(**changes: Any) -> BenchPlan:
    """Return a small plan of two loads."""
    options: dict[str, Any] = {
        "prompts": PROMPTS,
        "loads": (Load(concurrency=1, requests=8), Load(concurrency=4, requests=16)),
        "sampling": Sampling(max_output_tokens=12),
        "warmup_requests": 2,
        "timeout_s": 5.0,
    }
    return BenchPlan(**{**options, **changes})


def bench(url: str, folder: Path, **changes: Any) -> BenchOutcome:
    """Return what a benchmark of this server brings, spooled into the folder."""
    session = Session(now=datetime.now(UTC), environ=dict(os.environ), cwd=folder)
    request = BenchRequest(url=url, plan=plan(**changes), spool=folder / "spool", out=folder / "out")
    (outcome,) = run_bench(request, session, on_progress=lambda _: None)
    return outcome
