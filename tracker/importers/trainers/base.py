"""What a reader of trainers' own runs in a tracking store is.

A new trainer is one module here with a constant `TRAINER`; the contract test finds it.
"""

from __future__ import annotations

from typing import Protocol

from tracker.domain.trainer_run import TrainerRun
from tracker.importers.base import ImportedRun


class Trainer(Protocol):
    """Reader of the runs that one trainer writes."""

    name: str
    """Name for `tracker adopt --as`; equals the module's name."""
    title: str
    """One line: which runs, known by what."""

    def sniff(self, run: TrainerRun) -> bool:
        """Return whether this trainer wrote the run; parameters and metric names decide, never a run's name."""
        ...

    def read(self, run: TrainerRun) -> ImportedRun:
        """Return the training that the run tells of.

        Raises:
            InputError: The run holds no metrics of a training.
        """
        ...
