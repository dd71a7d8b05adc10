"""Train longer on the same data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import CostPart, OptionAssessment, ScalingFit, ScalingPoint
from tracker.analysis.uncertainty import FloatArray
from tracker.analysis.words import listed, percent, size
from tracker.options._pricing import phase_cost, price, training_gpu_hours, training_split


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """One size trained for more passes than the curve's, both served."""

    samples: int
    """Training samples."""
    usual: float
    """Passes of the curve."""
    longer: float
    """Passes of the other."""
    log_gain: float
    """Relative change of accept length."""
    words: str
    """The same in words."""


class TrainLonger:
    """More passes over the same samples."""

    key = "train_longer"

    def assess(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Yield the retraining: from drafters trained longer here where there are any, else from published curves."""
        best, fit = evidence.best, evidence.analysis.scaling
        point = max(fit.points, key=lambda item: item.samples, default=None)
        if best is None or point is None:
            return
        pairs = _pairs(fit)
        option = Valued(key=self.key, title="Train longer on the same data", configuration=best.configuration.label)
        yield _measured(evidence, option, point, pairs) if pairs else _published(evidence, option, point)


def _measured(evidence: Evidence, option: Valued, point: ScalingPoint, pairs: Sequence[_Pair]) -> Valued:
    gains, how = _gain(evidence, point.samples, pairs)
    passes = max(pair.longer / pair.usual for pair in pairs)
    hours, split = _cost(evidence, point.samples, passes)
    usual = "" if point.epochs is None else f", to {point.epochs * passes:.0f} instead of {point.epochs:.0f}"
    filled = Valued(
        key=option.key,
        title=option.title,
        configuration=option.configuration,
        cost_gpu_hours=hours,
        cost_split=split,
        evidence=(
            f"Measured here: {listed([pair.words for pair in pairs])}. {how} Priced at {passes:g} times the passes "
            f"over {size(point.samples)} samples{usual}."
        ),
        would_change=f"{size(point.samples)} samples trained for {passes:g} times the passes and served.",
    )
    speedup = None if evidence.speedup is None else evidence.speedup * _over_best(evidence, point) * np.exp(gains)
    return price(evidence, filled, speedup=speedup, missing="no measured speed to improve on")


def _over_best(evidence: Evidence, point: ScalingPoint) -> float:
    """Return the accept length of the curve's largest size over the best drafter's, where both served alike."""
    best, fit = evidence.best, evidence.analysis.scaling
    if best is None or best.run_id == point.run_id or best.configuration != fit.configuration:
        return 1.0
    mine, theirs = point.accept_length.value, best.accept_length.value
    return 1.0 if mine is None or theirs is None else mine / theirs


def _published(evidence: Evidence, option: Valued, point: ScalingPoint) -> Valued:
    priors = evidence.priors
    short = point.epochs is not None and point.epochs < priors.longer_least_epochs
    change = np.random.default_rng(evidence.seed + 37).uniform(
        priors.longer_low_fraction, priors.longer_high_fraction, priors.draws
    )
    filled = Valued(
        key=option.key,
        title=option.title,
        configuration=option.configuration,
        cost_gpu_hours=training_gpu_hours(evidence, point.samples),
        cost_split=training_split(evidence, point.samples),
        evidence=(
            f"Published: accept length changes by {percent(priors.longer_low_fraction)} to "
            f"{percent(priors.longer_high_fraction)} with more passes. Priced like training these samples anew, "
            "which is an upper bound."
        ),
        would_change="Served accept length of two checkpoints of one training.",
    )
    return price(
        evidence,
        filled,
        speedup=None if evidence.speedup is None or short else evidence.speedup * (1 + change),
        missing=f"this drafter saw its data {point.epochs:.1f} times; published curves start there"
        if short
        else "no measured speed to improve on",
    )


def _pairs(fit: ScalingFit) -> tuple[_Pair, ...]:
    """Return the drafters trained for more passes than the fitted one of their size, by size."""
    usual = {point.samples: point for point in fit.points}
    found = []
    for point in fit.beside:
        other = usual.get(point.samples)
        if other is None or other.epochs is None or point.epochs is None or point.epochs < 1.2 * other.epochs:
            continue
        before, after = other.accept_length.value, point.accept_length.value
        if before is None or after is None:
            continue
        passes = f"{before:.2f} at {other.epochs:.0f} passes, {after:.2f} at {point.epochs:.0f}"
        found.append(
            _Pair(
                samples=point.samples,
                usual=other.epochs,
                longer=point.epochs,
                log_gain=math.log(after / before),
                words=f"{size(point.samples)} samples {passes}",
            )
        )
    return tuple(sorted(found, key=lambda pair: pair.samples))


def _gain(evidence: Evidence, samples: int, pairs: Sequence[_Pair]) -> tuple[FloatArray, str]:
    """Return draws of the relative gain at a size, with where it comes from.

    A gain shrinks as data grow; through two sizes at which it shrank it is carried on as a power of the size, else it
    lies anywhere between none and the nearest one. Two trained drafters scatter by tau each.
    """
    rng = np.random.default_rng(evidence.seed + 37)
    best = evidence.best
    length = None if best is None else best.accept_length.value
    scatter = (
        math.sqrt(2)
        * evidence.priors.tau
        / (2.0 if length is None else length)
        * rng.standard_normal(evidence.priors.draws)
    )
    own = next((pair for pair in pairs if pair.samples == samples), None)
    if own is not None:
        return own.log_gain + scatter, "The gain is the one measured at this size."
    below = [pair for pair in pairs if pair.samples < samples]
    if len(below) >= 2 and below[-2].log_gain > below[-1].log_gain > 0:
        first, last = below[-2:]
        power = math.log(last.log_gain / first.log_gain) / math.log(last.samples / first.samples)
        gain = last.log_gain * (samples / last.samples) ** power
        return gain + scatter, f"The gain shrinks with data; carried on to {size(samples)} it is {percent(gain)}."
    nearest = min(pairs, key=lambda pair: abs(math.log(pair.samples / samples)))
    most = max(nearest.log_gain, 0.0)
    drawn = rng.uniform(0.0, 1.0, evidence.priors.draws) * most
    return (
        drawn + scatter,
        f"At {size(samples)} samples anything from none to {percent(most)} is taken as equally likely.",
    )


def _cost(evidence: Evidence, samples: int, passes: float) -> tuple[float, tuple[CostPart, ...]]:
    """Return the price of training alone where it is known by phase: the data are there already."""
    training = evidence.sample_price.training
    if training is None:
        return training_gpu_hours(evidence, samples), training_split(evidence, samples)
    hours = training * samples * passes
    return hours, (phase_cost(evidence, "training", hours, "recorded with a training of this campaign"),)


OPTION = TrainLonger()
