"""Drafter training logs: lines of `key=value` (NeMo Automodel, SpecForge), and JSON lists of trained drafters.

The record is found inside a line that begins with a progress bar. Simulated accept lengths (`train_tau_sim`) are kept
as training metrics: they are teacher-forced estimates and never a measured accept length.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.training import MetricPoint, Training
from tracker.errors import InputError
from tracker.importers import _history, _jsonl, _normalise, _source
from tracker.importers.base import ImportedRun

_RECORD = re.compile(r"\bepoch=(\d{1,9}) step=(\d{1,12})((?: [A-Za-z_][\w/.]*=[^\s,\]]+)+)")
_PAIR = re.compile(r"([A-Za-z_][\w/.]*)=([^\s,\]]+)")
_HEAD = re.compile(rb"\bepoch=\d+ step=\d+ [A-Za-z_]+=")


class TrainLog:
    """Drafter training logs."""

    name = "train_log"
    title = "drafter training log: epoch= step= lines, or a JSON list of trained drafters"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the text holds training records, or the JSON lists drafters with their samples."""
        if _HEAD.search(head):
            return True
        value = _jsonl.first_value(head)
        drafters = value.get("drafters") if isinstance(value, dict) else None
        return (
            isinstance(drafters, list) and bool(drafters) and isinstance(drafters[0], dict) and "samples" in drafters[0]
        )

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the training, or one run a drafter.

        Raises:
            InputError: There is no whole record.
        """
        if _jsonl.first_value(_source.read_head(path)) is not None:
            return _drafters(path)
        points: dict[str, list[MetricPoint]] = {}
        epochs = steps = -1
        cut = None
        for line in _source.lines(path):
            match = _RECORD.search(line.content.decode(errors="replace"))
            if match is None:
                continue
            if not line.ended:
                cut = "the last line may be cut; it was left out"
                break
            epochs, steps = max(epochs, int(match[1])), max(steps, int(match[2]))
            for name, text in _PAIR.findall(match[3]):
                value = _normalise.number(text)
                if value is not None:
                    points.setdefault(name, []).append(MetricPoint(name=name, step=int(match[2]), value=value))
        if not points:
            raise InputError(
                "there is no whole training record", where=str(path), hint="A record reads `epoch=0 step=10 loss=...`."
            )
        history = tuple(point for series in points.values() for point in _history.thinned(series))
        training = Training(optimizer_steps=steps, history=history)
        return (ImportedRun(kind="training", training=training, missing=cut),)


def _drafters(path: Path) -> tuple[ImportedRun, ...]:
    """Return one training run a drafter of a JSON list.

    Raises:
        InputError: The JSON is cut, or an entry is damaged.
    """
    value = _jsonl.whole_document(path)
    drafters = value.get("drafters") if isinstance(value, dict) else None
    if not isinstance(drafters, list) or not drafters:
        raise InputError("the file is no whole JSON with `drafters`", where=str(path), hint="Copy it again.")
    coverage = _jsonl.Fields(data=value, where=str(path)).number("draft_vocab_coverage")
    runs = []
    for index, item in enumerate(drafters):
        if not isinstance(item, dict):
            raise InputError(f"drafter {index} is no object", where=str(path), hint="Remove it.")
        fields = _jsonl.Fields(data=item, where=f"{path} (drafter {index})")
        runs.append(_drafter(fields, index, coverage))
    return tuple(runs)


def _drafter(fields: _jsonl.Fields, index: int, coverage: float | None) -> ImportedRun:
    """Return the training of one drafter."""
    samples, steps = fields.count("samples"), fields.count("iters")
    accuracies = fields.numbers("per_step_acc")
    loss = fields.number("val_loss")
    history: tuple[MetricPoint, ...] = ()
    if loss is not None and steps is not None:
        history = (MetricPoint(name="val_loss", step=steps, value=loss),)
    name = None if samples is None else f"d{samples}"
    return ImportedRun(
        kind="training",
        name=name,
        row=index,
        drafter=None if name is None else Checkpoint(name=name, vocabulary_coverage_fraction=coverage),
        training=Training(
            samples=samples,
            tokens=fields.count("tokens"),
            optimizer_steps=steps,
            batch_size=fields.count("batch_size"),
            history=history,
            hyperparameters=_times(fields.data),
            validation_position_accuracy=accuracies,
        ),
    )


def _times(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the wall seconds of the training, where the list has them."""
    seconds = data.get("seconds")
    known = isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds < math.inf
    return {"train_seconds": seconds} if known else {}


IMPORTER = TrainLog()
