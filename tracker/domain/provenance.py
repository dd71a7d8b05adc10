"""Where a record came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """One file a record was read from."""

    name: str
    """File name without its folder."""
    sha256: str
    """Digest of the whole file."""
    size_bytes: int
    """Size."""
    row: int | None = None
    """Row of a table, 0-based; None when the whole file is one run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Who, when, where and with what."""

    measured_at: datetime | None = None
    """When the benchmark or training ran, UTC; None when the source does not say."""
    logged_at: datetime
    """When the record was made, UTC."""
    logged_by: str | None = None
    """Masked user name."""
    tracker_version: str
    """Version of this package."""
    importer: str | None = None
    """Importer that read the input."""
    inputs: tuple[InputFile, ...] = ()
    """Files read."""
    command: tuple[str, ...] | None = None
    """Command that `log-run -- COMMAND` ran around, redacted."""
    command_exit_code: int | None = None
    """Its exit code."""
    git_commit: str | None = None
    """Commit of the working tree that log-run was called in."""
    git_dirty: bool | None = None
    """Whether that tree had uncommitted changes."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Installed versions of the packages that matter: sglang, vllm, torch, ..."""
    platform: str | None = None
    """Operating system and Python version."""
    host: str | None = None
    """Masked host name."""
    scheduler: Mapping[str, str] = field(default_factory=dict)
    """SLURM_* and CI identifiers."""

    def __post_init__(self) -> None:
        """Refuse times without a zone: they cannot be compared.

        Raises:
            ValueError: A time is naive.
        """
        for name in ("measured_at", "logged_at"):
            moment: datetime | None = getattr(self, name)
            if moment is not None and moment.tzinfo is None:
                raise ValueError(f"{name} has no time zone")
