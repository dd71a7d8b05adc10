"""Which sizes were trained alike: one curve goes through these, the others are evidence of something else."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tracker.analysis.scaling_points import SizePoint, epochs_of, seen_of
from tracker.analysis.words import count, listed, size

# Sizes count as trained alike while epochs, or samples seen, agree within this factor.
_ALIKE_FACTOR = 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class AlikeSizes:
    """Drafters of one configuration, split by how they were trained."""

    fitted: tuple[SizePoint, ...]
    """Trained alike, ascending; all of them where no two sizes are, which `differences` then names."""
    beside: tuple[SizePoint, ...] = ()
    """Trained on another mix or budget: in no fit."""

    @property
    def drops_sizes(self) -> bool:
        """Whether some size is in no fit at all."""
        return bool({point.samples for point in self.beside} - {point.samples for point in self.fitted})

    def note(self) -> str | None:
        """Return what the drafters beside the fit show, each against the fitted one of its size; None without any."""
        return "; ".join(_beside_words(point, self.fitted) for point in self.beside) or None

    def raised_by_training(self) -> list[int]:
        """Return the sizes at which more passes over the same data raised accept length beyond two standard errors."""
        found = set()
        for point in self.beside:
            for other in self.fitted:
                passes, usual = epochs_of(point.training), epochs_of(other.training)
                longer = passes is not None and usual is not None and passes > usual
                same = point.samples == other.samples and point.training.mix == other.training.mix
                if same and longer and point.length - other.length > 2 * math.hypot(point.se, other.se):
                    found.add(point.label)
        return sorted(found)

    def remarks(self) -> list[str]:
        """Return how the fitted sizes were trained and what stands beside them, each as a sentence."""
        found = []
        epochs = [value for point in self.fitted if (value := epochs_of(point.training)) is not None]
        steps = {point.training.optimizer_steps for point in self.fitted} - {None}
        sizes = count(len({point.samples for point in self.fitted}), "size")
        if len(epochs) == len(self.fitted) and len(steps) > 1 and _alike(epochs):
            mean = sum(epochs) / len(epochs)
            found.append(f"{sizes} trained alike, at {_passes(mean)} epochs each, so steps grow with the data.")
        elif self.beside:
            found.append(f"{sizes} trained alike.")
        if self.beside:
            found.append(f"Trained differently, so not in the fit: {self.note()}.")
        return found


def trained_alike(points: Sequence[SizePoint]) -> AlikeSizes:
    """Return the largest set of sizes of one mix trained for equal epochs, else for equal optimizer steps.

    Picking sizes needs recorded passes over the data: steps alone say nothing about the batch. Ties go to the wider
    range, which narrows a forecast more than count, then to the longer training.
    """
    whole = AlikeSizes(fitted=tuple(points))
    if not differences(points):
        return whole
    kinds = [part for part in _kinds(points) if part]
    sets = [part for part in kinds if not differences(part)]
    by_epochs = sets + [part for kind in kinds for part in _windows(kind, _epochs)]
    by_steps = [part for kind in kinds for part in _windows(kind, _steps_of_whole_passes)]
    for found in (by_epochs, by_steps):
        clean = [part for part in found if _sizes(part) > 1 and not differences(part)]
        if clean:
            best = max(clean, key=_rank)
            kept = {id(point) for point in best}
            return AlikeSizes(
                fitted=tuple(point for point in points if id(point) in kept),
                beside=tuple(point for point in points if id(point) not in kept),
            )
    return whole


def differences(points: Sequence[SizePoint]) -> list[str]:
    """Return what differs between sizes besides the data, each as a sentence; any of them forbids a curve."""
    found = []
    for name, values in (
        ("data mix", {point.training.mix for point in points} - {None}),
        ("target", {_target(point) for point in points} - {None}),
    ):
        if len(values) > 1:
            found.append(f"The sizes differ in {name}: {listed(sorted(str(value) for value in values))}.")
    budget = _budget_difference(points)
    return found if budget is None else [*found, budget]


def unknown_budget(points: Sequence[SizePoint]) -> bool:
    """Return whether nothing says how long a size was trained, where there are several."""
    return _sizes(points) > 1 and any(
        epochs_of(point.training) is None and point.training.optimizer_steps is None for point in points
    )


def _kinds(points: Sequence[SizePoint]) -> list[list[SizePoint]]:
    """Return the points by mix and target; one that records neither may belong to any."""
    mixes: list[str | None] = [*sorted({point.training.mix for point in points if point.training.mix is not None})]
    targets: list[str | None] = [*sorted({name for point in points if (name := _target(point)) is not None})]
    return [
        [point for point in points if point.training.mix in (mix, None) and _target(point) in (target, None)]
        for mix in mixes or [None]
        for target in targets or [None]
    ]


def _windows(points: Sequence[SizePoint], measure: Callable[[SizePoint], float | None]) -> list[list[SizePoint]]:
    """Return, for each value as the least, the points whose value is at most 20 % larger."""
    known = [(value, point) for point in points if (value := measure(point)) is not None]
    return [
        [point for value, point in known if least <= value <= least * _ALIKE_FACTOR]
        for least in sorted({value for value, _ in known})
    ]


def _epochs(point: SizePoint) -> float | None:
    return epochs_of(point.training)


def _steps_of_whole_passes(point: SizePoint) -> float | None:
    """Return optimizer steps where they are known to have reached every sample; else the size says too much."""
    epochs = epochs_of(point.training)
    return None if epochs is None or round(epochs, 1) < 1 else point.training.optimizer_steps


def _rank(points: Sequence[SizePoint]) -> tuple[int, float, int, float]:
    sizes = [point.samples for point in points]
    longest = max((epochs for point in points if (epochs := epochs_of(point.training)) is not None), default=0.0)
    return (_sizes(points), max(sizes) / min(sizes), len(points), longest)


def _sizes(points: Sequence[SizePoint]) -> int:
    return len({point.samples for point in points})


def _beside_words(point: SizePoint, fitted: Sequence[SizePoint]) -> str:
    other = next((item for item in fitted if item.samples == point.samples), None)
    against = fitted[0] if other is None else other
    result = ", no such size in the fit" if other is None else f" against {other.length:.2f}"
    return f"{size(point.label)} samples{_contrast(point, against)}: {point.length:.2f}{result}"


def _contrast(point: SizePoint, against: SizePoint) -> str:
    mine, theirs = point.training, against.training
    if mine.mix != theirs.mix and mine.mix is not None and theirs.mix is not None:
        return f" of {mine.mix} instead of {theirs.mix}"
    epochs, usual = epochs_of(mine), epochs_of(theirs)
    if epochs is not None and usual is not None and not _alike((epochs, usual)):
        return f" at {_passes(epochs)} instead of {_passes(usual)} epochs"
    if mine.optimizer_steps is not None and theirs.optimizer_steps is not None:
        return f" at {size(mine.optimizer_steps)} instead of {size(theirs.optimizer_steps)} steps"
    return ""


def _passes(epochs: float) -> str:
    return f"{round(epochs, 1):g}"


def _target(point: SizePoint) -> str | None:
    target = point.observation.record.target
    return None if target is None else target.name


def _budget_difference(points: Sequence[SizePoint]) -> str | None:
    epochs = [epochs_of(point.training) for point in points]
    seen = [seen_of(point.training) for point in points]
    known_epochs = [value for value in epochs if value is not None]
    known_seen = [value for value in seen if value is not None]
    if _sizes(points) < 2:
        return None
    if len(known_epochs) < len(points) and len(known_seen) < len(points):
        return _step_difference(points)
    if _alike(known_epochs):
        return None
    if _alike(known_seen):
        return None
    steps = [point.training.optimizer_steps for point in points]
    sizes = listed([size(point.label) for point in points])
    if None not in steps:
        what = f"training steps were {listed([size(step) for step in steps if step is not None])} for {sizes} samples"
    else:
        what = f"passes over the data were {listed([f'{value:.1f}' for value in known_epochs])} for {sizes} samples"
    return f"Data and training budget grew together: {what}. More data and more training cannot be told apart."


def _step_difference(points: Sequence[SizePoint]) -> str | None:
    """Judge by optimizer steps where the batch is not recorded: steps in proportion to samples, or equal, are clean."""
    steps = [point.training.optimizer_steps for point in points]
    known = [step for step in steps if step is not None]
    if len(known) < len(points):
        return None
    ratios = [step / point.samples for step, point in zip(known, points, strict=True)]
    if _alike(ratios) or _alike([float(step) for step in known]):
        return None
    sizes = listed([size(point.label) for point in points])
    return (
        f"Data and training budget grew together: training steps were {listed([size(step) for step in known])} for "
        f"{sizes} samples. More data and more training cannot be told apart."
    )


def _alike(values: Sequence[float]) -> bool:
    return bool(values) and max(values) <= min(values) * _ALIKE_FACTOR
