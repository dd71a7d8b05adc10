"""Folders of a drafter training: event files, settings, checkpoints and the data they name, put together."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracker.domain.finding import Finding
from tracker.domain.redaction import redact_text
from tracker.domain.training import MetricPoint, Training
from tracker.importers import _history, _jsonl, _source, _tfevents, _training_data

# A run's folder may hold many checkpoints, but not tens of thousands of files.
MAX_FILES = 5000
_YAML_LIMIT_BYTES = 2**20
_POSITION = re.compile(r"eval/per_position_acc/(\d{1,3})")
_MAX_SETTING_LENGTH = 200
# The first that is set names the data: conversations, prepared token ids, then recorded hidden states.
_DATA = ("train_data_path", "data_path", "train_data", "prompts_path", "hidden_states_path", "train_hidden_states_path")


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """What the event files of a folder hold."""

    points: tuple[MetricPoint, ...] = ()
    """All scalars."""
    missing: str | None = None
    """What is cut, in words."""

    @property
    def last_step(self) -> int | None:
        """Highest step of any scalar."""
        return max((point.step for point in self.points), default=None)


def files(path: Path) -> list[Path]:
    """Return the files of a folder and below, in order, at most MAX_FILES."""
    found: list[Path] = []
    for item in sorted(path.rglob("*")):
        if item.is_file():
            found.append(item)
        if len(found) >= MAX_FILES:
            break
    return found


def events(paths: Sequence[Path]) -> Events:
    """Return the scalars of every event file among these files.

    Raises:
        InputError: An event file is damaged.
    """
    points: list[MetricPoint] = []
    missing: list[str] = []
    for item in paths:
        if not _tfevents.looks_like(_source.read_head(item)):
            continue
        found, cut = _tfevents.scalars(item)
        points += found
        if cut is not None:
            missing.append(f"{item.name}: {cut}")
    return Events(points=tuple(points), missing="; ".join(missing) or None)


def settings(path: Path) -> Mapping[str, Any] | None:
    """Return a YAML or JSON file as a mapping; None when it is none.

    Raises:
        InputError: It is larger than settings are, or damaged.
    """
    content = _source.read_document(path)
    try:
        value = _jsonl.parse(content)
    except ValueError:
        value = _source.parse_yaml(content, path, limit_bytes=_YAML_LIMIT_BYTES)
    return value if isinstance(value, dict) else None


def flat(values: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Return nested settings under dotted names; lists and long texts are left out."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and depth < 5:
            found |= flat(value, f"{name}.", depth + 1)
        elif isinstance(value, bool) or _jsonl.is_finite(value):
            found[name] = value
        elif isinstance(value, str) and 0 < len(value) <= _MAX_SETTING_LENGTH:
            found[name] = redact_text(value)
    return found


def setting(values: Mapping[str, Any], *names: str) -> Any:
    """Return the first setting whose last part is one of these names, in the order of the names."""
    for name in names:
        for key, value in values.items():
            if key.rsplit(".", 1)[-1].replace("-", "_") == name:
                return value
    return None


def whole(value: Any) -> int | None:
    """Return a positive count, also from a command line's text; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        value = int(value)
    return value if type(value) is int and 0 < value < _jsonl.MAX_COUNT else None


def number(value: Any) -> float | None:
    """Return a positive number, also from a command line's text; None for anything else."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return float(value) if _jsonl.is_finite(value) and value > 0 else None


def training(
    values: Mapping[str, Any], found: Events, *, steps: int | None, near: Path
) -> tuple[Training, tuple[Finding, ...]]:
    """Return the training that settings and events describe, with its data counted where it is on this machine.

    Raises:
        InputError: The data file is damaged.
    """
    data = setting(values, *_DATA)
    counted, findings = _data(data, setting(values, "max_prompts", "max_samples"), near)
    known = [step for step in (steps, found.last_step) if step is not None]
    return (
        dataclasses.replace(
            counted,
            optimizer_steps=max(known, default=None),
            batch_size=whole(setting(values, "global_batch_size", "total_batch_size")),
            epochs=number(setting(values, "num_epochs", "epochs")),
            hyperparameters=dict(values),
            history=_history.of(found.points),
            validation_position_accuracy=_positions(found.points),
        ),
        findings,
    )


def _data(name: Any, limit: Any, near: Path) -> tuple[Training, tuple[Finding, ...]]:
    """Return the counted data, and why it is not counted."""
    if not isinstance(name, str) or not name:
        return Training(), (_uncounted("the settings name no data"),)
    short = Path(name).name or name
    paths = _training_data.find(name, near)
    if not paths:
        return Training(data_name=short), (
            _uncounted(f"{short} is not on this machine, or holds no JSON Lines or Parquet"),
        )
    count = _training_data.count_file(paths[0])
    for item in paths[1:]:
        count.merge(_training_data.count_file(item))
    counted = count.training(short)
    most = whole(limit)
    if most is not None and most < (counted.samples or 0):
        # Which of the samples were taken is not said, so how many of them were distinct is not known.
        return dataclasses.replace(counted, samples=most, unique_samples=None, tokens=None, data_digest=None), ()
    return counted, ()


def _uncounted(why: str) -> Finding:
    return Finding(
        code="TRAINING_DATA_NOT_COUNTED",
        severity="info",
        message=f"The number of training samples is not known: {why}.",
        fix="Log the data file together with the run, or give --samples and --tokens.",
    )


def _positions(points: Sequence[MetricPoint]) -> tuple[float, ...] | None:
    """Return the last teacher-forced accuracy per position, where all positions from 0 are there."""
    last: dict[int, MetricPoint] = {}
    for point in points:
        match = _POSITION.fullmatch(point.name)
        if match is not None and point.step >= last.get(int(match[1]), point).step:
            last[int(match[1])] = point
    if not last or sorted(last) != list(range(len(last))):
        return None
    return tuple(last[index].value for index in range(len(last)))
