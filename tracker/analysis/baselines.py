"""Which baseline to beat at each load, and which one shows what speculation itself cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracker.analysis.configurations import same_flags
from tracker.analysis.noise import BaselineDrift, BetweenRunNoise, between_runs, drift
from tracker.analysis.observations import Observation
from tracker.analysis.priors import Priors
from tracker.analysis.results import Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What candidates at one load are measured against."""

    baseline: Observation
    """Baseline to beat."""
    drift: BaselineDrift
    """How far baselines like it lie apart."""
    noise: BetweenRunNoise
    """Noise between runs at this load."""
    others: tuple[Observation, ...]
    """Further plain runs at this load."""


def references(
    observations: Sequence[Observation], *, wanted: str | None, priors: Priors
) -> dict[int | None, Reference]:
    """Return the reference per load: the fastest usable plain run, or the one asked for.

    Loads without one are left out.
    """
    noise = between_runs(observations, priors)
    found: dict[int | None, Reference] = {}
    for load in {item.concurrency for item in observations}:
        plain = [item for item in observations if not item.speculative and item.contends and item.concurrency == load]
        eligible = [item for item in plain if wanted is None or item.run_id == wanted]
        if eligible:
            best = max(eligible, key=lambda item: (_speed(item), item.record.record_id))
            others = tuple(item for item in plain if item is not best)
            found[load] = Reference(baseline=best, drift=drift(plain, best, priors), noise=noise[load], others=others)
    return found


def attribution(configuration: Configuration, reference: Reference) -> Observation | None:
    """Return the fastest plain run with the same other flags: what speculation alone changed; None without one."""
    fitting = [
        item for item in (reference.baseline, *reference.others) if same_flags(item.configuration, configuration)
    ]
    known = [item for item in fitting if item.configuration.cuda_graph == configuration.cuda_graph]
    return max(known or fitting, key=lambda item: (_speed(item), item.record.record_id), default=None)


def _speed(item: Observation) -> float:
    return 0.0 if item.throughput is None else item.throughput.value
