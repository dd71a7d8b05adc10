"""Accept length against training data: forecast, qualify, or refuse."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from tracker.analysis._forms import Chain
from tracker.analysis.hold_out import hold_out
from tracker.analysis.observations import Observation
from tracker.analysis.posterior import LEAST_EFFECTIVE_DRAWS, Posterior, SizeMeasurement, sample
from tracker.analysis.priors import Priors
from tracker.analysis.results import (
    BreakEven,
    Configuration,
    ForecastPoint,
    HoldOut,
    SamplesNeeded,
    ScalingFit,
    TargetSamples,
)
from tracker.analysis.results.fits import ScalingStatus
from tracker.analysis.scaling_alike import AlikeSizes, differences, trained_alike, unknown_budget
from tracker.analysis.scaling_chain import chain_of, contradicted_coverage
from tracker.analysis.scaling_points import SizePoint, collect, repeat_remarks, repeats_unknown, unserved_sizes
from tracker.analysis.scaling_targets import MAX_SAMPLES, break_even_draws, samples_needed, target_samples
from tracker.analysis.uncertainty import FloatArray
from tracker.analysis.words import listed, percent, size
from tracker.domain.record import StoredRun

# Prefill below this share of a request moves no bar that anybody reads.
_PREFILL_SAID = 0.02
_WORST_RESIDUAL_SE = 3.0
_LADDER = (1, 2, 3, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A fit together with what it was fitted on."""

    fit: ScalingFit
    """What the memo shows."""
    points: tuple[SizePoint, ...]
    """Sizes."""
    chain: Chain | None
    """What the configuration allows; None without sizes."""


def analyse_scaling(
    observations: Sequence[Observation],
    trainings: Sequence[StoredRun],
    *,
    load: int | None,
    prefer: Configuration | None,
    bars: Mapping[tuple[str, int | None], tuple[BreakEven, float]],
    priors: Priors,
    seed: int,
) -> Curve:
    """Return the scaling fit of the configuration that served most sizes at `load`.

    Args:
        observations: Runs of the comparison group.
        trainings: Training runs, for sizes that the benchmarks do not carry themselves.
        load: Streams.
        prefer: Configuration that wins a tie.
        bars: Break-even by configuration label and load, with the share of prefill that goes with it.
        priors: Assumptions.
        seed: Seed of the draws.
    """
    served = collect(observations, trainings, load=load, prefer=prefer, priors=priors)
    unserved = unserved_sizes(served, trainings)
    if not served:
        return Curve(fit=_no_sizes(load, unserved), points=(), chain=None)
    alike = trained_alike(served)
    points = alike.fitted
    configuration = points[0].observation.configuration
    bar, prefill = bars.get((configuration.label, load), (None, 0.0))
    chain, assumed = chain_of(points, priors)
    posterior = sample(measured_sizes(points), chain=chain, priors=priors, seed=seed)
    residuals = _residuals(points, posterior)
    reasons = [*differences(points), *_misfit(points, residuals, posterior)]
    left_out = [*alike.remarks(), *([_unserved_words(unserved)] if unserved else [])]
    refused = ScalingFit(
        status="refused",
        reason=" ".join([*reasons, *left_out]),
        cure=_cure_refused(alike),
        configuration=configuration,
        concurrency=load,
        points=tuple(point.shown() for point in points),
        break_even=bar,
        prefill_fraction=prefill,
        ceiling=chain.max_length,
        effective_sample_size=posterior.effective_draws,
        worst_residual_se=max(map(abs, residuals)),
        max_acceptance=chain.max_acceptance,
        assumed_num_steps=assumed,
        hold_out=_held_out(points, chain, priors, seed),
        unserved=unserved,
        beside=tuple(point.shown() for point in alike.beside),
        budget_note=alike.note(),
    )
    fit = refused if reasons else _fitted(refused, alike, posterior, seed)
    return Curve(fit=fit, points=points, chain=chain)


def _held_out(points: Sequence[SizePoint], chain: Chain, priors: Priors, seed: int) -> HoldOut | None:
    found = hold_out(measured_sizes(points), chain=chain, priors=priors, seed=seed)
    return None if found is None else replace(found, samples=points[-1].label)


def _fitted(bare: ScalingFit, alike: AlikeSizes, posterior: Posterior, seed: int) -> ScalingFit:
    """Return the fit with its forecast, its share of data and what qualifies it."""
    points = alike.fitted
    share = data_share(points, posterior, seed)
    targets = () if bare.break_even is None else _targets(bare, bare.break_even, points, posterior, seed)
    needed = None if bare.break_even is None else samples_needed(posterior, bare.break_even, seed, known=targets)
    status, reason, cure = _quality(alike, share, needed, bare, posterior)
    return replace(
        bare,
        status=status,
        reason=reason,
        cure=cure,
        forecast=_forecast(points, posterior, bare.break_even, seed),
        samples_to_break_even=needed,
        data_share=share,
        targets=targets,
    )


