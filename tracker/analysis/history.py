"""The campaign over time: one series per configuration, drafter and load, and where it took a new level.

Unlike a comparison, a series may cross engine builds: that is what it is for. A jump whose first run (or a run of the
campaign logged since the run before it) carries the tag `change` is explained and raises no alarm; one that was
news in an earlier window does not alarm again.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tracker.analysis import readings
from tracker.analysis.change_points import LEAST_CHANGE, change_points
from tracker.analysis.configurations import configurations, speculates
from tracker.analysis.facts import differing_facts
from tracker.analysis.priors import Priors
from tracker.analysis.results import Configuration, StepChange, Window
from tracker.analysis.selection import is_news
from tracker.analysis.uncertainty import pooled_sd
from tracker.analysis.words import listed, percent, streams
from tracker.domain.record import RunRecord, StoredRun

CHANGE_TAG = "change"
# A component that carries this much of a jump carries it alone.
_MOST = 0.75

Quantity = Literal["throughput", "accept_length", "step_time"]
_UNITS: Mapping[Quantity, str] = {"throughput": "tok/s", "accept_length": "tokens a step", "step_time": "ms a step"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """One run at one load, as a series sees it."""

    run: StoredRun
    """The run."""
    throughput: float | None
    """Output tok/s."""
    accept_length: float | None
    """Accept length; None for a plain server."""
    step_time: float | None
    """Milliseconds."""

    def value(self, quantity: Quantity) -> float | None:
        """Return one quantity."""
        return {
            "throughput": self.throughput,
            "accept_length": self.accept_length,
            "step_time": self.step_time,
        }[quantity]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    """Runs of one configuration and drafter at one load, oldest first."""

    title: str
    """In words."""
    configuration: Configuration
    """Flags."""
    concurrency: int | None
    """Streams."""
    group: tuple[object, ...]
    """Target, machine and workload: series with the same one may be compared."""
    entries: tuple[_Entry, ...]
    """Runs."""


def step_changes(runs: Sequence[StoredRun], *, window: Window, priors: Priors) -> tuple[StepChange, ...]:
    """Return all jumps over the history of a campaign: alarms first, then newest first.

    Args:
        runs: All runs of the campaign.
        window: Reporting window: only jumps that are news in it raise an alarm.
        priors: The least noise between runs.
    """
    usable = [run for run in runs if _usable(run.record) and run.record.provenance.logged_at < window.until]
    usable = _without_superseded(usable)
    series = list(_all_series(sorted(usable, key=lambda run: (run.record.measured_at, run.record.record_id))))
    found: list[tuple[bool, float, StepChange]] = []
    for one in series:
        for start, quantity, cuts in _jumps(one, priors):
            change = _change(one, cuts, start, quantity, series, usable, window)
            when = one.entries[cuts[1]].run.record.measured_at.timestamp()
            found.append((not change.alarm, -when, change))
    return tuple(change for _, _, change in sorted(found, key=lambda item: (item[0], item[1], item[2].series)))


def _usable(record: RunRecord) -> bool:
    simulated = record.speculation is not None and record.speculation.simulated_accept_length is not None
    return (
        record.kind == "benchmark"
        and speculates(record) is not None
        and record.validity not in ("suspect", "invalid")
        and not simulated
    )


def _without_superseded(runs: Sequence[StoredRun]) -> list[StoredRun]:
    replaced = {run.record.supersedes for run in runs}
    return [run for run in runs if run.record.record_id not in replaced]


def _all_series(runs: Sequence[StoredRun]) -> Iterable[_Series]:
    # A night on which servers were pinned otherwise belongs to the history, which names it beside a jump.
    found = configurations(runs, by_launch=False)
    entries: dict[tuple[object, ...], list[_Entry]] = defaultdict(list)
    for run in runs:
        for cell in run.record.pooled():
            configuration = found[run.run_id]
            length = readings.accept_length(cell, run.record.speculation) if configuration.speculative else None
            step = readings.step_time_ms(cell, length, speculative=configuration.speculative)
            rate = readings.throughput(cell)
            key = (_group(run.record), configuration.label, _drafter(run.record), cell.concurrency)
            entries[key].append(
                _Entry(
                    run=run,
                    throughput=None if rate is None else rate.value,
                    accept_length=None if length is None else length.value,
                    step_time=None if step is None else step.value,
                )
            )
    for (group, label, drafter, load), members in entries.items():
        with_drafter = f" with {drafter}" if drafter is not None else ""
        yield _Series(
            title=f"{label}{with_drafter} at {streams(load if isinstance(load, int) else None)}",
            configuration=found[members[0].run.run_id],
            concurrency=load if isinstance(load, int) else None,
            group=group if isinstance(group, tuple) else (group,),
            entries=tuple(members),
        )


def _group(record: RunRecord) -> tuple[object, ...]:
    workload, hardware, server = record.workload, record.hardware, record.server
    return (
        None if record.target is None else record.target.name,
        None if hardware is None else (hardware.gpu, hardware.gpu_count),
        None if server is None else server.engine,
        None
        if workload is None
        else (
            workload.prompt_set_digest or workload.prompt_set,
            workload.temperature,
            workload.max_output_tokens,
            workload.request_rate_per_s,
        ),
    )


def _drafter(record: RunRecord) -> str | None:
    return None if record.drafter is None else record.drafter.name


def _jumps(one: _Series, priors: Priors) -> Iterable[tuple[int, Quantity, tuple[int, int, int]]]:
    """Yield (number, quantity, (start, cut, end)) for every level that follows another.

    Throughput tells most; accept length and step time are asked only where it was not measured throughout.
    """
    quantities: tuple[Quantity, ...] = ("throughput", "accept_length", "step_time")
    for quantity in quantities:
        values = [entry.value(quantity) for entry in one.entries]
        known = [value for value in values if value is not None and value > 0]
        if len(known) < len(values):
            continue
        cuts = change_points([math.log(value) for value in known], noise_sd=priors.between_run_fraction)
        edges = [0, *cuts, len(known)]
        for number, cut in enumerate(cuts):
            yield number, quantity, (edges[number], cut, edges[number + 2])
        if quantity == "throughput" or cuts:
            return


def _change(
    one: _Series,
    cuts: tuple[int, int, int],
    number: int,
    quantity: Quantity,
    every: Sequence[_Series],
    runs: Sequence[StoredRun],
    window: Window,
) -> StepChange:
    start, cut, end = cuts
    before, after = one.entries[start:cut], one.entries[cut:end]
    last, first = before[-1].run, after[0].run
    annotation = _annotation(runs, last, first)
    low, high = _level(before, quantity), _level(after, quantity)
    alarm = annotation is None and is_news(first, window)
    sentences = [
        f"{one.title}: from {_number(low)} to {_number(high)} {_UNITS[quantity]} ({_signed(high / low - 1)}), "
        f"first seen in {first.record.name}.",
        *_told_apart(one, before, after, quantity),
        *_baseline(one, last, first, every),
    ]
    if annotation is not None:
        sentences.append(f"Explained: {annotation}.")
    else:
        sentences.append(_compare(last.record, first.record))
    return StepChange(
        series=one.title,
        quantity=quantity,
        concurrency=one.concurrency,
        before=low,
        after=high,
        run_ids_before=tuple(entry.run.run_id for entry in before),
        run_ids_after=tuple(entry.run.run_id for entry in after),
        annotation=annotation,
        alarm=alarm,
        message=" ".join(sentences),
    )


def _annotation(runs: Sequence[StoredRun], last: StoredRun, first: StoredRun) -> str | None:
    """Return what a run measured after the last one of the old level, up to the first of the new, says changed."""
    told = [
        run.record.tags[CHANGE_TAG]
        for run in runs
        if last.record.measured_at < run.record.measured_at <= first.record.measured_at
        and run.record.tags.get(CHANGE_TAG)
    ]
    return "; ".join(dict.fromkeys(told)) or None


def _level(entries: Sequence[_Entry], quantity: Quantity) -> float:
    logs = [math.log(value) for entry in entries if (value := entry.value(quantity)) is not None and value > 0]
    return math.exp(math.fsum(logs) / len(logs))


def _has(entries: Sequence[_Entry], quantity: Quantity) -> bool:
    return any(entry.value(quantity) is not None for entry in entries)


def _told_apart(one: _Series, before: Sequence[_Entry], after: Sequence[_Entry], quantity: Quantity) -> Iterable[str]:
    """Say whether acceptance or the time of a step moved: log tok/s = log length - log step time + constant."""
    parts: tuple[Quantity, Quantity] = ("accept_length", "step_time")
    if not one.configuration.speculative or quantity != "throughput":
        return
    if not all(_has(side, part) for side in (before, after) for part in parts):
        return
    length = [_level(side, "accept_length") for side in (before, after)]
    step = [_level(side, "step_time") for side in (before, after)]
    gained, slowed = math.log(length[1] / length[0]), math.log(step[1] / step[0])
    whole = gained - slowed
    words_length = _moved("Accept length", length, "", _shift_error(before, after, "accept_length"))
    words_step = _moved("the time of a step", step, " ms", _shift_error(before, after, "step_time"))
    verdict = "both acceptance and speed moved"
    if whole and gained / whole > _MOST:
        verdict = "an acceptance problem, not a speed problem" if whole < 0 else "better acceptance, not a faster step"
    elif whole and -slowed / whole > _MOST:
        verdict = "a speed problem, not an acceptance problem" if whole < 0 else "a faster step, not better acceptance"
    yield f"{words_length}, {words_step}: {verdict}."


def _shift_error(before: Sequence[_Entry], after: Sequence[_Entry], quantity: Quantity) -> float:
    """Return the standard error of the log shift between two levels; 0 where nothing tells."""
    sides = [
        [math.log(value) for entry in side if (value := entry.value(quantity)) is not None and value > 0]
        for side in (before, after)
    ]
    found = pooled_sd(sides)
    return 0.0 if found is None else found[0] * math.sqrt(1 / len(sides[0]) + 1 / len(sides[1]))


def _moved(name: str, levels: Sequence[float], unit: str, error: float) -> str:
    change = levels[1] / levels[0] - 1
    verb = "hardly changed" if abs(change) < max(LEAST_CHANGE, 2 * error) else "rose" if change > 0 else "fell"
    return f"{name} {verb} ({levels[0]:.2f} to {levels[1]:.2f}{unit}, {_signed(change)})"


def _baseline(one: _Series, last: StoredRun, first: StoredRun, every: Sequence[_Series]) -> Iterable[str]:
    if not one.configuration.speculative:
        return
    moments = (last.record.measured_at, first.record.measured_at)
    for other in every:
        if other.configuration.speculative or other.concurrency != one.concurrency or other.group != one.group:
            continue
        known = [entry for entry in other.entries if entry.throughput is not None]
        before = [entry for entry in known if entry.run.record.measured_at <= moments[0]]
        after = [entry for entry in known if entry.run.record.measured_at >= moments[1]]
        if before and after:
            levels = [_level(before[-3:], "throughput"), _level(after[:3], "throughput")]
            change = levels[1] / levels[0] - 1
            verb = "did not change" if abs(change) < LEAST_CHANGE else "moved too"
            yield f"The baseline {verb} ({_number(levels[0])} to {_number(levels[1])} tok/s)."
            return


def _compare(before: RunRecord, after: RunRecord) -> str:
    found = differing_facts(before, after)
    if found:
        return f"Between {before.name} and {after.name} changed: {listed(found)}; undo one at a time."
    return (
        f"No recorded fact differs between {before.name} and {after.name}: compare package versions, driver and "
        "checkpoint files, or say what changed with the tag `change`."
    )


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 20 else f"{value:.1f}"


def _signed(change: float) -> str:
    return percent(change) if change < 0 else f"+{percent(change)}"
