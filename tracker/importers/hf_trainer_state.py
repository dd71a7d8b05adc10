"""Hugging Face `trainer_state.json`: steps, epochs and the metric history of a training.

`num_input_tokens_seen` stays 0 unless it was switched on, so 0 means not counted. The number of samples is not in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tracker.domain.training import MetricPoint, Training
from tracker.errors import InputError
from tracker.importers import _jsonl
from tracker.importers.base import ImportedRun

_OWN_KEYS = frozenset({"global_step", "log_history"})
_NOT_METRICS = frozenset({"step", "epoch"})


class HfTrainerState:
    """State files of the Hugging Face trainer."""

    name = "hf_trainer_state"
    title = "Hugging Face trainer_state.json of a drafter training"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the object has the trainer's fields; `log_history` may lie beyond the head."""
        value = _jsonl.first_value(head)
        if not isinstance(value, dict):
            return False
        return value.keys() >= _OWN_KEYS or ("global_step" in value and "is_world_process_zero" in value)

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the one training run.

        Raises:
            InputError: The file is cut, or a field is of the wrong kind.
        """
        value = _jsonl.whole_document(path)
        if not isinstance(value, dict):
            raise InputError("the file is no whole JSON", where=str(path), hint="Copy it again.")
        fields = _jsonl.Fields(data=value, where=str(path))
        history = value.get("log_history")
        if not isinstance(history, list):
            raise fields.error("log_history", "is no list")
        points = tuple(point for entry in history for point in _points(entry))
        tokens = fields.count("num_input_tokens_seen")
        best = fields.text("best_model_checkpoint")
        return (
            ImportedRun(
                kind="training",
                training=Training(
                    optimizer_steps=fields.count("global_step"),
                    epochs=fields.number("epoch"),
                    tokens=tokens if tokens else None,
                    hyperparameters={
                        key: number
                        for key in ("max_steps", "num_train_epochs", "train_batch_size")
                        if (number := fields.number(key)) is not None
                    },
                    history=points,
                ),
                tags={} if best is None else {"best_model_checkpoint": best.rstrip("/").rsplit("/", 1)[-1]},
            ),
        )


def _points(entry: Any) -> list[MetricPoint]:
    """Return the metrics of one log entry; an entry without a step has none."""
    if not isinstance(entry, dict) or type(entry.get("step")) is not int or entry["step"] < 0:
        return []
    return [
        MetricPoint(name=name, step=entry["step"], value=float(value))
        for name, value in entry.items()
        if name not in _NOT_METRICS and _jsonl.is_finite(value)
    ]


IMPORTER = HfTrainerState()
