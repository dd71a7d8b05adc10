"""What a drafter must yield with any chain at any load, from step times alone: no drafter need have been served.

Runs with simulated acceptance serve it as well as real ones. Break-even of a chain nobody measured lies on the line
through its neighbours of the same flags and load, or grows from one as published chains do; it is never carried over
to another load.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tracker.analysis.break_even import required, spread_of
from tracker.analysis.chains import MeasuredChain, first_acceptance, predict_chain, published_share
from tracker.analysis.configurations import is_chain
from tracker.analysis.priors import Priors
from tracker.analysis.results import BreakEven, ChainBar, ConfigurationCost, LoadNoise
from tracker.analysis.uncertainty import Component, combine, parts_of
from tracker.analysis.words import listed

# Chains longer than the longest measured one are predicted so many steps further, shorter ones down to one step.
_FURTHER_STEPS = 2
_FALLS = "a shorter chain measured slower, so noise hides the growth"


def chain_bars(
    costs: Sequence[ConfigurationCost],
    noise: Sequence[LoadNoise],
    base_tok_s: Mapping[int | None, float],
    priors: Priors,
) -> tuple[ChainBar, ...]:
    """Return the bars of chains measured and between, before and beyond them, by load, flags and length.

    Args:
        costs: Break-even of every measured configuration and load.
        noise: Noise between servers by load: a chain nobody started runs on a fresh one.
        base_tok_s: Output tok/s of the plain server by load.
        priors: Growth where one chain was measured, errors of the back-test, decay of acceptance.
    """
    families: dict[tuple[object, ...], dict[int, ConfigurationCost]] = defaultdict(dict)
    for cost in costs:
        flags = cost.configuration
        if is_chain(flags) and flags.num_steps is not None:
            key = (cost.concurrency, flags.algorithm, flags.cuda_graph, tuple(sorted(flags.other_flags.items())))
            families[key].setdefault(flags.num_steps, cost)
    fresh = {item.concurrency: item for item in noise}
    found = [
        bar
        for family in families.values()
        for bar in _family(family, fresh.get(next(iter(family.values())).concurrency), base_tok_s, priors)
    ]
    return tuple(sorted(found, key=lambda bar: (bar.concurrency or -1, bar.like.label, bar.num_steps)))


def _family(
    measured: Mapping[int, ConfigurationCost],
    noise: LoadNoise | None,
    base_tok_s: Mapping[int | None, float],
    priors: Priors,
) -> Iterable[ChainBar]:
    for steps in range(1, max(measured) + _FURTHER_STEPS + 1):
        own = measured.get(steps)
        if own is not None:
            yield _bar(steps, own, own.break_even, base_tok_s, priors, basis="measured", run_ids=own.run_ids)
            continue
        used, falls = _neighbours(measured, steps)
        nearest = used[min(used, key=lambda other: (abs(other - steps), other))]
        chains = {other: MeasuredChain(length=1.0, break_even=cost.break_even.value) for other, cost in used.items()}
        predicted = predict_chain(chains, steps, priors, noise_log_sd=None if noise is None else noise.sd)
        value = predicted.break_even
        parts = _uncertainty(used, steps, noise, priors)
        half = combine(parts).half_width
        if value <= 0:
            continue
        bar = BreakEven(
            value=value,
            low=value * math.exp(-half),
            high=value * math.exp(half),
            rounding_low=None,
            rounding_high=None,
            parts=parts_of(parts),
        )
        plain = nearest.run_ids[-1]
        runs = [run for cost in used.values() for run in cost.run_ids[:-1]]
        yield _bar(
            steps,
            nearest,
            bar,
            base_tok_s,
            priors,
            basis=_words(used, falls, predicted.growth_measured_fraction),
            run_ids=(*dict.fromkeys(runs), plain),
            measured=False,
        )


def _neighbours(measured: Mapping[int, ConfigurationCost], steps: int) -> tuple[dict[int, ConfigurationCost], bool]:
    """Return the two nearest measured chains, or the nearest alone where the longer of two measured faster."""
    nearest = sorted(measured, key=lambda other: (abs(other - steps), other))[:2]
    low, high = min(nearest), max(nearest)
    falls = measured[low].break_even.value > measured[high].break_even.value
    return {other: measured[other] for other in (nearest[:1] if falls else nearest)}, falls


def _uncertainty(
    used: Mapping[int, ConfigurationCost], steps: int, noise: LoadNoise | None, priors: Priors
) -> list[Component]:
    distance = min(abs(steps - other) for other in used)
    parts = [Component(name="measured steps", sd=max(spread_of(cost.break_even).sd for cost in used.values()))]
    # The back-test's error holds two steps beyond the measured ones; with one chain the growth itself is assumed.
    parts.append(Component(name="model", sd=priors.chain_break_even_log_sd * max(distance, 1) / 2))
    if len(used) == 1:
        parts.append(Component(name="growth per step", sd=priors.extra_step_sd * distance))
    if noise is not None:
        parts.append(Component(name="noise between runs", sd=noise.sd, df=noise.df))
    return parts


def _bar(
    steps: int,
    cost: ConfigurationCost,
    bar: BreakEven,
    base_tok_s: Mapping[int | None, float],
    priors: Priors,
    *,
    basis: str,
    run_ids: tuple[str, ...],
    measured: bool = True,
) -> ChainBar:
    reachable = bar.value <= steps + 1
    return ChainBar(
        concurrency=cost.concurrency,
        num_steps=steps,
        like=cost.configuration,
        measured=measured,
        break_even=bar,
        reachable=reachable,
        acceptance=_acceptance(bar.value, steps, priors) if reachable else None,
        required=required(bar.value),
        baseline_tok_s=base_tok_s.get(cost.concurrency),
        basis=basis,
        run_ids=run_ids,
    )


def _acceptance(length: float, steps: int, priors: Priors) -> float | None:
    """Return the first-position acceptance, decaying as usual, that yields a length; None where none does."""
    first = first_acceptance(max(length, 1.0), priors.rho_mean, steps)
    return first if first < 1 - 1e-9 else None


def _words(used: Mapping[int, ConfigurationCost], falls: bool, share: float) -> str:
    steps = listed([str(other) for other in sorted(used)])
    if len(used) > 1:
        return f"on the line through the measured chains of {steps} steps{published_share(share)}"
    grown = f"from the measured chain of {steps} steps, growing as published chains do"
    return f"{grown}; here {_FALLS}" if falls else grown
