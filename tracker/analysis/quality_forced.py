"""Spread between servers that is no noise: with a higher accept length fewer steps share the prefill."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from tracker.analysis.noise import log_step, shifts_to_one_length
from tracker.analysis.observations import Observation
from tracker.analysis.uncertainty import pooled_sd
from tracker.analysis.words import listed, loads, percent

# Differences below this are not worth a sentence.
_LEAST_FRACTION = 0.02
# Step times moved by less than this read the same.
_LEAST_SHIFT = 0.002
# Beyond so many standard deviations of servers with one length, a difference between lengths is taken for real.
_CLEAR = 2.0


def longer_answers(replicates: Sequence[tuple[int | None, Sequence[Observation]]]) -> str:
    """Return, as a sentence after a blank, where servers set to yield more tokens took longer a step.

    Args:
        replicates: Servers of one configuration by load. Empty unless their accept lengths were set to several values
            and the time to the first token, which would tell prefill from decoding, is missing.
    """
    told: list[tuple[int | None, float, float, float]] = []
    for load, members in replicates:
        if any(shifts_to_one_length(members)):
            continue
        groups = _by_length(members)
        if len(groups) < 2:
            continue
        least, most = min(groups), max(groups)
        apart = _mean(groups[most]) - _mean(groups[least])
        within = pooled_sd(list(groups.values()))
        if apart > max(math.log1p(_LEAST_FRACTION), 0.0 if within is None else _CLEAR * within[0]):
            told.append((load, least, most, math.expm1(apart)))
    if not told:
        return ""
    _, least, most, _ = told[0]
    by = listed([percent(longer) for *_, longer in told])
    return (
        f" At {loads([load for load, *_ in told])} part of it is no noise: a step of servers set to yield {most:g} "
        f"tokens took {by} longer than with {least:g}. An answer in fewer steps leaves each of them more "
        "of the prefill; without the time to the first token it cannot be taken off, so it widens these intervals."
    )


def prefill_taken_off(replicates: Sequence[tuple[int | None, Sequence[Observation]]]) -> str:
    """Return, as a sentence after a blank, at which loads step times were brought to one accept length."""
    moved = []
    for load, members in replicates:
        steps = [item.step_ms.value for item in members if item.step_ms is not None]
        shifts = shifts_to_one_length(members)
        if any(abs(shift) > _LEAST_SHIFT * step for shift, step in zip(shifts, steps, strict=True)):
            moved.append(load)
    if not moved:
        return ""
    return f" At {loads(moved)} the share of prefill that fewer steps carry is taken off."


def _by_length(members: Sequence[Observation]) -> dict[float, list[float]]:
    groups: dict[float, list[float]] = defaultdict(list)
    for item in members:
        set_to = None if item.record.speculation is None else item.record.speculation.simulated_accept_length
        if set_to is None:
            return {}
        groups[set_to].append(log_step(item))
    return groups


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
