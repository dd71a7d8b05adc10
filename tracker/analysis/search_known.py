"""What a search knows: everything measured at the decision load, read once for all predictions."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tracker.analysis._forms import Chain
from tracker.analysis.baselines import Reference
from tracker.analysis.costs import configuration_costs, length_estimate
from tracker.analysis.observations import Observation
from tracker.analysis.posterior import Posterior, SizeMeasurement, sample
from tracker.analysis.priors import Priors
from tracker.analysis.results import Configuration
from tracker.analysis.scaling_points import distinct_samples, training_of
from tracker.analysis.search_model import (
    MeasuredLengths,
    MeasuredStep,
    Scores,
    Shape,
    carried,
    shape_of,
    step_ratio_draws,
)
from tracker.analysis.selection import Selection
from tracker.analysis.uncertainty import Z80, FloatArray
from tracker.analysis.words import size


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    """What has been measured at the decision load."""

    load: int | None
    """Decision load."""
    reference: Reference
    """Baseline and noise there."""
    best_tok_s: float
    """Output tok/s of the fastest server measured."""
    best_name: str
    """Its name."""
    steps: tuple[MeasuredStep, ...]
    """Step time of every configuration, over the baseline's."""
    lengths: Mapping[tuple[str | None, str | None], MeasuredLengths]
    """Accept lengths by algorithm and drafter."""
    curve: Posterior
    """Accept length against training size; the prior where none was served."""
    curve_shape: Shape
    """Shape that the curve holds for."""
    has_curve: bool
    """Whether any size was served."""
    calibration: float
    """Measured tok/s over what length, step time and baseline give: 1 but for queues and prompts."""

    @property
    def base_tok_s(self) -> float:
        """Output tok/s of the baseline."""
        return _speed(self.reference.baseline)

    def predicted(
        self,
        configuration: Configuration,
        *,
        drafter: str | None,
        samples: int | None,
        priors: Priors,
        luck: Scores,
    ) -> tuple[FloatArray, str]:
        """Return draws of output tok/s of a speculative server, with what they rest on; some step must be measured.

        Args:
            configuration: Its flags.
            drafter: Name of its drafter.
            samples: Training size of its drafter, where known.
            priors: Assumptions.
            luck: Scores shared by all servers.
        """
        ratio, basis = step_ratio_draws(configuration, self.steps, priors, luck)
        shape = shape_of(configuration, priors)
        measured = self.lengths.get((configuration.algorithm, drafter))
        if measured is not None:
            here = shape in measured.by_shape
            words = "accept length measured" if here else "accept length from its drafter's other shapes"
            length = measured.draws(shape, priors, luck)
        else:
            length, words = self._from_curve(shape, samples, priors, luck)
        return self.base_tok_s * self.calibration * length / ratio, f"{basis}, {words}"

    def _from_curve(self, shape: Shape, samples: int | None, priors: Priors, luck: Scores) -> tuple[FloatArray, str]:
        order = np.argsort(np.argsort(luck.length))
        drawn = np.sort(self.curve.lengths(samples or priors.reference_samples))
        words = "accept length from the prior, nothing of its drafter is known"
        if samples is not None and self.has_curve:
            words = f"accept length from the curve over training sizes at {size(samples)} samples"
        around = drawn[order] + priors.tau * luck.breadth
        return carried(around, self.curve_shape, shape, priors, luck), words


def known_at(
    observations: Sequence[Observation],
    selection: Selection,
    refs: Mapping[int | None, Reference],
    load: int | None,
    priors: Priors,
    seed: int,
) -> Known:
    """Return what was measured at `load`, which must have a baseline."""
    reference = refs[load]
    base = reference.baseline
    costs = [cost for cost in configuration_costs(observations, refs, priors) if cost.concurrency == load]
    usable = [item for item in observations if item.contends and item.concurrency == load]
    best = max(usable, key=lambda item: (_speed(item), item.record.record_id))
    steps = tuple(
        MeasuredStep(
            configuration=cost.configuration,
            shape=shape_of(cost.configuration, priors),
            ratio=cost.break_even.value,
            log_sd=reference.noise.sd / math.sqrt(max(1, len(cost.run_ids) - 1)),
        )
        for cost in costs
    )
    served = [item for item in usable if item.speculative and item.length is not None]
    bars = {cost.configuration.label: cost.break_even.value for cost in costs}
    factors = [
        math.log(_speed(item) / (_speed(base) * item.length.value / bars[item.configuration.label]))
        for item in served
        if item.length is not None and item.configuration.label in bars
    ]
    curve, curve_shape, has_curve = _curve(served, selection, priors, seed)
    return Known(
        load=load,
        reference=reference,
        best_tok_s=_speed(best),
        best_name=best.record.name,
        steps=steps,
        lengths=_lengths(served, priors),
        curve=curve,
        curve_shape=curve_shape,
        has_curve=has_curve,
        calibration=math.exp(math.fsum(factors) / len(factors)) if factors else 1.0,
    )


def _speed(item: Observation) -> float:
    return 0.0 if item.throughput is None else item.throughput.value


def _lengths(served: Sequence[Observation], priors: Priors) -> dict[tuple[str | None, str | None], MeasuredLengths]:
    groups: dict[tuple[str | None, str | None], dict[Shape, list[Observation]]] = defaultdict(lambda: defaultdict(list))
    for item in served:
        name = None if item.record.drafter is None else item.record.drafter.name
        groups[(item.configuration.algorithm, name)][shape_of(item.configuration, priors)].append(item)
    found: dict[tuple[str | None, str | None], MeasuredLengths] = {}
    for key, by_shape in groups.items():
        pooled = {shape: _pooled(members, priors) for shape, members in by_shape.items()}
        found[key] = MeasuredLengths(
            by_shape={shape: value for shape, (value, _) in pooled.items()},
            log_sd={shape: sd for shape, (_, sd) in pooled.items()},
        )
    return found


def _pooled(members: Sequence[Observation], priors: Priors) -> tuple[float, float]:
    """Return the mean accept length of runs of one drafter and shape, and its relative standard deviation."""
    estimates = [length_estimate(item, priors) for item in members]
    values = [part.value for part in estimates if part.value is not None]
    spreads = [
        math.log(part.high / part.low) / 2 / Z80 for part in estimates if part.high is not None and part.low is not None
    ]
    return math.fsum(values) / len(values), max(spreads, default=0.0)


def _curve(
    served: Sequence[Observation], selection: Selection, priors: Priors, seed: int
) -> tuple[Posterior, Shape, bool]:
    """Return the curve over training sizes of the shape that served most of them; the prior where none did."""
    sizes: dict[Shape, dict[int, list[Observation]]] = defaultdict(lambda: defaultdict(list))
    for item in served:
        training = training_of(item.record, selection.trainings)
        samples = None if training is None else distinct_samples(training)
        if samples:
            sizes[shape_of(item.configuration, priors)][samples].append(item)
    shape = max(sizes, key=lambda found: (len(sizes[found]), found), default=None)
    measured = []
    for samples, members in sorted(sizes[shape].items()) if shape is not None else ():
        length, log_sd = _pooled(members, priors)
        measured.append(SizeMeasurement(samples=samples, length=length, se=log_sd * length))
    depth = priors.assumed_num_steps if shape is None else shape.num_steps
    chain = Chain(num_steps=depth, max_acceptance=priors.acceptance_ceiling, max_length=depth + 1.0)
    curve = sample(measured, chain=chain, priors=priors, seed=seed)
    if shape is None:
        shape = Shape(num_steps=depth, num_draft_tokens=depth + 1, eagle_topk=1)
    return curve, shape, bool(measured)
