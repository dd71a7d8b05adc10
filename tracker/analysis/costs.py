"""Break-even per configuration and load, pooled over drafters."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from tracker.analysis.baselines import Reference, attribution
from tracker.analysis.break_even import (
    measure,
    reachability,
    required,
    required_reachable,
    step_components,
    step_ratio,
)
from tracker.analysis.noise import spread_of
from tracker.analysis.observations import Observation
from tracker.analysis.prefill import prefill_correction
from tracker.analysis.priors import Priors
from tracker.analysis.results import ConfigurationCost
from tracker.analysis.uncertainty import Component, around, combine, rounding_component
from tracker.domain.estimate import Estimate


def configuration_costs(
    observations: Sequence[Observation], references: Mapping[int | None, Reference], priors: Priors
) -> tuple[ConfigurationCost, ...]:
    """Return one cost per configuration and load that has a baseline, cheapest first inside a load."""
    groups: dict[tuple[int | None, str], list[Observation]] = defaultdict(list)
    for item in observations:
        if item.speculative and item.times_steps:
            groups[(item.concurrency, item.configuration.label)].append(item)
    found = []
    for (load, _), members in groups.items():
        reference = references.get(load)
        cost = None if reference is None else _cost(members, reference, priors)
        if cost is not None:
            found.append(cost)
    return tuple(
        sorted(found, key=lambda cost: (_load(cost.concurrency), cost.break_even.value, cost.configuration.label))
    )


def step_estimate(item: Observation, reference: Reference | None) -> Estimate:
    """Return one observation's step time with rounding, repeats and noise between runs."""
    if item.step_ms is None:
        return Estimate(reason="no throughput or accept length reported")
    if reference is None:
        return Estimate(value=item.step_ms.value, reason="no baseline at this load, so no estimate of its noise")
    noise = Component(name="noise between runs", sd=reference.noise.sd, df=reference.noise.df)
    return around(item.step_ms.value, combine([noise, *step_components([item], reference.noise)]))


def _cost(members: Sequence[Observation], reference: Reference, priors: Priors) -> ConfigurationCost | None:
    configuration = members[0].configuration
    bar = measure(members, reference.baseline, noise=reference.noise, drift=reference.drift)
    base = reference.baseline.step_ms
    if bar is None or base is None:
        return None
    reachable, note = reachability(bar, configuration)
    noise = Component(name="noise between runs", sd=reference.noise.sd / math.sqrt(len(members)), df=reference.noise.df)
    own = attribution(configuration, reference)
    return ConfigurationCost(
        configuration=configuration,
        concurrency=members[0].concurrency,
        break_even=bar,
        step_time_ms=around(bar.value * base.value, combine([noise, *step_components(members, reference.noise)])),
        baseline_step_time_ms=step_estimate(reference.baseline, reference),
        run_ids=(*(item.run_id for item in members), reference.baseline.run_id),
        between_run_fraction=spread_of(members),
        best_accept_length=_best_length(members, priors),
        reachable=reachable,
        reachable_note=note,
        required=required(bar.value),
        required_reachable=required_reachable(bar.value, configuration),
        prefill=prefill_correction(members, reference.baseline),
        attribution_run_id=None if own is None else own.run_id,
        attribution_ratio=None
        if own is None or own.step_ms is None
        else step_ratio(bar.value * base.value, own.step_ms.value),
    )


def length_estimate(item: Observation, priors: Priors) -> Estimate:
    """Return an accept length with what prompts (else verify steps, else the default) and rounding leave open."""
    if item.length is None:
        simulated = "acceptance was simulated" if item.step_time_only else "not reported"
        return Estimate(reason=simulated if item.speculative else "a plain server drafts nothing")
    parts = []
    if item.length.low is not None:
        parts.append(rounding_component(*item.length.bounds))
    if item.prompt_log_se is not None and item.prompts is not None:
        parts.append(Component(name="prompts", sd=item.prompt_log_se, df=max(1, item.prompts - 1)))
    elif item.token_log_se is not None:
        parts.append(Component(name="verify steps", sd=item.token_log_se))
    else:
        prompts = priors.prompts_when_unknown if item.prompts is None else item.prompts
        parts.append(Component(name="prompts", sd=priors.paired_prompt_fraction / math.sqrt(prompts)))
    return around(item.length.value, combine(parts))


def _best_length(members: Sequence[Observation], priors: Priors) -> Estimate:
    known = [item for item in members if item.length is not None and item.contends]
    if not known:
        return Estimate(reason="no usable accept length")
    return length_estimate(max(known, key=lambda item: 0.0 if item.length is None else item.length.value), priors)


def _load(load: int | None) -> int:
    return -1 if load is None else load
