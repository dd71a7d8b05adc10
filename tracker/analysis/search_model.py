"""Speed of a configuration nobody measured, from everything a campaign has measured so far: draws for a search.

Step time comes from the configurations that share its other flags (exact, on the line through measured chains, from the
split, else from the nearest shape with published growth); accept length from its drafter at another shape, else from
the curve over training sizes. What rests on less carries a wider spread, so that a search still tries it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tracker.analysis.acceptance import decaying_fit, decaying_length
from tracker.analysis.chains import MeasuredChain, predict_chain
from tracker.analysis.configurations import same_flags
from tracker.analysis.decomposition import StepRow, decompose
from tracker.analysis.priors import Priors
from tracker.analysis.results import Configuration
from tracker.analysis.uncertainty import FloatArray

_BISECTIONS = 40


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Shape:
    """What one verify step drafts and checks."""

    num_steps: int
    """Draft steps."""
    num_draft_tokens: int
    """Tokens verified, the current one included."""
    eagle_topk: int
    """Branches per step."""

    @property
    def is_chain(self) -> bool:
        """Whether one token is drafted a step."""
        return self.eagle_topk == 1

    @property
    def words(self) -> str:
        """Steps, branches and tokens as people write them."""
        return f"{self.num_steps}-{self.eagle_topk}-{self.num_draft_tokens}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredStep:
    """Step time of one configuration over the baseline's."""

    configuration: Configuration
    """Its flags."""
    shape: Shape
    """Its shape."""
    ratio: float
    """Step time over the baseline's: the break-even accept length."""
    log_sd: float
    """Relative standard deviation."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """Standard normal and uniform numbers shared by all configurations, shape (n_draws,): none wins by its luck."""

    step: FloatArray
    """Of the step time."""
    growth: FloatArray
    """Of the growth per step."""
    family: FloatArray
    """Of flags nobody measured."""
    length: FloatArray
    """Of the accept length."""
    decay: FloatArray
    """Of the decay of acceptance."""
    split: FloatArray
    """Uniform: share of the growth that verification takes."""
    breadth: FloatArray
    """Uniform: what a tree adds to a chain."""
    process: FloatArray
    """Of what a freshly started server adds."""


def scores(count: int, seed: int) -> Scores:
    """Return `count` draws of every score."""
    rng = np.random.default_rng(seed)
    normal = [rng.standard_normal(count) for _ in range(5)]
    return Scores(
        step=normal[0],
        growth=normal[1],
        family=normal[2],
        length=normal[3],
        decay=normal[4],
        split=rng.random(count),
        breadth=rng.random(count),
        process=rng.standard_normal(count),
    )


def shape_of(configuration: Configuration, priors: Priors) -> Shape:
    """Return the shape of a speculative configuration; what was not recorded is taken as a chain of assumed depth."""
    steps, tokens, branches = configuration.num_steps, configuration.num_draft_tokens, configuration.eagle_topk
    if steps is None:
        steps = tokens - 1 if branches == 1 and tokens is not None else priors.assumed_num_steps
    if tokens is None:
        tokens = steps + 1
    if branches is None:
        branches = 1 if tokens == steps + 1 else 2
    return Shape(num_steps=steps, num_draft_tokens=tokens, eagle_topk=branches)


def step_ratio_draws(
    wanted: Configuration, measured: Sequence[MeasuredStep], priors: Priors, luck: Scores
) -> tuple[FloatArray, str]:
    """Return draws of step time over the baseline's, and what they rest on; `measured` must not be empty."""
    shape = shape_of(wanted, priors)
    family = [item for item in measured if _is_family(item.configuration, wanted)]
    if not family:
        ratio, basis = _within(shape, measured, priors, luck)
        factor = np.exp(priors.other_flags_log_sd * luck.family)
        return ratio * factor, f"{basis}, with flags that nobody measured here"
    return _within(shape, family, priors, luck)


def _is_family(first: Configuration, second: Configuration) -> bool:
    return first.algorithm == second.algorithm and same_flags(first, second)


def _within(shape: Shape, measured: Sequence[MeasuredStep], priors: Priors, luck: Scores) -> tuple[FloatArray, str]:
    by_shape = {item.shape: item for item in measured}
    if shape in by_shape:
        item = by_shape[shape]
        return item.ratio * np.exp(item.log_sd * luck.step), "step time measured with other drafters"
    noise = max(item.log_sd for item in measured)
    chains = {item.shape.num_steps: item for item in measured if item.shape.is_chain}
    if shape.is_chain and len(chains) >= 2:
        lengths = {steps: MeasuredChain(length=1.0, break_even=item.ratio) for steps, item in chains.items()}
        line = predict_chain(lengths, shape.num_steps, priors, noise_log_sd=noise).break_even
        # A line through noise may fall; a longer chain never takes less time than the shortest.
        floor = min(item.ratio for item in chains.values()) if shape.num_steps > min(chains) else 1e-3
        sd = math.hypot(noise, priors.chain_break_even_log_sd * max(1, _gap(shape.num_steps, chains)) / 2)
        return max(line, floor) * np.exp(sd * luck.step), "step time on the line through measured chains"
    rows = [
        StepRow(
            num_steps=item.shape.num_steps,
            num_draft_tokens=item.shape.num_draft_tokens,
            step_ms=item.ratio,
            log_sd=max(item.log_sd, 1e-6),
        )
        for item in measured
    ]
    found = decompose(rows, 1.0)
    if found.fixed_ms is not None and found.per_verified_token_ms is not None and found.per_draft_step_ms is not None:
        ratio = (
            1.0
            + found.fixed_ms
            + found.per_verified_token_ms * (shape.num_draft_tokens - 1)
            + found.per_draft_step_ms * shape.num_steps
        )
        sd = math.hypot(noise, priors.model_fraction)
        return ratio * np.exp(sd * luck.step), "step time from the split of measured configurations"
    return _grown(shape, measured, chains, priors, luck)


