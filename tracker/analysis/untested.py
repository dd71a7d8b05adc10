"""Configurations nobody measured: predicted accept length and break-even, and whether a test could pay."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from tracker.analysis.configurations import is_chain
from tracker.analysis.priors import Priors, PublishedBreakEven
from tracker.analysis.results import CampaignAnalysis, ConfigurationCost, Point, StepTimeFit
from tracker.analysis.uncertainty import FloatArray
from tracker.analysis.untested_chains import Untested, other_chains, shape_of

# Numbers of draft tokens that people set; only those strictly between two tested ones are predicted.
_DRAFT_TOKENS = (8, 10, 12, 16, 24, 32, 48, 64)


def predict_untested(
    analysis: CampaignAnalysis,
    *,
    best: Point,
    length: FloatArray,
    break_even: FloatArray,
    server: FloatArray,
    priors: Priors,
    seed: int,
) -> tuple[Untested, ...]:
    """Return predictions around the best configuration: sizes between tested ones, other chain lengths, a plain chain.

    Args:
        analysis: What the data say.
        best: Best usable candidate.
        length: Its accept length, draws.
        break_even: Its break-even, draws: rounding, noise between its runs and of the baseline.
        server: Step time of a freshly started server over its configuration's mean, draws.
        priors: Assumptions.
        seed: Seed of the model error.
    """
    rng = np.random.default_rng(seed + 23)
    here = [cost for cost in analysis.costs if cost.concurrency == best.concurrency]
    tested = {shape_of(cost.configuration) for cost in here}
    # What is not known about the measured step and the baseline is not known about a step predicted from them either.
    noise = break_even / float(np.median(break_even)) * server
    found = list(_between(here, best, analysis.step_time, length, noise, priors, rng))
    if is_chain(best.configuration):
        found += other_chains(here, analysis, best, length, break_even * server, priors, rng)
    elif (3, 1, 4) not in tested:
        found += _plain_chain(analysis, best, length, noise, priors, rng)
    return tuple(found)


def _between(
    costs: Sequence[ConfigurationCost],
    best: Point,
    fit: StepTimeFit,
    length: FloatArray,
    noise: FloatArray,
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
                break_even=step / fit.baseline_ms * error * noise,
                flags=(f"--speculative-num-draft-tokens {wanted}",),
                basis=f"between {mine.num_draft_tokens} and {tokens} draft tokens, step time from the split",
                is_judgement=False,
            )


def _example_step(fit: StepTimeFit) -> float:
    if fit.example_step_ms is None:
        raise ValueError("a fitted step time has an example")
    return fit.example_step_ms


def _plain_chain(
    analysis: CampaignAnalysis,
    best: Point,
    length: FloatArray,
    noise: FloatArray,
    priors: Priors,
    rng: np.random.Generator,
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
        break_even=bar * noise,
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
