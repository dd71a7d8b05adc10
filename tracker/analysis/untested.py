"""Configurations nobody measured: predicted accept length and break-even, and whether a test could pay."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tracker.analysis.chains import ChainPrediction, MeasuredChain, predict_chain
from tracker.analysis.configurations import is_chain
from tracker.analysis.priors import Priors, PublishedBreakEven
from tracker.analysis.results import CampaignAnalysis, Configuration, ConfigurationCost, Point, StepTimeFit
from tracker.analysis.uncertainty import FloatArray
from tracker.analysis.words import percent

# Numbers of draft tokens that people set; only those strictly between two tested ones are predicted.
_DRAFT_TOKENS = (8, 10, 12, 16, 24, 32, 48, 64)
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


def predict_untested(
    analysis: CampaignAnalysis,
    *,
    best: Point,
    length: FloatArray,
    break_even: FloatArray,
    priors: Priors,
    seed: int,
) -> tuple[Untested, ...]:
    """Return predictions around the best configuration: sizes between tested ones, other chain lengths, a plain chain.

    Args:
        analysis: What the data say.
        best: Best usable candidate.
        length: Its accept length, draws.
        break_even: Its break-even, draws.
        priors: Assumptions.
        seed: Seed of the model error.
    """
    rng = np.random.default_rng(seed + 23)
    here = [cost for cost in analysis.costs if cost.concurrency == best.concurrency]
    tested = {_shape(cost.configuration) for cost in here}
    found = list(_between(here, best, analysis.step_time, length, priors, rng))
    if is_chain(best.configuration):
        found += _other_chains(here, analysis, best, length, break_even, priors, rng)
    elif (3, 1, 4) not in tested:
        found += _plain_chain(analysis, best, length, priors, rng)
    return tuple(found)


def _shape(found: Configuration) -> tuple[int | None, int | None, int | None]:
    return (found.num_steps, found.eagle_topk, found.num_draft_tokens)


def _between(
    costs: Sequence[ConfigurationCost],
    best: Point,
    fit: StepTimeFit,
    length: FloatArray,
    priors: Priors,
    rng: np.random.Generator,
) -> Iterable[Untested]:
    """Predict sizes between tested ones of equal depth: step time from the fit, length between on a log scale."""
    mine = best.configuration
    per_token = fit.per_verified_token_ms.value
    if per_token is None or not fit.baseline_ms or mine.num_draft_tokens is None:
        return
    alike = [
        cost
        for cost in costs
        if (cost.configuration.num_steps, cost.configuration.eagle_topk, cost.configuration.cuda_graph)
        == (mine.num_steps, mine.eagle_topk, mine.cuda_graph)
        and cost.configuration.algorithm == mine.algorithm
        and cost.configuration.num_draft_tokens is not None
        and cost.best_accept_length.value is not None
    ]
    for cost in alike:
        tokens, other = cost.configuration.num_draft_tokens, cost.best_accept_length.value
        if tokens is None or other is None or tokens <= mine.num_draft_tokens or best.accept_length.value is None:
            continue
        for wanted in _DRAFT_TOKENS:
            if not mine.num_draft_tokens < wanted < tokens:
                continue
            share = math.log(wanted / mine.num_draft_tokens) / math.log(tokens / mine.num_draft_tokens)
            predicted = length * (1 + (other / best.accept_length.value - 1) * share)
            step = _example_step(fit) + per_token * (wanted - mine.num_draft_tokens)
            error = np.exp(priors.model_fraction * rng.standard_normal(len(length)))
            yield Untested(
                label=f"{wanted} draft tokens",
                key=f"{wanted}_draft_tokens",
                length=predicted,
                break_even=step / fit.baseline_ms * error,
                flags=(f"--speculative-num-draft-tokens {wanted}",),
                basis=f"between {mine.num_draft_tokens} and {tokens} draft tokens, step time from the split",
                is_judgement=False,
            )


def _example_step(fit: StepTimeFit) -> float:
    if fit.example_step_ms is None:
        raise ValueError("a fitted step time has an example")
    return fit.example_step_ms


def _plain_chain(
    analysis: CampaignAnalysis, best: Point, length: FloatArray, priors: Priors, rng: np.random.Generator
) -> Iterable[Untested]:
    """Predict 3-1-4 from a tree: break-even between what the split says and what others published for this target."""
    fit = analysis.step_time
    fixed, token, step = fit.fixed_ms.value, fit.per_verified_token_ms.value, fit.per_draft_step_ms.value
    if fixed is None or token is None or step is None or not fit.baseline_ms:
        return
    own = 1 + (fixed + 3 * token + 3 * step) / fit.baseline_ms
    published = _published(analysis, best, priors)
    low = own * (1 - priors.model_fraction) if published is None else min(published.value, own)
    bar = rng.uniform(low, own * (1 + priors.model_fraction) if published is None else own, len(length))
    shorter = rng.uniform(priors.chain_of_tree_low_fraction, 1.0, len(length))
    basis = f"break-even {own:.2f} by the split of this campaign's step time"
    if published is not None:
        basis += f", {published.value:.2f} published ({published.source}); all values between equally likely"
    yield Untested(
        label="3 steps, top-k 1, 4 draft tokens",
        key="3_1_4",
        length=length * shorter,
        break_even=bar,
        flags=(
            "--speculative-num-steps 3",
            "--speculative-eagle-topk 1",
            "--speculative-num-draft-tokens 4",
        ),
        basis=basis,
        is_judgement=True,
    )


def _published(analysis: CampaignAnalysis, best: Point, priors: Priors) -> PublishedBreakEven | None:
    name = " ".join(part for part in (analysis.target, analysis.campaign.title, analysis.campaign.name) if part).lower()
    for entry in priors.published_break_even:
        if entry.target.lower() in name and entry.concurrency == best.concurrency and entry.eagle_topk == 1:
            return entry
    return None


def _other_chains(
    here: Sequence[ConfigurationCost],
    analysis: CampaignAnalysis,
    best: Point,
    length: FloatArray,
    break_even: FloatArray,
    priors: Priors,
    rng: np.random.Generator,
) -> Iterable[Untested]:
    """Predict longer chains relative to the best one, so that its noise carries over."""
    steps = best.configuration.num_steps
    if steps is None:
        return
    measured = _measured_chains(here, best)
    if steps not in measured:
        return
    growing, contradiction = _growing(measured, steps)
    rates = [item.conditional.value for item in analysis.acceptance.per_position if item.conditional.value is not None]
    rho = np.clip(priors.rho_mean + priors.rho_sd * rng.standard_normal(len(length)), 0.0, 1.0)
    shape = _shape(best.configuration)
    tested = {_shape(cost.configuration) for cost in here} | {shape}
    for further in _FURTHER_STEPS:
        wanted = steps + further
        if (wanted, 1, wanted + 1) in tested:
            continue
        predicted = predict_chain(growing, wanted, priors)
        carried = predicted.length / measured[steps].length * length
        if len(rates) == steps:
            carried = _continued(length, rates, rho, further)
        error = np.exp(_break_even_sd(growing, further, predicted, priors) * rng.standard_normal(len(length)))
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
            basis=_chain_basis(growing, rates, steps, contradiction, priors),
            is_judgement=False,
        )


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
    """Return chains to extrapolate from: the best one alone where a shorter chain costs more, and whether one does."""
    top = measured[steps]
    contradiction = any(other < steps and chain.break_even > top.break_even for other, chain in measured.items())
    if contradiction or len(measured) < 2:
        return {steps: top}, contradiction
    return dict(measured), False


def _break_even_sd(
    growing: Mapping[int, MeasuredChain], further: int, predicted: ChainPrediction, priors: Priors
) -> float:
    """Return the model error, with the spread of published growth where the growth was not measured here."""
    if len(growing) > 1:
        return predicted.break_even_log_sd
    return math.hypot(predicted.break_even_log_sd, priors.extra_step_sd * further)


def _chain_basis(
    growing: Mapping[int, MeasuredChain], rates: Sequence[float], steps: int, contradiction: bool, priors: Priors
) -> str:
    first = (
        f"acceptance continued from {steps} measured positions"
        if len(rates) == steps
        else "acceptance decaying as usual"
    )
    if len(growing) > 1:
        return f"{first}, break-even on the line through the measured chains"
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
