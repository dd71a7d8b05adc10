"""A training set of conversations or token ids, JSON Lines, JSON or Parquet: how many samples, distinct ones, tokens.

Log it together with the training's log or folder, whose tools rarely say how much data they saw.
"""

from __future__ import annotations

from pathlib import Path

from tracker.errors import InputError
from tracker.importers import _jsonl, _training_data
from tracker.importers.base import ImportedRun


class TrainingData:
    """Data files of a drafter training."""

    name = "training_data"
    title = "training set (conversations, messages or input_ids), JSON Lines or Parquet, counted"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the first object, or the columns, are those of a training set."""
        if head.startswith(_training_data.PARQUET_MAGIC):
            columns = set(_training_data.parquet_columns(path))
            return bool(columns & {"conversations", "messages", "input_ids"})
        value = _jsonl.first_value(head)
        return _training_data.is_sample(value[0] if isinstance(value, list) and value else value)

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the data side of a training run.

        Raises:
            InputError: There is no whole sample, or a line is no object.
        """
        count = _training_data.count_file(path)
        if not count.samples:
            raise InputError(
                "there is no whole sample in it" + (f": {count.cut}" if count.cut else ""),
                where=str(path),
                hint="Each line is one sample.",
            )
        name = path.name.split(".")[0] or None
        return (ImportedRun(kind="training", training=count.training(name), missing=count.cut),)


IMPORTER = TrainingData()
