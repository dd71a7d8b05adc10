"""Errors a user can do something about.

    TrackerError                 message, where, hint, exit_code 1
    ├── InputError               a file or value that cannot be read or means nothing
    │   └── UnknownFormatError   no importer recognises the file
    ├── ServerError              an inference server that does not answer, or answers something else
    ├── CheckpointError          a checkpoint folder that cannot be described
    ├── StoreError               the MLflow store is down, refused, or too old
    │   └── RunNotFoundError     no such run
    ├── RecordConflictError      the same record id with different content
    ├── DeliveryError            a memo that could not be mailed
    └── UsageError               options that contradict each other; exit_code 2

Only `tracker.cli.main` catches them.
"""

from __future__ import annotations


class TrackerError(Exception):
    """An expected failure: says what happened, where, and what to do next."""

    exit_code = 1

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        """Keep the three parts apart so that the command line can lay them out."""
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        """Return all three parts in one line."""
        parts = [f"{self.where}: {self.message}" if self.where else self.message]
        if self.hint:
            parts.append(self.hint)
        return " ".join(part if part.endswith((".", "?", "!")) else f"{part}." for part in parts)


class InputError(TrackerError):
    """A file or value that cannot be read, or that means nothing."""


class UnknownFormatError(InputError):
    """No importer recognises the file."""


class ServerError(TrackerError):
    """An inference server that does not answer, or answers something unexpected."""


class CheckpointError(TrackerError):
    """A checkpoint folder that cannot be described."""


class StoreError(TrackerError):
    """The store is unreachable, refuses, or has an unsuitable schema."""


class RunNotFoundError(StoreError):
    """No run has this id or name."""


class RecordConflictError(TrackerError):
    """A record with this id is already stored with different content."""


class DeliveryError(TrackerError):
    """A memo could not be delivered."""


class UsageError(TrackerError):
    """Options that contradict each other or name something that cannot be meant."""

    exit_code = 2
