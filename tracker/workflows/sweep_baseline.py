"""The baseline that stays up while candidates come and go."""

from __future__ import annotations

from dataclasses import dataclass

from tracker.workflows.bench_measured import Measured
from tracker.workflows.sweep_fleet import Up


@dataclass(slots=True, kw_only=True)
class BaselineSegment:
    """Its measurements during one batch: one run, each measurement a repeat."""

    number: int
    """Batch."""
    up: Up
    """The server."""
    measured: Measured | None = None
    """What it brought so far."""
    passes: int = 0
    """Measurements so far."""
    others: int = 0
    """Most servers that stood idle beside it."""

    def last_throughput(self) -> dict[int, float]:
        """Return output tokens per second of the last measurement, by concurrency; loads with failures are left out."""
        found: dict[int, tuple[int, float]] = {}
        for item in [] if self.measured is None else self.measured.passes:
            streams, result = item.load.concurrency, item.result
            if streams is None or not item.whole or result.wall_s <= 0:
                continue
            tokens = [answer.counts.output_tokens for answer in result.answers if answer.counts is not None]
            if len(tokens) == len(result.answers) and all(count is not None for count in tokens):
                found[streams] = (item.repeat, sum(count or 0 for count in tokens) / result.wall_s)
        return {streams: speed for streams, (_, speed) in found.items()}
