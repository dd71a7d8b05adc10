"""The output folder of a speculators training: `train_command.txt`, `run.yaml` (what is not default), event files.

`train/eal` and `accept_len` are estimates under teacher forcing (bonus included): training metrics, never measured
accept lengths.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.redaction import redact_text
from tracker.errors import InputError
from tracker.importers import _source, _training_run
from tracker.importers.base import ImportedRun

_COMMAND = "train_command.txt"
_VALUES = "run.yaml"
_HEADER = re.compile(r"# ([A-Za-z][\w .-]{0,40}): (.{1,120})")
_MARK = re.compile(rb"^# speculators: ", re.M)


class SpeculatorsRun:
    """speculators' training folders."""

    name = "speculators_run"
    title = "output folder of a speculators training: train_command.txt, run.yaml, event files"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the folder holds the command of a speculators training."""
        command = path / _COMMAND
        return path.is_dir() and command.is_file() and bool(_MARK.search(_source.read_head(command)))

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the one training run.

        Raises:
            InputError: The folder holds no command, or a file in it is damaged.
        """
        command = path / _COMMAND
        if not command.is_file():
            raise InputError(f"the folder holds no {_COMMAND}", where=str(path), hint="Name the output folder.")
        header, arguments = _command(command)
        values: dict[str, Any] = dict(arguments)
        if (path / _VALUES).is_file():
            values |= _training_run.flat(_training_run.settings(path / _VALUES) or {})
        found = _training_run.events(_training_run.files(path))
        training, findings = _training_run.training(values, found, steps=None, near=path)
        target = _training_run.setting(values, "verifier_name_or_path", "target_model")
        name = path.resolve().name
        return (
            ImportedRun(
                kind="training",
                name=name,
                measured_at=_moment(header.get("timestamp")),
                drafter=Checkpoint(name=name),
                target=Checkpoint(name=target.rstrip("/").rsplit("/", 1)[-1], path=target)
                if isinstance(target, str) and target
                else None,
                training=training,
                tags={f"train.{key}": value for key, value in header.items() if key != "timestamp"},
                findings=findings,
                missing=found.missing,
            ),
        )


def _command(path: Path) -> tuple[dict[str, str], Mapping[str, str]]:
    """Return the versions above the command, and its arguments by name."""
    header: dict[str, str] = {}
    words: list[str] = []
    for line in redact_text(_source.read_text(path)).splitlines():
        match = _HEADER.fullmatch(line.strip())
        if match is not None:
            header[match[1].lower().replace(" ", "_")] = match[2]
        elif line.strip() and not line.startswith("#"):
            words += _words(line)
    return header, _arguments(words)


def _words(line: str) -> Sequence[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _arguments(words: Sequence[str]) -> dict[str, str]:
    """Return `--name value` and `--name=value` by name; a flag without a value is `true`."""
    found: dict[str, str] = {}
    for index, word in enumerate(words):
        if not word.startswith("--") or len(word) < 3:
            continue
        name, equals, value = word[2:].partition("=")
        following = words[index + 1] if index + 1 < len(words) else "--"
        if not equals:
            value = "true" if following.startswith("--") else following
        found[name.replace("-", "_")] = value[:200]
    return found


def _moment(text: str | None) -> datetime | None:
    try:
        moment = None if text is None else datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment is None or moment.tzinfo is None else moment.astimezone(UTC)


IMPORTER = SpeculatorsRun()
