"""Two runs or two drafters against each other, load by load, paired by prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tracker.analysis.configurations import configurations
from tracker.analysis.noise import between_runs, drift
from tracker.analysis.observations import Observation, observe
from tracker.analysis.pairing import compare
from tracker.analysis.priors import Priors
from tracker.analysis.readings import Reading
from tracker.analysis.selection import difference
from tracker.analysis.uncertainty import around
from tracker.domain.estimate import Estimate
from tracker.domain.record import StoredRun

Outcome = Literal["faster", "slower", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """The second against the first at one load."""

    concurrency: int | None
    """Streams."""
    first_run_id: str
    """Run of the first side."""
    second_run_id: str
    """Run of the second side."""
    first_tok_s: float | None
    """Output tokens per second."""
    second_tok_s: float | None
    """Output tokens per second."""
    first_accept_length: float | None
    """Bonus included; None for a plain server."""
    second_accept_length: float | None
    """Bonus included; None for a plain server."""
    speedup: Estimate
    """Second over first, 80 %, on the prompts in common."""
    outcome: Outcome
    """faster or slower when the whole interval lies on one side of 1."""
    prompts_in_common: int | None
    """Prompts both answered; None when not known per request."""
    caveat: str | None = None
    """What else differs between the two, or why there is no answer."""


def head_to_head(
    runs: Sequence[StoredRun], first: Sequence[str], second: Sequence[str], *, priors: Priors
) -> tuple[Duel, ...]:
    """Return one duel per load, and per configuration where a side has several at that load.

    Args:
        runs: All runs of the campaign, per-request rows filled for both sides: the others tell the noise between runs.
        first: Run ids of the first side.
        second: Run ids of the second side.
        priors: Assumptions where nothing was repeated.
    """
    observations = observe(runs, configurations(runs))
    noise = between_runs(observations, priors)
    duels: list[Duel] = []
    for mine in (item for item in observations if item.run_id in first):
        for theirs in (item for item in observations if item.run_id in second):
            if mine.concurrency != theirs.concurrency or not _meet(mine, theirs, observations, first, second):
                continue
            change = drift([mine], mine, priors)
            found = compare(theirs, mine, noise=noise[mine.concurrency], drift=change, priors=priors)
            speedup = (
                Estimate(reason=_incomparable(mine, theirs)) if found is None else around(found.speedup, found.spread)
            )
            duels.append(
                Duel(
                    concurrency=mine.concurrency,
                    first_run_id=mine.run_id,
                    second_run_id=theirs.run_id,
                    first_tok_s=_value(mine.throughput),
                    second_tok_s=_value(theirs.throughput),
                    first_accept_length=_value(mine.length),
                    second_accept_length=_value(theirs.length),
                    speedup=speedup,
                    outcome=_outcome(speedup),
                    prompts_in_common=None if found is None else found.prompts_in_common,
                    caveat=_caveat(mine, theirs),
                )
            )
    return tuple(sorted(duels, key=lambda duel: -1 if duel.concurrency is None else duel.concurrency))


def _meet(
    mine: Observation,
    theirs: Observation,
    observations: Sequence[Observation],
    first: Sequence[str],
    second: Sequence[str],
) -> bool:
    """Return whether two observations are each other's counterpart: one alone at this load, or one configuration."""
    here = [item for item in observations if item.concurrency == mine.concurrency]
    alone = any(sum(item.run_id in side for item in here) == 1 for side in (first, second))
    return alone or mine.configuration.label == theirs.configuration.label


def _caveat(mine: Observation, theirs: Observation) -> str | None:
    reasons = [
        item.record.name + ": " + item.excluded_reason for item in (mine, theirs) if item.excluded_reason is not None
    ]
    other = difference(mine.run, theirs.run)
    return "; ".join([*reasons, *([other] if other else [])]) or None


def _incomparable(mine: Observation, theirs: Observation) -> str:
    missing = None in (mine.throughput, theirs.throughput)
    return "a throughput is missing" if missing else "they answered other prompts"


def _value(reading: Reading | None) -> float | None:
    return None if reading is None else reading.value


def _outcome(speedup: Estimate) -> Outcome:
    if speedup.low is not None and speedup.low > 1:
        return "faster"
    if speedup.high is not None and speedup.high < 1:
        return "slower"
    return "undecided"