def _targets(
    bare: ScalingFit, bar: BreakEven, points: Sequence[SizePoint], posterior: Posterior, seed: int
) -> tuple[TargetSamples, ...]:
    return target_samples(
        posterior,
        bar,
        best_measured=max(point.length for point in points),
        sizes=len({point.samples for point in points}),
        assumed=bare.assumed_num_steps,
        seed=seed,
        prefill_fraction=bare.prefill_fraction,
    )


def data_share(points: Sequence[SizePoint], posterior: Posterior, seed: int) -> float:
    """Return the share of the forecast slope that comes from data: 1 - var(slope | data) / var(slope | prior).

    The slope is the gain over the decade beyond the largest size. With one size it is 0 by definition: a level says
    nothing about a slope.
    """
    if len({point.samples for point in points}) < 2:
        return 0.0
    largest = max(point.samples for point in points)
    prior = sample((), chain=posterior.chain, priors=posterior.priors, seed=seed)
    variances = []
    for draws in (posterior, prior):
        gains = _curve(draws, 10.0 * largest) - _curve(draws, float(largest))
        variances.append(float(np.var(gains)))
    return float(np.clip(1 - variances[0] / variances[1], 0.0, 1.0))


def _curve(posterior: Posterior, samples: float) -> FloatArray:
    """Return accept length without the discrepancy, which is no part of the slope."""
    flat = replace(posterior, discrepancy=np.zeros_like(posterior.discrepancy))
    return flat.lengths(samples)


def measured_sizes(points: Sequence[SizePoint]) -> tuple[SizeMeasurement, ...]:
    """Return the sizes as the fit sees them."""
    return tuple(SizeMeasurement(samples=point.samples, length=point.length, se=point.se) for point in points)


def _no_sizes(load: int | None, unserved: tuple[int, ...]) -> ScalingFit:
    reason = "No usable run names the number of samples its drafter was trained on."
    return ScalingFit(
        status="refused",
        reason=f"{reason} {_unserved_words(unserved)}" if unserved else reason,
        cure="Serve the trained drafters on one set of prompts."
        if unserved
        else "Log the drafter's training with --samples.",
        concurrency=load,
        unserved=unserved,
    )


def _unserved_words(unserved: tuple[int, ...]) -> str:
    return (
        f"Trained and not served here: {listed([size(samples) for samples in unserved])} samples. What a trainer "
        "reports informs and never stands in for served acceptance: they are in no fit until they are served."
    )


def _residuals(points: Sequence[SizePoint], posterior: Posterior) -> list[float]:
    """Return each size's distance from the mean curve, in standard errors that include tau.

    The prompts are the same for all sizes: their error shifts the curve and is no part of the distance.
    """
    tau = posterior.priors.tau
    return [
        (point.length - float(np.mean(_curve(posterior, point.samples)))) / math.hypot(point.se, tau)
        for point in points
    ]


def _misfit(points: Sequence[SizePoint], residuals: Sequence[float], posterior: Posterior) -> list[str]:
    found = []
    worst, at = max(zip(residuals, points, strict=True), key=lambda pair: abs(pair[0]))
    if abs(worst) > _WORST_RESIDUAL_SE:
        found.append(
            f"None of the forms passes through the sizes: {size(at.label)} samples lie {abs(worst):.1f} standard "
            f"errors {'above' if worst > 0 else 'below'} the curve, with the scatter between trainings counted in."
        )
    if posterior.effective_draws < LEAST_EFFECTIVE_DRAWS:
        found.append(
            f"The forms hardly meet the data: {posterior.effective_draws:.0f} effective draws after refinement, "
            f"{LEAST_EFFECTIVE_DRAWS} are needed."
        )
    return found


def _cure_refused(alike: AlikeSizes) -> str:
    points = alike.fitted
    steps = [point.training.optimizer_steps for point in points]
    known = [step for step in steps if step is not None]
    if differences(points) and known and len(set(known)) > 1:
        most = max(known)
        short = [size(point.label) for point in points if point.training.optimizer_steps not in (None, most)]
        return f"Retrain the sizes {listed(short)} for {size(most)} steps, as the others, and serve them again."
    if differences(points):
        return "Train the sizes on one mix with equal passes over the data, and serve them in one configuration."
    return _train_to_the_end(alike) or "Serve one more size between the measured ones, on the same prompts."


def _train_to_the_end(alike: AlikeSizes) -> str | None:
    """Return the cure for sizes that more passes still improve; None where nothing shows that they do."""
    rising = alike.raised_by_training()
    if not rising:
        return None
    return (
        f"Train every size until more passes bring nothing, and serve them again on the same prompts: at "
        f"{listed([size(samples) for samples in rising])} samples they still raise accept length, so the curve "
        "mixes data with training cut short."
    )


