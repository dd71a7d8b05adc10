"""Speed of a candidate over a baseline, on the prompts both answered."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracker.analysis.noise import BaselineDrift, BetweenRunNoise, ratio_components, repeat_components
from tracker.analysis.observations import Observation
from tracker.analysis.priors import Priors
from tracker.analysis.readings import by_prompt
from tracker.analysis.selection import LEAST_COMMON_PROMPTS
from tracker.analysis.uncertainty import Component, Spread, combine, pooled_sd, rounding_component
from tracker.domain.measurement import RequestRow

_WEAK = "weak:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A candidate's throughput over a baseline's, and how sure that is."""

    speedup: float
    """Ratio of output tok/s."""
    spread: Spread
    """On the measured prompts."""
    population: Spread
    """For prompts like these."""
    components: tuple[Component, ...]
    """Parts of `spread`."""
    prompts: int
    """Prompts behind it."""
    prompts_assumed: bool
    """Whether that number is an assumption."""
    prompts_in_common: int | None
    """Prompts both answered; None when not known per request."""
    restricted: bool
    """Whether prompts that only one side answered were left out."""
    weak_keys: bool
    """Whether prompts were matched by category and length only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One prompt under one server."""

    tokens: float
    """Mean generated tokens per answer."""
    seconds: float
    """Mean latency per answer."""

    @property
    def log(self) -> float:
        """Log tokens per second."""
        return math.log(self.tokens / self.seconds)


def compare(
    candidate: Observation,
    baseline: Observation,
    *,
    noise: BetweenRunNoise,
    drift: BaselineDrift,
    priors: Priors,
    baseline_rates: Mapping[str, Rate] | None = None,
) -> Comparison | None:
    """Return the comparison of two observations at one load; None without a throughput or enough prompts in common.

    Both answered the same prompts: throughputs of the whole pass, idle ends of the pass included. Otherwise: the
    prompts in common, each prompt once, sum of tokens over sum of the server's latencies. `baseline_rates` are the
    baseline's prompts, where many candidates are compared with it.
    """
    if candidate.throughput is None or baseline.throughput is None:
        return None
    mine = prompt_rates(candidate.rows)
    theirs = prompt_rates(baseline.rows) if baseline_rates is None else baseline_rates
    keys = sorted(mine.keys() & theirs.keys())
    if _other_prompts(mine, theirs, len(keys)):
        return None
    restricted = bool(keys) and mine.keys() != theirs.keys()
    if restricted:
        speedup = _pooled_rate([mine[key] for key in keys]) / _pooled_rate([theirs[key] for key in keys])
    else:
        speedup = candidate.throughput.value / baseline.throughput.value
    known = len(keys) if keys else _fewest(candidate.prompts, baseline.prompts)
    prompts = priors.prompts_when_unknown if known is None else known
    parts = [*ratio_components(noise, drift), _prompt_noise((candidate, baseline), keys, prompts, priors)]
    parts += _rounding(candidate, baseline)
    parts += [*repeat_components(candidate, noise), *repeat_components(baseline, noise)]
    logs = [mine[key].log - theirs[key].log for key in keys]
    spread, wider = combine(parts), combine([*parts, _population(logs, prompts, priors)])
    return Comparison(
        speedup=speedup,
        spread=spread,
        # A further part may bring so many degrees of freedom that Student's factor falls by more than it adds.
        population=max(spread, wider, key=lambda found: found.half_width),
        components=tuple(parts),
        prompts=prompts,
        prompts_assumed=known is None,
        prompts_in_common=len(keys) if mine and theirs else None,
        restricted=restricted,
        weak_keys=any(key.startswith(_WEAK) for key in keys),
    )


def _other_prompts(mine: Mapping[str, Rate], theirs: Mapping[str, Rate], common: int) -> bool:
    """Return whether both sides are known to have answered other prompts, all but a few."""
    if not mine or not theirs or mine.keys() == theirs.keys():
        return False
    # The same prompt has one key by its text and another by its category and length.
    weak = [any(key.startswith(_WEAK) for key in keys) for keys in (mine, theirs)]
    return common < LEAST_COMMON_PROMPTS and weak[0] == weak[1]


def prompt_rates(rows: Sequence[RequestRow]) -> dict[str, Rate]:
    """Return each prompt's mean tokens and seconds; prompts without both are left out."""
    found = {}
    for key, group in by_prompt(rows).items():
        pairs = [
            (row.output_tokens, row.latency_s)
            for row in group
            if row.output_tokens is not None and row.latency_s is not None
        ]
        tokens, seconds = math.fsum(first for first, _ in pairs), math.fsum(second for _, second in pairs)
        if tokens > 0 and seconds > 0:
            found[key] = Rate(tokens=tokens / len(pairs), seconds=seconds / len(pairs))
    return found


def _pooled_rate(rates: Sequence[Rate]) -> float:
    return math.fsum(rate.tokens for rate in rates) / math.fsum(rate.seconds for rate in rates)


def _prompt_noise(
    sides: tuple[Observation, Observation], keys: Sequence[str], prompts: int, priors: Priors
) -> Component:
    """What would change if the same prompts were run again: from repeated prompts, else the default."""
    groups = [group for side in sides for group in _repeated(side.rows, set(keys))]
    found = pooled_sd(groups)
    # Two repeats of two prompts are the least that separates prompts from the shift between passes.
    if found is None or len(groups) < 2:
        return Component(name="prompts", sd=priors.paired_prompt_fraction / math.sqrt(prompts))
    sd, df = found
    return Component(name="prompts", sd=sd * math.sqrt(2 / prompts), df=df)


def _repeated(rows: Sequence[RequestRow], keys: set[str]) -> list[list[float]]:
    """Return log speeds of prompts that every pass answered once, each pass taken relative to its own mean.

    What shifts a whole pass is noise between runs and counted there.
    """
    passes = sorted({row.repeat for row in rows})
    table = []
    for key, group in by_prompt(rows).items():
        speeds = {
            row.repeat: math.log(row.output_tokens / row.latency_s)
            for row in group
            if row.output_tokens and row.latency_s
        }
        # A key twice in one pass is two prompts that a weak key cannot tell apart, not a repeat.
        if key in keys and len(group) == len(speeds) == len(passes) >= 2:
            table.append([speeds[repeat] for repeat in passes])
    shifts = [math.fsum(column) / len(table) for column in zip(*table, strict=True)]
    return [[speed - shift for speed, shift in zip(row, shifts, strict=True)] for row in table]


def _population(logs: Sequence[float], prompts: int, priors: Priors) -> Component:
    found = pooled_sd([logs])
    if found is None:
        sd = priors.population_prompt_fraction / math.sqrt(prompts)
        return Component(name="kinds of prompts", sd=sd, df=max(1, prompts - 1))
    return Component(name="kinds of prompts", sd=found[0] / math.sqrt(len(logs)), df=found[1])


def _rounding(candidate: Observation, baseline: Observation) -> list[Component]:
    readings = [item.throughput for item in (candidate, baseline) if item.throughput is not None]
    return [rounding_component(*item.bounds) for item in readings if item.low is not None]


def _fewest(first: int | None, second: int | None) -> int | None:
    known = [count for count in (first, second) if count is not None]
    return min(known, default=None)
