"""A slow run told apart: a speed problem or an acceptance problem, and what to compare.

Throughput is accept length over step time. Two runs of one drafter in one shape accept alike, whatever their speed; so
where acceptance agrees and step time does not, the cause lies in the server, and the other way round.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tracker.analysis.baselines import Reference
from tracker.analysis.facts import differing_facts
from tracker.analysis.observations import Observation
from tracker.analysis.results import Configuration, ConfigurationCost, Diagnosis
from tracker.analysis.words import listed, streams

# Accept lengths within this share agree.
_ALIKE_FRACTION = 0.05
# A longer step, or a shorter accept length, counts from here on and beyond this many standard deviations of the noise.
_LEAST_FRACTION = 0.10
_LEAST_SDS = 2.5
# Below this accept length acceptance itself is in doubt (a warning of its own).
_HEALTHY_LENGTH = 1.2


def diagnoses(
    observations: Sequence[Observation],
    references: Mapping[int | None, Reference],
    costs: Sequence[ConfigurationCost],
) -> tuple[Diagnosis, ...]:
    """Return one diagnosis per slow run that can be told apart, speed problems first."""
    found = [*_siblings(observations, references), *_unreachable(costs, observations)]
    return tuple(sorted(found, key=lambda item: (item.kind != "speed", _load(item.concurrency))))


def _siblings(observations: Sequence[Observation], references: Mapping[int | None, Reference]) -> Iterable[Diagnosis]:
    groups: dict[tuple[object, ...], list[Observation]] = defaultdict(list)
    for item in observations:
        if (
            item.speculative
            and item.step_ms is not None
            and item.length is not None
            and item.record.drafter is not None
        ):
            groups[_shape(item)].append(item)
    for members in groups.values():
        load = members[0].concurrency
        noise = references[load].noise.sd if load in references else 0.0
        bar = max(math.log1p(_LEAST_FRACTION), _LEAST_SDS * math.sqrt(2) * noise)
        sound = [item for item in members if item.times_steps]
        for item in members if sound else ():
            fastest, best = min(sound, key=_step), max(sound, key=_length)
            if item.times_steps and item is not fastest:
                yield from _speed(item, fastest, bar)
            if item is not best and item.configuration == best.configuration:
                yield from _acceptance(item, best, bar)


def _speed(item: Observation, other: Observation, bar: float) -> Iterable[Diagnosis]:
    longer = math.log(_step(item) / _step(other))
    if longer <= bar or abs(math.log(_length(item) / _length(other))) > _ALIKE_FRACTION:
        return
    if min(_length(item), _length(other)) < _HEALTHY_LENGTH:
        return
    yield Diagnosis(
        kind="speed",
        run_id=item.run_id,
        concurrency=item.concurrency,
        against_run_id=other.run_id,
        message=(
            f"{item.record.name}: acceptance is healthy ({_length(item):.2f} tokens a step against "
            f"{_length(other):.2f} in {other.record.name}), but at {streams(item.concurrency)} a step takes "
            f"{_step(item):.1f} against {_step(other):.1f} ms. A speed problem, not an acceptance problem. "
            f"{_compare(item, other)}"
        ),
    )


def _acceptance(item: Observation, other: Observation, bar: float) -> Iterable[Diagnosis]:
    shorter = math.log(_length(other) / _length(item))
    if shorter <= bar or abs(math.log(_step(item) / _step(other))) > bar:
        return
    if any(finding.flag_after is not None and finding.voids for finding in item.record.findings):
        return
    yield Diagnosis(
        kind="acceptance",
        run_id=item.run_id,
        concurrency=item.concurrency,
        against_run_id=other.run_id,
        message=(
            f"{item.record.name}: a step takes {_step(item):.1f} ms as in {other.record.name} ({_step(other):.1f}), "
            f"but yields {_length(item):.2f} instead of {_length(other):.2f} tokens with the same drafter and flags. "
            f"An acceptance problem, not a speed problem. {_compare(item, other)}"
        ),
    )


def _unreachable(costs: Sequence[ConfigurationCost], observations: Sequence[Observation]) -> Iterable[Diagnosis]:
    """Yield one diagnosis per configuration whose whole break-even interval lies above what a step can yield."""
    groups: dict[str, list[ConfigurationCost]] = defaultdict(list)
    for cost in costs:
        length, steps = cost.best_accept_length.value, cost.configuration.num_steps
        if steps is not None and length is not None and length >= _HEALTHY_LENGTH and cost.break_even.low > steps + 1:
            groups[cost.configuration.label].append(cost)
    for label, found in groups.items():
        first = found[0]
        name = next(item.record.name for item in observations if item.run_id == first.run_ids[0])
        steps, length = first.configuration.num_steps, first.best_accept_length.value
        if steps is None or length is None:
            continue
        bars = listed([f"{cost.break_even.value:.2f} plain ones at {streams(cost.concurrency)}" for cost in found])
        yield Diagnosis(
            kind="speed",
            run_id=first.run_ids[0],
            concurrency=first.concurrency,
            against_run_id=first.attribution_run_id,
            message=(
                f"{name} ({label}): a step costs as much as {bars}, more than the {steps + 1} tokens it can yield; "
                f"{length:.2f} are accepted. A speed problem, not an acceptance problem: no training cures it. Compare "
                "fewer draft tokens, CUDA graphs and the overlap scheduler."
            ),
        )


def _compare(item: Observation, other: Observation) -> str:
    found = [*_shape_facts(other.configuration, item.configuration), *differing_facts(other.record, item.record)]
    if found:
        return f"What differs from {other.record.name}: {listed(found)}."
    return "No recorded fact differs: compare package versions, clocks, and what else ran on the GPU."


def _shape_facts(before: Configuration, after: Configuration) -> list[str]:
    if before.cuda_graph is None or after.cuda_graph is None or before.cuda_graph == after.cuda_graph:
        return []
    return [f"CUDA graph {'on' if before.cuda_graph else 'off'} to {'on' if after.cuda_graph else 'off'}"]


def _shape(item: Observation) -> tuple[object, ...]:
    mine, drafter = item.configuration, item.record.drafter
    return (
        None if drafter is None else drafter.name,
        item.concurrency,
        mine.algorithm,
        mine.num_steps,
        mine.eagle_topk,
        mine.num_draft_tokens,
    )


def _step(item: Observation) -> float:
    if item.step_ms is None:
        raise ValueError(f"{item.run_id} has no step time")
    return item.step_ms.value


def _length(item: Observation) -> float:
    if item.length is None:
        raise ValueError(f"{item.run_id} has no accept length")
    return item.length.value


def _load(load: int | None) -> int:
    return -1 if load is None else load
