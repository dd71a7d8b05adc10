"""A campaign of thousands of runs cut down to those that a memo can speak of.

A nightly benchmark repeats the same few servers for years. What a decision rests on are the number to beat, the best
contender, and the latest runs of each kind; of the older ones a few tell the trend. A campaign of up to `MOST_RUNS`
runs is left as it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracker.analysis.configurations import configurations
from tracker.analysis.observations import observe
from tracker.analysis.readings import throughput
from tracker.analysis.results import Configuration, Note
from tracker.analysis.selection import difference, fingerprint
from tracker.domain.record import StoredRun

# A run at three loads adds some 2.6 KB to memo.html (measured), which may have 500.
MOST_RUNS = 120
LATEST_FRACTION = 0.5

Group = tuple[Any, ...]
"""Facts that decide with which runs a run is compared."""
_Place = tuple[float, str, StoredRun]
"""A run with what it is ordered by: speed or moment, then record id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinned:
    """Runs to work on, and how many were left aside."""

    kept: tuple[StoredRun, ...]
    """In the order they were given."""
    total: int
    """How many there were."""
    series: int
    """How many different servers, drafters and workloads there are."""
    followed: int
    """How many of these, measured last, are kept for their own sake."""

    @property
    def note(self) -> Note | None:
        """What a reader must know; None where nothing was left aside."""
        if len(self.kept) == self.total:
            return None
        return Note(
            topic="runs left aside",
            message=f"The campaign has {self.total:,} runs of {self.series:,} kinds: configuration, drafter, workload. "
            f"This memo rests on {len(self.kept):,} of them: the fastest and the latest baseline and the fastest "
            f"contender at every load, {self._each} the latest, and older ones evenly spaced in time. The others are "
            "in MLflow.",
        )

    @property
    def _each(self) -> str:
        if self.followed == self.series:
            return "of each kind"
        return f"of the {self.followed:,} kinds measured last"


def thin(runs: Sequence[StoredRun], *, always: Collection[str] = (), most: int = MOST_RUNS) -> Thinned:
    """Return at most `most` runs, or a few more: of each kind the latest ones and some of the older.

    Beside them stays what a verdict names, however old: the numbers to beat and the fastest contenders.

    Args:
        runs: All runs of a campaign.
        always: Run ids, record ids or names of runs to keep in any case.
        most: How many to keep; fewer runs are all kept.
    """
    labels = configurations(runs)
    groups = {run.run_id: fingerprint(run.record) for run in runs}
    kinds = _kinds(runs, labels, groups)
    if len(runs) <= most:
        return Thinned(kept=tuple(runs), total=len(runs), series=len(kinds), followed=len(kinds))
    replaced = {run.record.supersedes for run in runs}
    named = {run.run_id for run in runs if {run.run_id, run.record.record_id, run.record.name} & set(always)}
    # Kinds that were measured last come first, where there are more kinds than places.
    followed = sorted(kinds, key=lambda kind: kind[-1].record.measured_at, reverse=True)[:most]
    share = max(most // max(len(followed), 1), 1)
    kept = named | _leading(runs, labels, groups, shown=[kind[-1] for kind in followed])
    for kind in followed:
        usable = [run for run in kind if run.record.record_id not in replaced] or kind
        kept |= {run.run_id for run in _spread(usable, share)}
    return Thinned(
        kept=tuple(run for run in runs if run.run_id in kept),
        total=len(runs),
        series=len(kinds),
        followed=len(followed),
    )


def latest_of_each(runs: Sequence[StoredRun]) -> tuple[StoredRun, ...]:
    """Return the latest run of each kind."""
    groups = {run.run_id: fingerprint(run.record) for run in runs}
    return tuple(kind[-1] for kind in _kinds(runs, configurations(runs), groups))


def _leading(
    runs: Sequence[StoredRun],
    labels: Mapping[str, Configuration],
    groups: Mapping[str, Group],
    *,
    shown: Sequence[StoredRun],
) -> set[str]:
    """Return ids of the fastest and the latest plain run and the fastest contender, at each load of a group.

    Of the comparison groups only those that a run of `shown` may be compared with: others reach no memo.
    """
    followed = {groups[run.run_id]: run for run in shown}
    comparable: dict[Group, bool] = {}
    runs = [run for run in runs if run.record.kind == "benchmark" and run.run_id in labels]
    superseded = {run.record.supersedes for run in runs}
    places: dict[tuple[Any, ...], list[_Place]] = defaultdict(list)
    for run in runs:
        record = run.record
        group = groups[run.run_id]
        if group not in comparable:
            comparable[group] = any(difference(known, run) is None for known in followed.values())
        if not comparable[group] or record.record_id in superseded:
            continue
        speculative = labels[run.run_id].speculative
        for cell in record.pooled():
            speed = throughput(cell)
            if speed is None:
                continue
            places[group, cell.concurrency, speculative].append((speed.value, record.record_id, run))
            if not speculative:
                moment = record.measured_at.timestamp()
                places[group, cell.concurrency, "latest"].append((moment, record.record_id, run))
    leading = (_first_that_contends(found, labels) for found in places.values())
    return {run.run_id for run in leading if run is not None}


def _first_that_contends(found: list[_Place], labels: Mapping[str, Configuration]) -> StoredRun | None:
    # Of thousands of runs one or two are observed: all of them would take longer than reading them.
    for _, _, run in sorted(found, key=lambda place: place[:2], reverse=True):
        if any(item.contends for item in observe([run], labels)):
            return run
    return None


def _kinds(
    runs: Sequence[StoredRun], labels: Mapping[str, Configuration], groups: Mapping[str, Group]
) -> list[list[StoredRun]]:
    """Return the runs of each kind, oldest first."""
    kinds: dict[tuple[Any, ...], list[StoredRun]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: (run.record.measured_at, run.record.record_id)):
        record = run.record
        samples = None if record.training is None else record.training.samples
        drafter = None if record.drafter is None else record.drafter.name
        label = labels[run.run_id].label if run.run_id in labels else None
        kinds[record.kind, label, drafter, samples, groups[run.run_id]].append(run)
    return list(kinds.values())


def _spread(runs: Sequence[StoredRun], count: int) -> list[StoredRun]:
    """Return the latest runs, and as many older ones evenly spaced, the first of all among them."""
    if len(runs) <= count:
        return list(runs)
    latest = max(round(count * LATEST_FRACTION), 1)
    older, places = runs[:-latest], count - latest
    return [older[index * len(older) // places] for index in range(places)] + list(runs[-latest:])
