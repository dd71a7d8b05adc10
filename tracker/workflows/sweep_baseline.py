"""The baseline that stays up while candidates come and go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tracker.importers.base import ImportedRun
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
    by_command: Mapping[int, float] | None = None
    """What the user's own benchmark measured last, tok/s by concurrency; None where ours is used."""

    def last_throughput(self) -> dict[int, float]:
        """Return output tokens per second of the last measurement, by concurrency; loads with failures are left out."""
        if self.by_command is not None:
            return dict(self.by_command)
        found: dict[int, float] = {}
        for item in [] if self.measured is None else self.measured.passes:
            streams, result = item.load.concurrency, item.result
            if streams is None:
                continue
            found.pop(streams, None)  # an earlier measurement does not stand in for the last one
            if not item.whole or result.wall_s <= 0:
                continue
            tokens = [answer.counts.output_tokens for answer in result.answers if answer.counts is not None]
            if len(tokens) == len(result.answers) and all(count is not None for count in tokens):
                found[streams] = sum(count or 0 for count in tokens) / result.wall_s
        return found


def throughputs(run: ImportedRun) -> dict[int, float]:
    """Return output tokens per second by concurrency, where a run says both."""
    return {
        cell.concurrency: cell.output_throughput_tok_s
        for cell in run.measurements
        if cell.category is None
        and cell.repeat is None
        and cell.concurrency is not None
        and cell.output_throughput_tok_s is not None
    }
