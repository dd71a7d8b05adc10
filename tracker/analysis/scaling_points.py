"""Which runs served one configuration with drafters of several training sizes, and what is known of their data."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tracker.analysis.observations import Observation
from tracker.analysis.priors import Priors
from tracker.analysis.results import Configuration, ScalingPoint
from tracker.analysis.uncertainty import Spread, around
from tracker.analysis.words import listed, size
from tracker.domain.record import RunRecord, StoredRun
from tracker.domain.training import Training

_FEW_REPEATS = 0.01
# A handful of repeats does not change which size of the campaign a drafter belongs to.
_SAME_SIZE = 0.001
# Up to about four passes repeated data are nearly as good as new ones (Muennighoff et al. 2023, arXiv 2305.16264).
_MOST_PASSES = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SizePoint:
    """One training size on the curve."""

    observation: Observation
    """Run that served it."""
    training: Training
    """Its training."""
    samples: int
    """Training samples."""
    length: float
    """Served accept length."""
    se: float
    """Standard error on the fixed prompt set: rounding and verify steps; the prompts shift all sizes together."""

    @property
    def label(self) -> int:
        """Size by which the campaign knows it: with repeats where these are at most 0.1 %, else `samples`."""
        whole = self.training.samples
        return whole if whole is not None and abs(whole - self.samples) <= _SAME_SIZE * whole else self.samples

    def shown(self) -> ScalingPoint:
        """Return the point as the memo shows it."""
        return ScalingPoint(
            samples=self.label,
            accept_length=around(self.length, Spread(sd=self.se / self.length, df=math.inf)),
            run_id=self.observation.run_id,
            optimizer_steps=self.training.optimizer_steps,
            epochs=epochs_of(self.training),
            repeated_fraction=repeated_fraction(self.training),
            cost=self.training.cost,
        )


def training_of(record: RunRecord, trainings: Sequence[StoredRun]) -> Training | None:
    """Return the training behind a benchmarked drafter: recorded with it, else from its training run."""
    if record.training is not None and record.training.samples is not None:
        return record.training
    wanted = None if record.training is None else record.training.trained_from
    for run in trainings:
        other = run.record.drafter
        same = other is not None and record.drafter is not None and other.identity == record.drafter.identity
        if run.record.training is not None and (run.run_id == wanted or same):
            return run.record.training
    return record.training


def distinct_samples(training: Training) -> int | None:
    """Return distinct training samples: repeats are passes over the data, not data."""
    return training.samples if training.unique_samples is None else training.unique_samples


def repeated_fraction(training: Training) -> float | None:
    """Return the share of the training set that repeats other samples; None when not recorded."""
    if training.unique_samples is None or not training.samples:
        return None
    return max(0.0, 1 - training.unique_samples / training.samples)


def epochs_of(training: Training) -> float | None:
    """Return passes over the distinct samples: as recorded, else samples seen over samples."""
    if training.unique_samples and (seen := seen_of(training)) is not None:
        return seen / training.unique_samples
    if training.epochs is not None:
        return training.epochs
    seen = seen_of(training)
    return None if seen is None or not training.samples else seen / training.samples


def seen_of(training: Training) -> float | None:
    """Return samples processed, repeats included; None when it does not follow from what was recorded."""
    if training.samples_seen is not None:
        return training.samples_seen
    if training.optimizer_steps is not None and training.batch_size is not None:
        return training.optimizer_steps * training.batch_size
    if training.epochs is not None and training.samples is not None:
        return training.epochs * training.samples
    return None


def collect(
    observations: Sequence[Observation],
    trainings: Sequence[StoredRun],
    *,
    load: int | None,
    prefer: Configuration | None,
    priors: Priors,
) -> list[SizePoint]:
    """Return the sizes of the configuration that served most of them at `load`, ascending; ties go to `prefer`."""
    by_configuration: dict[str, list[SizePoint]] = defaultdict(list)
    for item in observations:
        if not (
            item.speculative and item.excluded_reason is None and item.length is not None and not item.step_time_only
        ):
            continue
        training = training_of(item.record, trainings)
        samples = None if training is None else distinct_samples(training)
        if item.concurrency != load or training is None or not samples:
            continue
        by_configuration[item.configuration.label].append(
            SizePoint(
                observation=item,
                training=training,
                samples=samples,
                length=item.length.value,
                se=_standard_error(item, priors),
            )
        )
    if not by_configuration:
        return []
    label = max(
        by_configuration,
        key=lambda name: (
            len({point.samples for point in by_configuration[name]}),
            prefer is not None and name == prefer.label,
            name,
        ),
    )
    return sorted(by_configuration[label], key=lambda point: (point.samples, point.observation.record.record_id))


def _standard_error(item: Observation, priors: Priors) -> float:
    if item.length is None:
        raise ValueError(f"{item.run_id} has no accept length")
    rounding = (item.length.bounds[1] - item.length.bounds[0]) / math.sqrt(12)
    relative = item.token_log_se
    if relative is None:
        count = priors.prompts_when_unknown if item.prompts is None else item.prompts
        relative = priors.paired_prompt_fraction / math.sqrt(count)
    return math.hypot(rounding, relative * item.length.value)


def _repeats(training: Training) -> bool:
    share = repeated_fraction(training)
    return share is not None and share > _FEW_REPEATS


def unserved_sizes(points: Sequence[SizePoint], trainings: Sequence[StoredRun]) -> tuple[int, ...]:
    """Return sizes of training runs that no run of the curve served, ascending."""
    served = {point.samples for point in points}
    trained = {distinct_samples(run.record.training) for run in trainings if run.record.training is not None}
    return tuple(sorted(samples for samples in trained if samples and samples not in served))


def repeats_unknown(points: Sequence[SizePoint]) -> bool:
    """Return whether some sizes say how many samples are distinct and others do not."""
    return len({point.training.unique_samples is None for point in points}) > 1


def repeat_remarks(points: Sequence[SizePoint], *, still_rising: bool) -> list[str]:
    """Return what repeated data mean for the curve, each as a sentence.

    Args:
        points: Sizes of the curve.
        still_rising: Whether more passes were seen to help here, which the rule of thumb then does not gainsay.
    """
    repeated = {
        point.samples: point.training.samples
        for point in points
        if point.training.samples is not None and _repeats(point.training)
    }
    found = []
    if repeated:
        pairs = listed([f"{size(distinct)} of {size(whole)}" for distinct, whole in sorted(repeated.items())])
        found.append(f"The curve counts distinct samples: {pairs}; the rest repeats them.")
    passes = [epochs for point in points if (epochs := epochs_of(point.training)) is not None]
    if passes and max(passes) > _MOST_PASSES and not still_rising:
        found.append(
            f"Up to {max(passes):.1f} passes over the data: beyond about {_MOST_PASSES:g} repeats add little, so new "
            "samples would do more than these sizes show."
        )
    return found
