"""Trainers whose own runs in a tracking store can be adopted: one a file, found by discovery."""

from __future__ import annotations

from tracker import plugins
from tracker.domain.trainer_run import TrainerRun
from tracker.errors import UnknownFormatError
from tracker.importers.base import ImportedRun
from tracker.importers.trainers.base import Trainer

__all__ = ["Trainer", "read", "trainers"]


def trainers() -> dict[str, Trainer]:
    """Return every trainer by its name for `--as`."""
    return plugins.discover(__name__, "TRAINER")


def read(run: TrainerRun, form: str | None = None) -> tuple[str, ImportedRun]:
    """Return the name of the trainer that wrote a run, and what the run tells.

    Args:
        run: The run.
        form: Trainer to take it for; None tells by its parameters and metrics.

    Raises:
        UnknownFormatError: No trainer is called so, or none writes runs like this one.
        InputError: The run holds no metrics of a training.
    """
    known = trainers()
    listed = ", ".join(known)
    if form is not None:
        if form not in known:
            raise UnknownFormatError(f"there is no trainer `{form}`", hint=f"Known trainers: {listed}.")
        return form, known[form].read(run)
    claims = [trainer for trainer in known.values() if trainer.sniff(run)]
    if len(claims) == 1:
        return claims[0].name, claims[0].read(run)
    names = ", ".join(sorted(run.metric_names)[:6]) or "none"
    what = "fits several trainers" if claims else "was written by no trainer that is known here"
    raise UnknownFormatError(
        f"the run {run.name!r} {what}; its metrics: {names}",
        where=f"run {run.run_id}",
        hint=f"Choose one with `--as TRAINER`. Known trainers: {listed}.",
    )
