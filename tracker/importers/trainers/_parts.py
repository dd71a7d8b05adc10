"""What trainers' runs have in common: parameters as text, metric histories, a folder of checkpoints."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.redaction import redact_text
from tracker.domain.trainer_run import TrainerRun
from tracker.domain.training import MetricPoint
from tracker.errors import InputError
from tracker.importers import _training_run

# Keys of other services that SpecForge hands to its tracker with all its arguments (`specforge/tracker.py`, 0.2).
_SERVICE_KEY = re.compile(r"(?:wandb|swanlab)_key")
_NOTHING = frozenset({"", "None", "null"})
_WHOLE = re.compile(r"-?\d{1,15}")
_MAX_SETTING_LENGTH = 200


def settings(params: Mapping[str, str]) -> dict[str, Any]:
    """Return parameters as numbers, truths and short texts; unset ones, keys of services and long texts left out."""
    found: dict[str, Any] = {}
    for key, text in params.items():
        if text in _NOTHING or len(text) > _MAX_SETTING_LENGTH or _SERVICE_KEY.search(key):
            continue
        found[key] = _value(text)
    return found


def _value(text: str) -> Any:
    if text in ("True", "False", "true", "false"):
        return text in ("True", "true")
    if _WHOLE.fullmatch(text):
        return int(text)
    try:
        number = float(text)
    except ValueError:
        return redact_text(text)
    return number if abs(number) < float("inf") else text


def events(run: TrainerRun) -> _training_run.Events:
    """Return the metric points of a run.

    Raises:
        InputError: There are none.
    """
    if not run.points:
        raise InputError(
            f"the run {run.name!r} holds no metrics",
            where=f"run {run.run_id}",
            hint="Did the training stop before its first logged step?",
        )
    return _training_run.Events(points=run.points)


def near(folder: str | None) -> Path:
    """Return where relative names of data files are looked for: the run's own folder, else nowhere."""
    return Path(folder) if folder and folder.startswith("/") else Path("/nonexistent")


def checkpoint(name: str, folder: str | None = None) -> Checkpoint:
    """Return the drafter that a training makes, by name and by the folder that its checkpoints go to."""
    return Checkpoint(name=PurePosixPath(name.rstrip("/")).name or name, path=folder)


def named(value: Any) -> Checkpoint | None:
    """Return a model that a setting names by path or Hub id."""
    if not isinstance(value, str) or not value:
        return None
    return Checkpoint(name=PurePosixPath(value.rstrip("/")).name or value, path=value)


def last(points: Sequence[MetricPoint], name: str) -> float | None:
    """Return the value of a metric at its highest step; None where it was never written."""
    series = [point for point in points if point.name == name]
    return max(series, key=lambda point: point.step).value if series else None
