"""Noise between runs, from a free replicate: one configuration has one step time, whatever the drafter."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tracker.analysis.observations import Observation
from tracker.analysis.priors import Priors
from tracker.analysis.results import LoadNoise
from tracker.analysis.uncertainty import Component, join_default, pooled_sd

Source = Literal["measured", "other loads", "default"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BetweenRunNoise:
    """Relative standard deviation between starts of one configuration, at one load."""

    sd: float
    """Standard deviation of log step time."""
    df: float
    """Degrees of freedom; infinite for the default."""
    source: Source
    """Where it comes from."""
    run_ids: tuple[str, ...] = ()
    """Runs it was read from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineDrift:
    """How far baselines of one configuration and load lie apart."""

    sd: float
    """Relative standard deviation, the default where there is one baseline."""
    df: float
    """Degrees of freedom; infinite for the default."""
    range_fraction: float | None
    """Fastest over slowest, less one; None with one baseline."""
    run_ids: tuple[str, ...]
    """The baselines."""


def between_runs(observations: Sequence[Observation], priors: Priors) -> dict[int | None, BetweenRunNoise]:
    """Return the noise between runs per load.

    Runs of one configuration whose rounding ranges overlap are no evidence of noise: rounding explains them. Without
    step times, runs of one configuration and one drafter should have one throughput. Loads without replicates borrow
    from loads that have them. A single difference is joined with the default.
    """
    groups = replicates(observations)
    by_load: dict[int | None, list[list[float]]] = defaultdict(list)
    ids: dict[int | None, list[str]] = defaultdict(list)
    for (load, _), members in groups.items():
        if not _rounding_explains(members):
            by_load[load].append(log_steps(members))
            ids[load] += [item.run_id for item in members]
    for (load, *_), members in speed_replicates(observations).items():
        if not _one_speed(members):
            by_load[load].append(log_speeds(members))
            ids[load] += [item.run_id for item in members]
    everything = pooled_sd([group for found in by_load.values() for group in found])
    result: dict[int | None, BetweenRunNoise] = {}
    for load in {item.concurrency for item in observations}:
        here = pooled_sd(by_load[load])
        estimate = everything if here is None else here
        if estimate is None:
            result[load] = BetweenRunNoise(sd=priors.between_run_fraction, df=math.inf, source="default")
            continue
        sd, df = join_default(*estimate, priors.between_run_fraction)
        source: Source = "other loads" if here is None else "measured"
        used = [run_id for found in ids.values() for run_id in found] if here is None else ids[load]
        result[load] = BetweenRunNoise(sd=sd, df=df, source=source, run_ids=tuple(dict.fromkeys(used)))
    return result


def load_noise(observations: Sequence[Observation], priors: Priors) -> tuple[LoadNoise, ...]:
    """Return the noise between runs of every load, ascending, as results carry it."""
    found = between_runs(observations, priors)
    return tuple(
        LoadNoise(concurrency=load, sd=noise.sd, df=noise.df, source=noise.source)
        for load, noise in sorted(found.items(), key=lambda pair: -1 if pair[0] is None else pair[0])
    )


def replicates(observations: Sequence[Observation]) -> dict[tuple[int | None, str], list[Observation]]:
    """Return speculative runs by load and configuration label, where at least two have a usable step time."""
    groups: dict[tuple[int | None, str], list[Observation]] = defaultdict(list)
    for item in observations:
        if item.speculative and item.times_steps:
            groups[(item.concurrency, item.configuration.label)].append(item)
    return {key: members for key, members in groups.items() if len(members) >= 2}


def speed_replicates(observations: Sequence[Observation]) -> dict[tuple[int | None, str, str], list[Observation]]:
    """Return speculative runs without a step time by load, configuration and drafter (else name), two or more each."""
    groups: dict[tuple[int | None, str, str], list[Observation]] = defaultdict(list)
    for item in observations:
        if item.speculative and item.contends and item.step_ms is None:
            drafter = item.record.name if item.record.drafter is None else item.record.drafter.name
            groups[(item.concurrency, item.configuration.label, drafter)].append(item)
    return {key: members for key, members in groups.items() if len(members) >= 2}


def spread_of(members: Sequence[Observation]) -> float | None:
    """Return the relative SD of step time over runs of one configuration; None below two."""
    found = pooled_sd([log_steps(members)])
    return None if found is None else found[0]