def _quality(
    alike: AlikeSizes, share: float, needed: SamplesNeeded | None, fit: ScalingFit, posterior: Posterior
) -> tuple[ScalingStatus, str | None, str | None]:
    points = alike.fitted
    sizes = sorted({point.label for point in points})
    reasons = []
    if alike.drops_sizes:
        reasons.append("Some sizes were trained differently and are in no fit.")
    if len(sizes) == 1:
        reasons.append(
            "One training size gives no slope: 0 % of the slope comes from these data, all of it from "
            "published drafters "
            f"(priors {posterior.priors.version})."
        )
    elif len(sizes) == 2 or sizes[-1] < 10 * sizes[0]:
        reasons.append(f"{len(sizes)} sizes, less than three over a decade: read the range, not the median.")
    if len(sizes) > 1 and share < 0.5:
        reasons.append(f"Mostly prior: {percent(share)} of the slope comes from these data.")
    if unknown_budget(points):
        reasons.append("Passes over the data were not recorded for every size; equal ones are assumed.")
    if repeats_unknown(points):
        reasons.append("How many samples repeat others was recorded for some sizes only; the rest count as distinct.")
    reasons += _not_monotone(points)
    odd = contradicted_coverage(points, posterior.chain.num_steps)
    if odd is not None:
        reasons.append(
            f"A vocabulary that covers {percent(odd)} of the tokens allows less than was measured here, so it was "
            "counted on other text and limits nothing in this curve."
        )
    to_the_end = _train_to_the_end(alike)
    if fit.assumed_num_steps is not None:
        reasons.append(f"Draft steps were not recorded; {fit.assumed_num_steps} are assumed.")
    if needed is not None and _wide(needed):
        reasons.append("The samples needed cannot be planned from these data: their interval is wider than a decade.")
    cure = None
    if reasons:
        low = max(1, sizes[0] // 10)
        cure = to_the_end or (
            f"Train one size far from the measured ones: {size(low)} or {size(10 * sizes[-1])} samples, same "
            "mix and passes, "
            "served on the same prompts. Range narrows the forecast more than count."
        )
    # Where the bar lies is worth saying and takes nothing from the curve.
    remarks = [
        *alike.remarks(),
        *_budget_remarks(alike),
        *repeat_remarks(points, still_rising=to_the_end is not None),
        *_bar_remarks(points, fit, posterior.chain),
    ]
    if fit.unserved:
        remarks.append(_unserved_words(fit.unserved))
    return ("qualified" if reasons else "forecast"), (" ".join([*reasons, *remarks]) or None), cure


def _budget_remarks(alike: AlikeSizes) -> list[str]:
    rising = alike.raised_by_training()
    if not rising:
        return []
    sizes = listed([size(samples) for samples in rising])
    return [
        f"The curve holds for this training budget alone: at {sizes} samples more passes still raise accept length."
    ]


def _bar_remarks(points: Sequence[SizePoint], fit: ScalingFit, chain: Chain) -> list[str]:
    bar = fit.break_even
    if bar is None:
        return ["There is no break-even to reach: no baseline at this load."]
    found = []
    if fit.prefill_fraction > _PREFILL_SAID:
        found.append(
            f"The bar here is end to end, {bar.value:.2f}: prefill takes {percent(fit.prefill_fraction)} of a baseline "
            "request and no accept length shortens it."
        )
    if bar.value > chain.max_length:
        found.append(f"Break-even {bar.value:.2f} is unreachable: a perfect drafter yields {chain.max_length:.2f}.")
    elif max(point.length for point in points) >= bar.high:
        found.append(f"Break-even {bar.value:.2f} is already reached.")
    return found


def _not_monotone(points: Sequence[SizePoint]) -> list[str]:
    for before, after in pairwise(points):
        gap = before.length - after.length
        if after.samples > before.samples and gap > 2 * math.hypot(before.se, after.se):
            return [
                f"Accept length falls from {before.length:.2f} at {size(before.label)} to {after.length:.2f} at "
                f"{size(after.label)} samples: look for over-training, another seed or another mix first."
            ]
    return []


def _wide(needed: SamplesNeeded) -> bool:
    return needed.low is not None and (needed.high is None or needed.high > 10 * needed.low)


def _forecast(
    points: Sequence[SizePoint], posterior: Posterior, bar: BreakEven | None, seed: int
) -> tuple[ForecastPoint, ...]:
    smallest, largest = points[0].label, points[-1].label
    goal = None if bar is None else break_even_draws(bar, len(posterior.discrepancy), seed)
    decades = range(math.floor(math.log10(smallest)), int(math.log10(MAX_SAMPLES)) + 1)
    sizes = {step * 10**decade for decade in decades for step in _LADDER} | {point.label for point in points}
    found = []
    for samples in sorted(value for value in sizes if smallest <= value <= MAX_SAMPLES):
        draws = posterior.lengths(samples)
        low, first, median, third, high = (float(part) for part in np.quantile(draws, (0.1, 0.25, 0.5, 0.75, 0.9)))
        found.append(
            ForecastPoint(
                samples=samples,
                low=low,
                median=median,
                high=high,
                quartile_low=first,
                quartile_high=third,
                p_break_even=None if goal is None else float((draws >= goal).mean()),
                speculative=samples > 10 * largest,
            )
        )
    return tuple(found)
