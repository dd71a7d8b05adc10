"""Small campaigns for tests: one baseline, a few drafters, one line each."""

from __future__ import annotations

import dataclasses
from typing import Any

from tests.analysis.campaigns import FOUNDING, WINDOW, printed, provenance
from tracker.analysis.campaign import analyse
from tracker.analysis.results import CampaignAnalysis
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.measurement import Measurement
from tracker.domain.record import RunRecord, StoredRun
from tracker.domain.server import Speculation
from tracker.domain.training import Training


def run(name: str, *, speed: str, length: str | None = None, minutes: float = 0, **fields: Any) -> StoredRun:
    """Return one benchmark at one stream; speculative with three chain steps when a length is given."""
    cell = Measurement(
        concurrency=1, prompts=20, reported_throughput_tok_s=printed(speed), reported_accept_length=printed(length)
    )
    record = RunRecord(
        record_id=name,
        kind="benchmark",
        experiment="test",
        name=name,
        speculation=Speculation(
            enabled=length is not None,
            algorithm=None if length is None else "EAGLE3",
            num_steps=None if length is None else 3,
            eagle_topk=None if length is None else 1,
            num_draft_tokens=None if length is None else 4,
        ),
        target=Checkpoint(name="target"),
        measurements=(cell,),
        provenance=provenance(minutes),
    )
    return StoredRun(run_id=name, record=record.replace(**fields))


def drafter(samples: int, length: str, **training: Any) -> StoredRun:
    """Return a run of a drafter trained on so many samples."""
    return run(
        f"drafter-{samples}",
        speed="100.0",
        length=length,
        drafter=Checkpoint(name=f"drafter-{samples}"),
        training=Training(samples=samples, **training),
    )


def analysed(*runs: StoredRun, **options: Any) -> CampaignAnalysis:
    campaign = dataclasses.replace(FOUNDING, claims=(), deployed_run=None)
    return analyse(runs, campaign=campaign, window=WINDOW, **options)


def topics(analysis: CampaignAnalysis) -> set[str]:
    return {note.topic for note in analysis.data_quality}


def chain(name: str, steps: int, *, speed: str, length: str) -> StoredRun:
    """Return a run of a chain of so many steps."""
    speculation = Speculation(
        enabled=True, algorithm="EAGLE3", num_steps=steps, eagle_topk=1, num_draft_tokens=steps + 1
    )
    return run(name, speed=speed, length=length, speculation=speculation)


def tree(name: str, steps: int, tokens: int, *, speed: str, length: str) -> StoredRun:
    """Return a run of a tree."""
    speculation = Speculation(enabled=True, algorithm="EAGLE3", num_steps=steps, eagle_topk=4, num_draft_tokens=tokens)
    return run(name, speed=speed, length=length, speculation=speculation)


BASE = run("base", speed="90.0")
