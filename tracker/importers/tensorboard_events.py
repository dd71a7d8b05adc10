"""A tensorboard event file of a drafter training (SpecForge `report_to: tensorboard`, speculators `--logger`)."""

from __future__ import annotations

from pathlib import Path

from tracker.domain.training import Training
from tracker.errors import InputError
from tracker.importers import _history, _tfevents
from tracker.importers.base import ImportedRun


class TensorboardEvents:
    """Tensorboard event files."""

    name = "tensorboard_events"
    title = "tensorboard event file of a drafter training, scalars only"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the first record names the version of an event file."""
        return _tfevents.looks_like(head)

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the one training run.

        Raises:
            InputError: The file holds no scalar, or is damaged.
        """
        points, cut = _tfevents.scalars(path)
        if not points:
            raise InputError(
                "the event file holds no scalar" + (f": {cut}" if cut else ""),
                where=str(path),
                hint="Name the folder of the run if its scalars are in another file.",
            )
        training = Training(optimizer_steps=max(point.step for point in points), history=_history.of(points))
        return (ImportedRun(kind="training", training=training, missing=cut),)


IMPORTER = TensorboardEvents()