def drift(baselines: Sequence[Observation], chosen: Observation, priors: Priors) -> BaselineDrift:
    """Return the drift over all baselines with the configuration and load of the chosen one."""
    same = [
        item
        for item in baselines
        if item.configuration.label == chosen.configuration.label
        and item.concurrency == chosen.concurrency
        and item.throughput is not None
    ]
    ids = tuple(item.run_id for item in same)
    logs = [math.log(item.throughput.value) for item in same if item.throughput is not None]
    found = pooled_sd([logs])
    if found is None:
        return BaselineDrift(sd=priors.baseline_drift_fraction, df=math.inf, range_fraction=None, run_ids=ids)
    sd, df = join_default(*found, priors.baseline_drift_fraction)
    return BaselineDrift(sd=sd, df=df, range_fraction=math.exp(max(logs) - min(logs)) - 1, run_ids=ids)


def claimed_by_runs(members: Sequence[Observation]) -> float:
    """Return the relative noise of step time that these runs claim for themselves, from their own repeats.

    The mean over runs of the standard error over repeats; 0 where none was repeated: they claim nothing.
    """
    errors = [sd / math.sqrt(count) for sd, count in (item.repeat_log_sd for item in members if item.repeat_log_sd)]
    return math.fsum(errors) / len(errors) if errors else 0.0


def ratio_components(noise: BetweenRunNoise, drift: BaselineDrift, *, runs: int = 1) -> list[Component]:
    """Return what noise between runs and drift put into the ratio of `runs` candidates' mean to the baseline.

    The baseline is one server too and gets at least the noise between runs. Where both sides rest on one estimate they
    are one component, with its degrees of freedom counted once.
    """
    if noise.sd >= drift.sd:
        return [Component(name="noise between runs", sd=noise.sd * math.sqrt(1 / runs + 1), df=noise.df)]
    return [
        Component(name="noise between runs", sd=noise.sd / math.sqrt(runs), df=noise.df),
        Component(name="baseline drift", sd=drift.sd, df=drift.df),
    ]


def repeat_components(item: Observation, noise: BetweenRunNoise, *, share: float = 1.0) -> list[Component]:
    """Return what the repeats of one run leave open, times its share of a mean; none where noise was measured.

    Measured noise between runs already holds what repeats of one run scatter.
    """
    if noise.source != "default" or item.repeat_log_sd is None:
        return []
    sd, count = item.repeat_log_sd
    return [Component(name="repeats", sd=sd / math.sqrt(count) * share, df=count - 1)]


def log_step(item: Observation) -> float:
    """Return the logarithm of a step time in milliseconds.

    Raises:
        ValueError: The observation has no step time.
    """
    if item.step_ms is None:
        raise ValueError(f"{item.run_id} has no step time")
    return math.log(item.step_ms.value)


def log_steps(members: Sequence[Observation]) -> list[float]:
    """Return the logarithms of the step times of one configuration, at one accept length where that can be had."""
    return [
        math.log(item.step_ms.value + shift)
        for item, shift in zip(members, shifts_to_one_length(members), strict=True)
        if item.step_ms is not None
    ]


def log_speeds(members: Sequence[Observation]) -> list[float]:
    """Return the logarithms of the throughputs of runs."""
    return [math.log(item.throughput.value) for item in members if item.throughput is not None]


def shifts_to_one_length(members: Sequence[Observation]) -> list[float]:
    """Return the milliseconds that each server's step would take longer at the mean accept length of all.

    Whole requests hold the time to the first token, and the fewer steps an answer takes the more of it each one holds:
    L * prefill / tokens. That is no noise. 0 for all unless the first token was timed for every one of them.
    """
    none = [0.0] * len(members)
    known = []
    for item in members:
        length = item.cell.accept_length if item.length is None else item.length.value
        if length is None or item.prefill_s is None or not item.tokens_per_request:
            return none
        known.append((length, 1000 * item.prefill_s / item.tokens_per_request))
    mean = math.fsum(length for length, _ in known) / len(known)
    shifts = [(mean - length) * per_token_ms for length, per_token_ms in known]
    whole = all(
        item.step_ms is not None and item.step_ms.bounds[0] + shift > 0
        for item, shift in zip(members, shifts, strict=True)
    )
    return shifts if whole else none


def _rounding_explains(members: Sequence[Observation]) -> bool:
    shifts = shifts_to_one_length(members)
    bounds = [
        (item.step_ms.bounds[0] + shift, item.step_ms.bounds[1] + shift)
        for item, shift in zip(members, shifts, strict=True)
        if item.step_ms is not None
    ]
    return max(low for low, _ in bounds) <= min(high for _, high in bounds)


def _one_speed(members: Sequence[Observation]) -> bool:
    bounds = [item.throughput.bounds for item in members if item.throughput is not None]
    return max(low for low, _ in bounds) <= min(high for _, high in bounds)
