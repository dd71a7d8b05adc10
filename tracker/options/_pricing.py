"""How every option is priced: one way, so that their values can be compared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import CostPart
from tracker.analysis.results.decision import Phase
from tracker.analysis.uncertainty import FloatArray, summarise
from tracker.analysis.value import days, net_gpu_hours, pay_back_gpu_hours, saved_fraction
from tracker.domain.campaign import Costs
from tracker.domain.estimate import Estimate

NO_HORIZON = "campaign.toml states no number of GPUs or no horizon, so speed has no price"


def price(
    evidence: Evidence,
    option: Valued,
    *,
    speedup: FloatArray | None,
    missing: str,
    forced: bool = False,
) -> Valued:
    """Return an option with its chance, speed and net value from draws of its speed-up.

    Args:
        evidence: Draws and costs.
        option: Key, title, texts and cost.
        speedup: Speed over the baseline after the option, shape (n_draws,); None when it cannot be estimated.
        missing: Why not.
        forced: Whether a slower outcome is served all the same.
    """
    option = with_cost(evidence, option)
    option = replace(option, concurrency=evidence.load)
    if speedup is None:
        return replace(option, unvalued_reason=missing)
    base = evidence.baseline_tok_s
    option = replace(
        option,
        p_beats_baseline=float((speedup > 1).mean()),
        expected_tok_s=Estimate(reason="no baseline throughput") if base is None else summarise(base * speedup),
    )
    share = evidence.load_share
    saved = share * saved_fraction(speedup, forced=forced)
    return with_value(evidence, option, saved, expected=share * (1 - 1 / float(np.mean(speedup))))


def with_value(evidence: Evidence, option: Valued, saved: FloatArray, *, expected: float) -> Valued:
    """Return an option with its net value.

    Args:
        evidence: Costs.
        option: With its own cost.
        saved: Share of the baseline's GPU-hours that it saves, draws.
        expected: The same at the expected speed, for the pay-back.
    """
    costs = evidence.campaign.costs
    hours = costs.horizon_gpu_hours
    if hours is None:
        return replace(option, unvalued_reason=NO_HORIZON)
    if option.cost_gpu_hours is None:
        return replace(option, unvalued_reason=option.unvalued_reason or "its cost is not known")
    net = net_gpu_hours(saved, horizon_gpu_hours=hours, cost_gpu_hours=option.cost_gpu_hours)
    return replace(
        option,
        net_gpu_hours=summarise(net),
        p_net_positive=float((net > 0).mean()),
        pay_back_days=_pay_back_days(costs, option.cost_gpu_hours, expected),
        saved_fraction=saved,
        unvalued_reason=None,
    )


def with_cost(evidence: Evidence, option: Valued) -> Valued:
    """Return an option with calendar days and money from its GPU-hours, where campaign.toml states what they need."""
    costs, hours = evidence.campaign.costs, option.cost_gpu_hours
    if hours is None:
        return option
    money = None if costs.price_per_gpu_hour is None else hours * costs.price_per_gpu_hour
    known = option.cost_days
    if known is None and costs.gpus is not None:
        known = days(hours, costs.gpus)
    return replace(option, cost_days=known, cost_money=money)


def training_gpu_hours(evidence: Evidence, samples: int) -> float:
    """Return the price of training on `samples`, all phases, at the campaign's or the published price per sample."""
    return samples * evidence.gpu_hours_per_sample


def training_split(
    evidence: Evidence, samples: int, *, engineering_gpu_hours: float | None = None
) -> tuple[CostPart, ...]:
    """Return the price of a training by phase; where only the whole is known, one part that says so.

    A phase that alone exceeds the stated price keeps what was measured: the parts then add up to more than the price.
    """
    price = evidence.sample_price
    phases: list[tuple[Phase, float | None, str | None]] = [
        ("data generation", price.generation, price.generation_source),
        ("extraction", price.extraction, "recorded with a training of this campaign"),
        ("training", price.training, "recorded with a training of this campaign"),
        ("not split", price.rest, price.source),
    ]
    found = [phase_cost(evidence, phase, samples * each, source) for phase, each, source in phases if each is not None]
    if engineering_gpu_hours is not None:
        found.insert(0, phase_cost(evidence, "engineering", engineering_gpu_hours, "campaign.toml"))
    return tuple(found)


def phase_cost(evidence: Evidence, phase: Phase, gpu_hours: float, source: str | None) -> CostPart:
    """Return one phase of a cost, with days and money where campaign.toml states what they need."""
    costs = evidence.campaign.costs
    return CostPart(
        phase=phase,
        gpu_hours=gpu_hours,
        days=None if costs.gpus is None else days(gpu_hours, costs.gpus),
        money=None if costs.price_per_gpu_hour is None else gpu_hours * costs.price_per_gpu_hour,
        source=source,
    )


def training_days(evidence: Evidence, samples: int) -> float | None:
    """Return calendar days of a training: at least as long as generating its answers takes; None without GPUs."""
    costs = evidence.campaign.costs
    if costs.gpus is None:
        return None
    working = days(training_gpu_hours(evidence, samples), costs.gpus)
    if costs.generation_tok_s is None or costs.tokens_per_sample is None:
        return working
    return max(working, samples * costs.tokens_per_sample / costs.generation_tok_s / 86_400)


def benchmark_gpu_hours(evidence: Evidence, passes: int = 1, *, load: int | None = None) -> float:
    """Return the price of `passes` benchmark passes: as timed at a load, else the prior's judgement.

    Args:
        evidence: Runs that were timed.
        passes: How many.
        load: Streams; the decision load when None.
    """
    hardware = evidence.analysis.hardware
    # A benchmark runs on one deployment's GPUs, of which campaign.toml may count several.
    own = None if hardware is None else hardware.gpu_count
    gpus = evidence.campaign.costs.gpus if own is None else own
    at = evidence.load if load is None else load
    timed = [point.wall_s for point in evidence.analysis.points if point.wall_s is not None and point.concurrency == at]
    if not timed or gpus is None:
        return passes * evidence.priors.benchmark_gpu_hours
    return passes * gpus * max(timed) / 3600


def _pay_back_days(costs: Costs, cost_gpu_hours: float, saved: float) -> float | None:
    served = None if saved >= 1 else pay_back_gpu_hours(cost_gpu_hours, 1 / (1 - saved))
    return None if served is None or costs.gpus is None else days(served, costs.gpus)
