"""A campaign of thousands of runs cut down to those that a memo can speak of.

A nightly benchmark repeats the same few servers for years. What a decision rests on are the latest runs of each; of the
older ones a few tell the trend. A campaign of up to `MOST_RUNS` runs is left as it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from tracker.analysis.configurations import configurations
from tracker.analysis.results import Note
from tracker.analysis.selection import fingerprint
from tracker.domain.record import StoredRun

# A run at three loads adds some 2.6 KB to memo.html (measured), which may have 500.
MOST_RUNS = 120
LATEST_FRACTION = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinned:
    """Runs to work on, and how many were left aside."""

    kept: tuple[StoredRun, ...]
    """In the order they were given."""
    total: int
    """How many there were."""
    series: int
    """How many different servers, drafters and workloads there are."""

    @property
    def note(self) -> Note | None:
        """What a reader must know; None where nothing was left aside."""
        if len(self.kept) == self.total:
            return None
        return Note(
            topic="runs left aside",
            message=f"The campaign has {self.total:,} runs of {self.series:,} kinds: configuration, drafter, workload. "
            f"This memo rests on {len(self.kept):,} of them: of each kind the latest, and older ones evenly spaced in "
            "time. The others are in MLflow.",
        )


def thin(runs: Sequence[StoredRun], *, always: Collection[str] = (), most: int = MOST_RUNS) -> Thinned:
    """Return at most `most` runs, or a few more: of each kind the latest ones and some of the older.

    Args:
        runs: All runs of a campaign.
        always: Run ids, record ids or names of runs to keep in any case.
        most: How many to keep; fewer runs are all kept.
    """
    kinds = _kinds(runs)
    if len(runs) <= most:
        return Thinned(kept=tuple(runs), total=len(runs), series=len(kinds))
    replaced = {run.record.supersedes for run in runs}
    named = {run.run_id for run in runs if {run.run_id, run.record.record_id, run.record.name} & set(always)}
    # Kinds that were measured last come first, where there are more kinds than places.
    ordered = sorted(kinds, key=lambda kind: kind[-1].record.measured_at, reverse=True)
    share = max(most // max(len(ordered), 1), 1)
    kept = set(named)
    for kind in ordered[:most]:
        usable = [run for run in kind if run.record.record_id not in replaced] or kind
        kept |= {run.run_id for run in _spread(usable, share)}
    return Thinned(kept=tuple(run for run in runs if run.run_id in kept), total=len(runs), series=len(kinds))


def latest_of_each(runs: Sequence[StoredRun]) -> tuple[StoredRun, ...]:
    """Return the latest run of each kind."""
    return tuple(kind[-1] for kind in _kinds(runs))


def _kinds(runs: Sequence[StoredRun]) -> list[list[StoredRun]]:
    """Return the runs of each kind, oldest first."""
    labels = {run_id: found.label for run_id, found in configurations(runs).items()}
    kinds: dict[tuple[Any, ...], list[StoredRun]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: (run.record.measured_at, run.record.record_id)):
        record = run.record
        samples = None if record.training is None else record.training.samples
        drafter = None if record.drafter is None else record.drafter.name
        kinds[record.kind, labels.get(run.run_id), drafter, samples, fingerprint(record)].append(run)
    return list(kinds.values())


def _spread(runs: Sequence[StoredRun], count: int) -> list[StoredRun]:
    """Return the latest runs, and as many older ones evenly spaced, the first of all among them."""
    if len(runs) <= count:
        return list(runs)
    latest = max(round(count * LATEST_FRACTION), 1)
    older, places = runs[:-latest], count - latest
    return [older[index * len(older) // places] for index in range(places)] + list(runs[-latest:])
