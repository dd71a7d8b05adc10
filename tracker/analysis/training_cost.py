"""What a training costs, by phase: generating answers, extracting the target's states, optimising the drafter.

Three sources, in this order: the price campaign.toml states for all phases together; GPU-hours by phase recorded with
a training of this campaign; the published price. Generation follows from the measured generation speed wherever
campaign.toml states it, and no price may lie below what is known of its phases, unless the campaign states it so.
"""

from __future__ import annotations

from dataclasses import dataclass

from tracker.analysis.priors import Priors
from tracker.analysis.results import ScalingFit, ScalingPoint
from tracker.domain.campaign import Costs


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePrice:
    """GPU-hours of one training sample; a phase nobody measured is None."""

    total: float
    """All phases, which is what options are priced with."""
    source: str
    """Where the total comes from."""
    generation: float | None = None
    """Generating the answer."""
    generation_source: str | None = None
    """Where that comes from."""
    extraction: float | None = None
    """Extracting hidden states."""
    training: float | None = None
    """Optimising."""
    recorded_in: str | None = None
    """Run whose training recorded the phases."""

    @property
    def rest(self) -> float | None:
        """What the total holds beyond the phases known; None when they exceed it."""
        left = self.total - self.known
        return left if left > 1e-12 else None

    @property
    def known(self) -> float:
        """Sum of the phases known."""
        return sum(part for part in (self.generation, self.extraction, self.training) if part is not None)


def sample_price(costs: Costs, scaling: ScalingFit, priors: Priors) -> SamplePrice:
    """Return the price of one sample, by phase where phases are known."""
    generation = generation_gpu_hours(costs)
    source = None if generation is None else f"{costs.generation_tok_s:g} tok/s as measured, {costs.gpus} GPUs"
    point = max((point for point in scaling.points if point.cost is not None), key=_samples, default=None)
    extraction = training = None
    if point is not None and point.cost is not None:
        recorded = point.cost
        extraction = _per_sample(recorded.extraction_gpu_hours, point)
        training = _per_sample(recorded.training_gpu_hours, point)
        own = _per_sample(recorded.generation_gpu_hours, point)
        if own is not None:
            generation, source = own, "recorded with a training of this campaign"
    total, where = _total(costs, priors, generation, extraction, training)
    return SamplePrice(
        total=total,
        source=where,
        generation=generation,
        generation_source=source,
        extraction=extraction,
        training=training,
        recorded_in=None if point is None else point.run_id,
    )


def generation_gpu_hours(costs: Costs) -> float | None:
    """Return GPU-hours to generate one sample at the campaign's measured speed; None where it does not say."""
    if costs.generation_tok_s is None or costs.tokens_per_sample is None or costs.gpus is None:
        return None
    return costs.tokens_per_sample / costs.generation_tok_s * costs.gpus / 3600


def _total(
    costs: Costs, priors: Priors, generation: float | None, extraction: float | None, training: float | None
) -> tuple[float, str]:
    if costs.gpu_hours_per_sample is not None:
        return costs.gpu_hours_per_sample, "campaign.toml, all phases together"
    phases = [part for part in (generation, extraction, training) if part is not None]
    if training is not None:
        return sum(phases), "phases recorded with a training of this campaign"
    scale = 1.0 if costs.tokens_per_sample is None else costs.tokens_per_sample / priors.tokens_per_sample
    published = priors.gpu_hours_per_sample * scale
    known = sum(phases)
    if known > published:
        return known, "what is known of its phases, more than the published price of all of them"
    return published, "a published training run, scaled by tokens" if scale != 1 else "a published training run"


def _per_sample(gpu_hours: float | None, point: ScalingPoint) -> float | None:
    return None if gpu_hours is None else gpu_hours / point.samples


def _samples(point: ScalingPoint) -> int:
    return point.samples
