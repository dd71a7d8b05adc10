"""speculators' own MLflow runs (`--logger mlflow`): metrics only, without a single parameter.

Metrics come at `global_step`, counted from 0 (`speculators/train/trainer.py` and `logger.py`, 0.5 to 0.9):
`train/loss`, per position `train/loss_<i>`, `train/full_acc_<i>` (all up to and with position i right, unconditional),
`train/cond_acc_<i>`, `train/position_<i>_acc`, `train/eal` (1 + the sum of `full_acc`, bonus token in), the same as
`val/<name>_epoch` after each epoch, and `epoch` (from 0), `lr`, `global_step`. Which target, data, batch size and
folder it was is not in the run: `--target`, `--samples`, `--tokens` and `--drafter` say so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracker.domain.finding import Finding
from tracker.domain.trainer_run import TrainerRun
from tracker.domain.training import MetricPoint, Training
from tracker.importers import _history
from tracker.importers.base import ImportedRun
from tracker.importers.trainers import _parts

_OWN = re.compile(r"(?:train|val)/(?:full_acc_\d+|cond_acc_\d+|position_\d+_acc|eal|loss_step_\d+)(?:_epoch)?")
_FULL = re.compile(r"val/full_acc_(\d{1,3})_epoch")
_SAYS_LITTLE = Finding(
    code="TRAINING_DATA_NOT_COUNTED",
    severity="info",
    message="The number of training samples is not known: speculators writes metrics to MLflow and no settings.",
    fix="Adopt it again with --samples and --tokens; --target and --drafter name the models.",
)


class Speculators:
    """speculators' runs."""

    name = "speculators"
    title = "speculators with --logger mlflow: train/* and val/*_epoch metrics, no parameters"

    def sniff(self, run: TrainerRun) -> bool:
        """Return whether the metrics are those of speculators' trainer, `global_step` among them."""
        return "global_step" in run.metric_names and any(_OWN.fullmatch(name) for name in run.metric_names)

    def read(self, run: TrainerRun) -> ImportedRun:
        """Return the training.

        Raises:
            InputError: The run holds no metrics.
        """
        points = _parts.events(run).points
        steps = [point.step for point in points if point.name.startswith("train/")]
        training = Training(
            # Steps are counted from 0, and not every step is logged.
            optimizer_steps=max(steps) + 1 if steps else None,
            epochs=_epochs(points, has_ended=run.status == "FINISHED"),
            hyperparameters=_parts.settings(run.params),
            history=_history.of(points),
            validation_position_accuracy=_conditional(points),
        )
        return ImportedRun(
            kind="training",
            name=run.name,
            measured_at=run.started_at,
            drafter=_parts.checkpoint(run.name),
            training=training,
            findings=(_SAYS_LITTLE,),
        )


def _epochs(points: Sequence[MetricPoint], *, has_ended: bool) -> float | None:
    """Return the passes over the data: those that were validated, or all begun ones of a training that ended well."""
    validated = {point.step for point in points if point.name == "val/loss_epoch"}
    begun = _parts.last(points, "epoch")
    if has_ended and begun is not None:
        return begun + 1
    return float(len(validated)) if validated else None


def _conditional(points: Sequence[MetricPoint]) -> tuple[float, ...] | None:
    """Return the last validation accuracy per position given the positions before it, from the prefix accuracies."""
    names = sorted(
        {match[0]: int(match[1]) for point in points if (match := _FULL.fullmatch(point.name))}.items(),
        key=lambda item: item[1],
    )
    if not names or [number for _, number in names] != list(range(len(names))):
        return None
    prefix = [value for name, _ in names if (value := _parts.last(points, name)) is not None]
    before = [1.0, *prefix[:-1]]
    if any(value <= 0 for value in before) or any(not 0 <= value <= 1 for value in prefix):
        return None
    return tuple(min(1.0, value / earlier) for value, earlier in zip(prefix, before, strict=True))


TRAINER = Speculators()
