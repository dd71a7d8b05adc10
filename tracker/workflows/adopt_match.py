"""Which benchmark served the drafter that a training made: told by folders and names, and disproved by facts.

A digest of tensor names and shapes is the same for all drafters of one architecture, so equal digests prove nothing,
while different ones prove that two checkpoints differ.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Literal

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.record import RunRecord

By = Literal["folder", "name", "link"]

# Folders that every training has say nothing about which training it was.
_ANYBODYS = re.compile(
    r"outputs?|out|checkpoints?|ckpts?|models?|drafters?|drafts?|runs?|best|latest|last|final|hf|exports?|results?|tmp|"
    r"specforge-run|checkpoint_best|(?:step|epoch|iter|checkpoint)?[-_]?\d+",
    re.IGNORECASE,
)
_STEP = re.compile(r"(?P<run>.+?)[-_](?:step|epoch|iter|checkpoint)[-_]?\d{1,12}")
_FOLDER_SETTINGS = ("output_dir", "save_path")
_NAME_SETTINGS = ("run_id",)


def served_by(training: RunRecord, benchmark: RunRecord) -> Literal["folder", "name"] | None:
    """Return by what a benchmark is known to have served the drafter of a training; None when it is not known."""
    made, served = training.drafter, benchmark.drafter
    if made is None or served is None or _contradict(made, served) or _other_target(training, benchmark):
        return None
    folders = _folders(training)
    if any(_lies_in(path, folder) for path in _paths(benchmark) for folder in folders):
        return "folder"
    names = _names(training)
    return "name" if any(_same(name, own) for name in _served_names(benchmark) for own in names) else None


def _contradict(first: Checkpoint, second: Checkpoint) -> bool:
    facts = ("kind", "revision", "config_digest", "header_digest", "draft_vocab_size", "num_hidden_layers")
    pairs = [(getattr(first, name), getattr(second, name)) for name in facts]
    return any(left is not None and right is not None and left != right for left, right in pairs)


def _other_target(training: RunRecord, benchmark: RunRecord) -> bool:
    if training.target is None or benchmark.target is None:
        return False
    return _last(training.target.name).casefold() != _last(benchmark.target.name).casefold()


def _folders(training: RunRecord) -> list[str]:
    return [
        path for path in (training.drafter and training.drafter.path, *_settings(training, _FOLDER_SETTINGS)) if path
    ]


def _names(training: RunRecord) -> list[str]:
    named = [training.drafter.name if training.drafter else None, *_settings(training, _NAME_SETTINGS), training.name]
    named += [_last(folder) for folder in _folders(training)]
    return [name for name in named if name and not _ANYBODYS.fullmatch(_last(name))]


def _settings(training: RunRecord, wanted: tuple[str, ...]) -> list[str]:
    values = training.training.hyperparameters if training.training is not None else {}
    found = [value for key, value in values.items() if key.rsplit(".", 1)[-1] in wanted]
    return [value for value in found if isinstance(value, str)]


def _paths(benchmark: RunRecord) -> list[str]:
    spec = benchmark.speculation.draft_model_path if benchmark.speculation is not None else None
    path = benchmark.drafter.path if benchmark.drafter is not None else None
    return [text for text in (path, spec) if text]


def _served_names(benchmark: RunRecord) -> list[str]:
    own = [benchmark.drafter.name] if benchmark.drafter is not None else []
    return [*own, *(_last(path) for path in _paths(benchmark))]


def _lies_in(path: str, folder: str) -> bool:
    """Return whether a path is a folder or below it; relative ones are of unknown places."""
    if not path.startswith(("/", "~")) or not folder.startswith(("/", "~")):
        return False
    place = PurePosixPath(folder)
    return len(place.parts) > 1 and PurePosixPath(path).is_relative_to(place)


def _same(served: str, own: str) -> bool:
    """Return whether two names are one, or one of them is a checkpoint of the other's run."""
    first, second = _last(served), _last(own)
    match = _STEP.fullmatch(first)
    return first == second or (match is not None and match["run"] == second)


def _last(name: str) -> str:
    return PurePosixPath(name.rstrip("/")).name or name