def _gap(steps: int, measured: Mapping[int, MeasuredStep]) -> int:
    return min(abs(steps - other) for other in measured)


def _grown(
    shape: Shape,
    measured: Sequence[MeasuredStep],
    chains: Mapping[int, MeasuredStep],
    priors: Priors,
    luck: Scores,
) -> tuple[FloatArray, str]:
    """Return the nearest shape's step time with growth per step, of which verification takes an unknown share."""
    nearest = min(measured, key=lambda item: (_distance(item.shape, shape), item.shape))
    growth = np.maximum(priors.extra_step_fraction + priors.extra_step_sd * luck.growth, 0.0)
    basis = f"step time of {nearest.shape.words} with published growth per step"
    if len(chains) >= 2:
        low, high = min(chains), max(chains)
        slope = (chains[high].ratio - chains[low].ratio) / (high - low) / nearest.ratio
        growth = np.full_like(growth, max(slope, 0.0))
        basis = f"step time of {nearest.shape.words} with the growth of measured chains"
    further = (shape.num_steps - nearest.shape.num_steps) * (1 - luck.split)
    further = further + (shape.num_draft_tokens - nearest.shape.num_draft_tokens) * luck.split
    sd = math.hypot(nearest.log_sd, priors.model_fraction)
    grown = nearest.ratio * np.maximum(1 + growth * further, 0.1)
    return grown * np.exp(sd * luck.step), basis


def _distance(first: Shape, second: Shape) -> float:
    tokens = abs(math.log(first.num_draft_tokens / second.num_draft_tokens))
    return abs(first.num_steps - second.num_steps) + tokens + (first.is_chain is not second.is_chain)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLengths:
    """Accept lengths of one drafter by shape."""

    by_shape: Mapping[Shape, float] = field(default_factory=dict)
    """Accept length."""
    log_sd: Mapping[Shape, float] = field(default_factory=dict)
    """Relative standard deviation."""

    def draws(self, shape: Shape, priors: Priors, luck: Scores) -> FloatArray:
        """Return draws of accept length at a shape; there must be at least one measured one."""
        if shape in self.by_shape:
            return self.by_shape[shape] * np.exp(self.log_sd[shape] * luck.length)
        between = self._between(shape)
        if between is not None:
            sd = math.hypot(max(self.log_sd.values()), priors.chain_length_log_sd)
            return np.minimum(between * np.exp(sd * luck.length), shape.num_steps + 1.0)
        nearest = min(self.by_shape, key=lambda other: (_distance(other, shape), other))
        start = self.by_shape[nearest] * np.exp(self.log_sd[nearest] * luck.length)
        return carried(start, nearest, shape, priors, luck, rho=self._rho())

    def _between(self, shape: Shape) -> float | None:
        """Return the length between two measured ones of equal depth, on a logarithmic scale of draft tokens."""
        alike = {
            other.num_draft_tokens: length
            for other, length in self.by_shape.items()
            if other.num_steps == shape.num_steps and (other.is_chain is shape.is_chain or not shape.is_chain)
        }
        below = max((tokens for tokens in alike if tokens < shape.num_draft_tokens), default=None)
        above = min((tokens for tokens in alike if tokens > shape.num_draft_tokens), default=None)
        if below is None or above is None:
            return None
        share = math.log(shape.num_draft_tokens / below) / math.log(above / below)
        return alike[below] + (alike[above] - alike[below]) * share

    def _rho(self) -> float | None:
        chains = {shape.num_steps: length for shape, length in self.by_shape.items() if shape.is_chain}
        if len(chains) < 2:
            return None
        low, high = min(chains), max(chains)
        try:
            return decaying_fit(chains[low], low, chains[high], high)[1]
        except ValueError:
            return None


def carried(
    lengths: FloatArray, start: Shape, end: Shape, priors: Priors, luck: Scores, *, rho: float | None = None
) -> FloatArray:
    """Return draws of accept length at one shape, carried over to another: depth by decaying acceptance, then breadth.

    Args:
        lengths: Draws at `start`.
        start: Shape they hold for.
        end: Shape wanted.
        priors: Decay where `rho` is None, and what a tree yields over a chain.
        luck: Scores.
        rho: Measured decay.
    """
    result = lengths
    if start.num_steps != end.num_steps:
        decay = (
            np.clip(priors.rho_mean + priors.rho_sd * luck.decay, 0.0, 1.0)
            if rho is None
            else np.full_like(lengths, rho)
        )
        first = _first_acceptance(np.minimum(lengths, start.num_steps + 1.0), decay, start.num_steps)
        notches = abs(end.num_steps - start.num_steps) / 2
        error = np.exp(priors.chain_length_log_sd * notches * luck.length)
        result = decaying_length(first, decay, end.num_steps) * error
    wider = (end.num_draft_tokens - end.num_steps) / (start.num_draft_tokens - start.num_steps)
    share = priors.chain_of_tree_low_fraction + (1 - priors.chain_of_tree_low_fraction) * luck.breadth
    if wider > 1:
        result = result / share
    elif wider < 1 or (start.is_chain and not end.is_chain):
        result = result * share
    return np.asarray(np.clip(result, 1.0, end.num_steps + 1.0), dtype=np.float64)


def _first_acceptance(lengths: FloatArray, rho: FloatArray, num_steps: int) -> FloatArray:
    low, high = np.zeros_like(lengths), np.ones_like(lengths)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        short = decaying_length(middle, rho, num_steps) < lengths
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.asarray((low + high) / 2, dtype=np.float64)
