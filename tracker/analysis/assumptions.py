"""Inputs nobody measured, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tracker.analysis.baselines import Reference
from tracker.analysis.observations import Observation
from tracker.analysis.pairing import Comparison
from tracker.analysis.priors import Priors
from tracker.analysis.results import AcceptanceProfile, Note, ScalingFit, StepTimeFit
from tracker.analysis.traffic import traffic_notes
from tracker.analysis.training_cost import sample_price
from tracker.analysis.words import listed, percent, size
from tracker.domain.campaign import Campaign

# Below this a price of one sample is a row of zeros.
_PER_MILLION_BELOW = 1e-4


def assumption_notes(
    campaign: Campaign,
    observations: Sequence[Observation],
    references: Mapping[int | None, Reference],
    compared: Mapping[tuple[str, int | None], Comparison],
    *,
    step_time: StepTimeFit,
    scaling: ScalingFit,
    acceptance: AcceptanceProfile,
    load: int | None,
    priors: Priors,
) -> tuple[Note, ...]:
    """Return only assumptions that a figure of this campaign rests on."""
    return (
        *_horizon(campaign),
        *_traffic(campaign, observations, references, acceptance, load),
        *_price_of_data(campaign, scaling, priors),
        *_noise(references, compared, priors),
        *_overhead(campaign, step_time, priors),
        *_steps(observations, priors),
        *_slope(scaling, priors),
        *_load(observations),
        *_equivalence(compared, priors),
    )


def _horizon(campaign: Campaign) -> Iterable[Note]:
    costs, hours = campaign.costs, campaign.costs.horizon_gpu_hours
    if hours is not None:
        yield Note(
            topic="length of use",
            message=f"{costs.horizon_days:g} days, {_gpus(costs.gpus)} fully used: {size(round(hours))} GPU-hours.",
        )
    else:
        yield Note(
            topic="length of use",
            message="campaign.toml states no GPUs or no horizon: options carry speed and cost, but no net value.",
        )


def _traffic(
    campaign: Campaign,
    observations: Sequence[Observation],
    references: Mapping[int | None, Reference],
    acceptance: AcceptanceProfile,
    load: int | None,
) -> Iterable[Note]:
    traffic, loads = campaign.traffic, sorted(count for count in references if count is not None)
    categories = [item for item in acceptance.per_category if item.token_share is not None]
    if not (traffic.by_concurrency or traffic.by_category) and len(loads) < 2 and len(categories) < 2:
        return
    if campaign.costs.horizon_gpu_hours is None or not any(item.contends and item.speculative for item in observations):
        return
    yield from traffic_notes(traffic, loads=loads, profile=acceptance, decision_load=load)


def _a_sample(gpu_hours: float) -> str:
    """Return a price of training data in words; of a million samples where one costs next to nothing."""
    if 0 < gpu_hours < _PER_MILLION_BELOW:
        return f"{1e6 * gpu_hours:.3g} GPU-hours a million samples"
    return f"{gpu_hours:.3g} GPU-hours a sample"


def _price_of_data(campaign: Campaign, scaling: ScalingFit, priors: Priors) -> Iterable[Note]:
    costs = campaign.costs
    if scaling.status == "refused":
        return
    price = sample_price(costs, scaling, priors)
    if costs.gpu_hours_per_sample is None and price.training is None and price.total > price.known:
        scaled = "" if costs.tokens_per_sample is None else ", scaled by tokens"
        message = (
            f"{_a_sample(priors.gpu_hours_per_sample)} of about {priors.tokens_per_sample:,.0f} tokens, "
            f"from a published training run{scaled}."
        )
    elif costs.gpu_hours_per_sample is not None:
        message = f"{_a_sample(price.total)}, all phases together, as campaign.toml states."
    else:
        message = f"{_a_sample(price.total)}: {price.source}."
    generation = price.generation
    if generation is not None and costs.gpu_hours_per_sample is not None and generation > price.total:
        message += (
            f" Generating at the measured {costs.generation_tok_s:,.0f} tok/s alone takes {_a_sample(generation)}: "
            "GPU-hours here follow the price, calendar days the measured speed."
        )
    yield Note(topic="price of data", message=message)


def _noise(
    references: Mapping[int | None, Reference], compared: Mapping[tuple[str, int | None], Comparison], priors: Priors
) -> Iterable[Note]:
    parts = []
    if any(reference.noise.source == "default" for reference in references.values()):
        parts.append(f"{percent(priors.between_run_fraction)} between runs")
    if any(found.drift.range_fraction is None and found.drift.sd > found.noise.sd for found in references.values()):
        parts.append(f"{percent(priors.baseline_drift_fraction)} drift of the baseline")
    if any(not _measured_prompts(found) for found in compared.values()):
        parts.append(f"{percent(priors.paired_prompt_fraction)} between repeats of one prompt, paired")
    if parts:
        yield Note(topic="noise", message=f"{listed(parts)}: defaults where nothing was repeated.")
    if any(found.prompts_assumed for found in compared.values()):
        yield Note(
            topic="prompts", message=f"{priors.prompts_when_unknown} prompts where their number was not recorded."
        )


def _measured_prompts(found: Comparison) -> bool:
    return any(part.name == "prompts" and part.df < 1e9 for part in found.components)


def _overhead(campaign: Campaign, step_time: StepTimeFit, priors: Priors) -> Iterable[Note]:
    if step_time.fixed_ms.value is None or campaign.costs.overhead_fix_gpu_hours is None:
        return
    ends = [step_time.fixed_ms.value, *(fixed for _, fixed, _, _ in step_time.alternatives)]
    span = f"{min(ends):.1f} ms" if len(ends) == 1 else f"{min(ends):.1f} to {max(ends):.1f} ms"
    yield Note(
        topic="overhead that can go",
        message=(
            f"{percent(priors.overhead_saved_low_fraction)} to {percent(priors.overhead_saved_high_fraction)} "
            f"of {span}, all "
            f"equally likely; {campaign.costs.overhead_fix_gpu_hours:g} GPU-hours of work."
        ),
    )


def _steps(observations: Sequence[Observation], priors: Priors) -> Iterable[Note]:
    unknown = [item.run_id for item in observations if item.speculative and item.configuration.num_steps is None]
    if unknown:
        yield Note(
            topic="draft steps",
            message=f"{priors.assumed_num_steps} where not recorded; nothing that says `reachable` rests on it.",
            run_ids=tuple(dict.fromkeys(unknown)),
        )


def _slope(scaling: ScalingFit, priors: Priors) -> Iterable[Note]:
    if scaling.status != "refused" and scaling.data_share is not None and scaling.data_share < 0.5:
        yield Note(
            topic="gain from data",
            message=f"Its slope comes from published drafters (priors {priors.version}), not from these runs.",
        )


def _load(observations: Sequence[Observation]) -> Iterable[Note]:
    unknown = [item.run_id for item in observations if item.concurrency is None]
    if unknown:
        yield Note(
            topic="load",
            message="The load was not recorded: step times in milliseconds assume one stream; ratios do not need it.",
            run_ids=tuple(dict.fromkeys(unknown)),
        )


def _equivalence(compared: Mapping[tuple[str, int | None], Comparison], priors: Priors) -> Iterable[Note]:
    if compared:
        within = percent(priors.equivalence_margin_fraction)
        yield Note(
            topic="equivalence",
            message=f"Speeds within {within} count as equivalent, by two one-sided tests at the 95 % level.",
        )


def _gpus(count: int | None) -> str:
    return "1 GPU" if count == 1 else f"{count} GPUs"
