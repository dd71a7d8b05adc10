"""Chain lengths nobody measured: between measured ones, one step shorter, one and two steps longer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tracker.analysis.acceptance import length_from_conditional
from tracker.analysis.chains import ChainPrediction, MeasuredChain, predict_chain, published_share
from tracker.analysis.configurations import is_chain
from tracker.analysis.priors import Priors
from tracker.analysis.results import CampaignAnalysis, Configuration, ConfigurationCost, Point
from tracker.analysis.uncertainty import FloatArray
from tracker.analysis.words import listed, percent

_FURTHER_STEPS = (1, 2)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Untested:
    """One configuration that was not measured. Draws share their index with the evidence's."""

    label: str
    """What differs, in words."""
    key: str
    """Stable part of an option key."""
    length: FloatArray
    """Accept length."""
    break_even: FloatArray
    """Break-even accept length."""
    flags: tuple[str, ...]
    """Flags to set."""
    basis: str
    """What the prediction rests on."""
    is_judgement: bool
    """Whether a range in it was judged rather than computed."""

    @property
    def speedup(self) -> FloatArray:
        """Speed over the baseline."""
        return self.length / self.break_even


def shape_of(found: Configuration) -> tuple[int | None, int | None, int | None]:
    """Return steps, branches and draft tokens of a configuration."""
    return (found.num_steps, found.eagle_topk, found.num_draft_tokens)


def other_chains(
    here: Sequence[ConfigurationCost],
    analysis: CampaignAnalysis,
    best: Point,
    length: FloatArray,
    break_even: FloatArray,
    priors: Priors,
    rng: np.random.Generator,
) -> Iterable[Untested]:
    """Predict other chains relative to the best one, so that its noise carries over."""
    steps = best.configuration.num_steps
    if steps is None:
        return
    measured = _measured_chains(here, best)
    if steps not in measured:
        return
    growing, contradiction = _growing(measured, steps)
    rates = [item.conditional.value for item in analysis.acceptance.per_position if item.conditional.value is not None]
    known = rates if len(rates) == steps else []
    rho = np.clip(priors.rho_mean + priors.rho_sd * rng.standard_normal(len(length)), 0.0, 1.0)
    noise = next((item.sd for item in analysis.noise if item.concurrency == best.concurrency), None)
    tested = {shape_of(cost.configuration) for cost in here} | {shape_of(best.configuration)}
    for wanted in _wanted(measured, steps, bool(known)):
        if (wanted, 1, wanted + 1) in tested:
            continue
        predicted = predict_chain(growing, wanted, priors, noise_log_sd=noise)
        carried = predicted.length / measured[steps].length * length
        if known and wanted > steps:
            carried = _continued(length, known, rho, wanted - steps)
        elif known:
            carried = length * length_from_conditional(known[:wanted]) / length_from_conditional(known)
        distance = min(abs(wanted - other) for other in growing)
        error = np.exp(_break_even_sd(growing, distance, predicted, priors) * rng.standard_normal(len(length)))
        yield Untested(
            label=f"{wanted} steps, top-k 1, {wanted + 1} draft tokens",
            key=f"{wanted}_1_{wanted + 1}",
            length=carried * np.exp(predicted.length_log_sd * rng.standard_normal(len(length))),
            break_even=predicted.break_even / measured[steps].break_even * break_even * error,
            flags=(
                f"--speculative-num-steps {wanted}",
                "--speculative-eagle-topk 1",
                f"--speculative-num-draft-tokens {wanted + 1}",
            ),
            basis=_chain_basis(
                growing, known, steps, wanted, contradiction, priors, predicted.growth_measured_fraction
            ),
            is_judgement=False,
        )


def _wanted(measured: Mapping[int, MeasuredChain], steps: int, positions: bool) -> list[int]:
    """Return chain lengths worth a prediction: all between measured ones, the next longer, one shorter where exact."""
    between = set(range(min(measured) + 1, max(measured)))
    shorter = {steps - 1} if positions and steps > 1 else set()
    return sorted((between | shorter | {steps + further for further in _FURTHER_STEPS}) - measured.keys())


def _measured_chains(here: Sequence[ConfigurationCost], best: Point) -> dict[int, MeasuredChain]:
    """Return chains measured with the flags of the best one, by draft steps."""
    mine = best.configuration
    found = {}
    for cost in here:
        theirs = cost.configuration
        alike = (theirs.algorithm, theirs.cuda_graph, theirs.other_flags) == (
            mine.algorithm,
            mine.cuda_graph,
            mine.other_flags,
        )
        value = cost.best_accept_length.value
        if alike and is_chain(theirs) and theirs.num_steps is not None and value is not None:
            found[theirs.num_steps] = MeasuredChain(length=value, break_even=cost.break_even.value)
    return found


def _growing(measured: Mapping[int, MeasuredChain], steps: int) -> tuple[dict[int, MeasuredChain], bool]:
    """Return chains to predict from: the best one alone where a shorter chain costs more, and whether one does."""
    top = measured[steps]
    contradiction = any(other < steps and chain.break_even > top.break_even for other, chain in measured.items())
    if contradiction or len(measured) < 2:
        return {steps: top}, contradiction
    return dict(measured), False


def _break_even_sd(
    growing: Mapping[int, MeasuredChain], distance: int, predicted: ChainPrediction, priors: Priors
) -> float:
    """Return the model error, with the spread of published growth where the growth was not measured here."""
    if len(growing) > 1:
        return predicted.break_even_log_sd
    return math.hypot(predicted.break_even_log_sd, priors.extra_step_sd * distance)


def _chain_basis(
    growing: Mapping[int, MeasuredChain],
    rates: Sequence[float],
    steps: int,
    wanted: int,
    contradiction: bool,
    priors: Priors,
    share: float,
) -> str:
    if rates and wanted < steps:
        first = f"acceptance of the first {wanted} of {steps} measured positions"
    elif rates:
        first = f"acceptance continued from {steps} measured positions"
    elif len(growing) > 1:
        first = "acceptance decaying as between the measured chains"
    else:
        first = "acceptance decaying as usual"
    if len(growing) > 1:
        chains = listed([str(other) for other in sorted(growing)])
        line = f"{first}, break-even on the line through the measured chains of {chains} steps"
        return f"{line}{published_share(share)}"
    growth = f"{first}, break-even plus {percent(priors.extra_step_fraction)} a step as in published chains"
    return growth + ("; here a shorter chain measured slower, so noise hides the growth" if contradiction else "")


def _continued(length: FloatArray, rates: Sequence[float], rho: FloatArray, further: int) -> FloatArray:
    """Return accept length with `further` steps after measured positions."""
    survival, rate = np.full_like(length, float(np.prod(rates))), np.full_like(length, rates[-1])
    longer = length
    for _ in range(further):
        rate = rate * rho
        survival = survival * rate
        longer = longer + survival
    return longer
