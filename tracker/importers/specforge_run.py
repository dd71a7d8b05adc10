"""The output folder of a SpecForge training: event files under `runs`, checkpoints `<run id>-step<N>`, settings.

`eval/simulated_acc_len` leaves the bonus token out and is a teacher-forced estimate: a training metric, never a
measured accept length. The number of samples is no field of SpecForge's; it is counted from the data file.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tracker.domain.checkpoint import Checkpoint
from tracker.errors import InputError
from tracker.importers import _jsonl, _source, _specforge_samples, _training_run
from tracker.importers.base import ImportedRun

_STEP = re.compile(r"(?P<run>.+)-step(?P<step>\d{1,12})")
_BEST = ".best_meta.json"
_STATE = "training_state.pt"


class SpecforgeRun:
    """SpecForge's training folders."""

    name = "specforge_run"
    title = "output folder of a SpecForge training: event files, checkpoints, settings"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the folder holds SpecForge's checkpoints, its best mark or its settings."""
        if not path.is_dir():
            return False
        items = sorted(path.iterdir())
        return bool(
            _steps(items)
            or any(item.name.endswith(_BEST) for item in items)
            or any(_is_config(item) for item in items if item.is_file())
        )

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the one training run.

        Raises:
            InputError: The folder holds neither metrics nor checkpoints, or a file in it is damaged.
        """
        if not path.is_dir():
            raise InputError("this is a file, not a folder", where=str(path), hint="Name the output folder.")
        items = sorted(path.iterdir())
        values = _settings(items)
        found = _training_run.events(_training_run.files(path))
        steps = _steps(items)
        if not found.points and not steps:
            raise InputError(
                "the folder holds neither metrics nor checkpoints of a training",
                where=str(path),
                hint="Train with `tracking.report_to: tensorboard`, or log the console with the settings.",
            )
        training, findings = _training_run.training(values, found, steps=max(steps, default=None), near=path)
        seen, unknown = _specforge_samples.seen(values, training.optimizer_steps)
        training = dataclasses.replace(
            training, samples_seen=seen, batch_size=_specforge_samples.per_step(values) or training.batch_size
        )
        target = _training_run.setting(values, "target_model_path", "target_model_name_or_path")
        name = path.resolve().name
        return (
            ImportedRun(
                kind="training",
                name=name,
                drafter=Checkpoint(name=name),
                target=Checkpoint(name=target.rstrip("/").rsplit("/", 1)[-1], path=target)
                if isinstance(target, str) and target
                else None,
                training=training,
                tags=_best(items),
                findings=(*findings, *unknown),
                missing=found.missing,
            ),
        )


def _steps(items: Sequence[Path]) -> list[int]:
    """Return the steps of the checkpoints in a folder."""
    matches = (_STEP.fullmatch(item.name) for item in items if (item / _STATE).is_file())
    return [int(match["step"]) for match in matches if match is not None]


def _is_config(item: Path) -> bool:
    """Return whether a file holds SpecForge's settings: a `training` part and a `data` part with a training set."""
    if item.suffix not in (".yaml", ".yml", ".json") or item.name.endswith(_BEST) or item.stat().st_size > 2**20:
        return False
    head = _source.read_head(item)
    return b"train_data_path" in head and b"training" in head


def _settings(items: Sequence[Path]) -> Mapping[str, Any]:
    for item in items:
        if item.is_file() and _is_config(item):
            values = _training_run.settings(item)
            if values is not None:
                return _training_run.flat(values)
    return {}


def _best(items: Sequence[Path]) -> dict[str, str]:
    """Return the best checkpoint as the training marked it."""
    for item in items:
        value = _jsonl.whole_document(item) if item.name.endswith(_BEST) and item.is_file() else None
        if isinstance(value, dict):
            return {f"best.{key}": str(part)[:200] for key, part in _training_run.flat(value).items()}
    return {}


IMPORTER = SpecforgeRun()
