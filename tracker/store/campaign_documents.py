"""The JSON files of an exported campaign: what each must hold, checked before anything of it is believed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tracker.errors import InputError

T = TypeVar("T")

DAMAGED = "Copy the folder again from where it was exported, or export again"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFile:
    """A file as the manifest lists it."""

    path: str
    """Below the folder, with forward slashes."""
    sha256: str
    """Digest of its content."""
    size_bytes: int
    """Size, in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """manifest.json."""

    format: str
    """Tells an export from any other manifest."""
    schema_version: int
    """Version of the layout."""
    experiment: str
    """Campaign."""
    files: tuple[ListedFile, ...]
    """Every other file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignDocument:
    """campaign.json."""

    facts: dict[str, Any] | None
    """What its campaign.toml says."""
    former_names: tuple[str, ...]
    """Names it had."""
    tags: dict[str, str]
    """Tags given in MLflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDocument:
    """run.json."""

    content_sha256: str
    """Digest of what was logged."""
    run_id: str
    """Its first id."""
    tags: dict[str, str]
    """Tags given in MLflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoDocument:
    """about.json."""

    key: str
    """Name of the memo within its campaign."""
    generated_at: datetime
    """When it was made."""
    verdict: str
    """What it says."""
    headline: str
    """The same in a sentence."""
    params: dict[str, str]
    """What its run in MLflow shows as parameters."""
    metrics: dict[str, float]
    """What it shows as metrics."""
    records: dict[str, str]
    """Record ids by the run ids that the memo names."""
    run_id: str
    """Its first id."""


def decode(kind: type[T], content: bytes, *, where: Path) -> T:
    """Return a document of an export.

    Raises:
        InputError: It is no JSON, or lacks something, or holds something of another kind.
    """
    try:
        return msgspec.convert(json.loads(content), kind)
    except msgspec.ValidationError as error:
        raise InputError(f"this is not what an export holds: {error}", where=str(where), hint=DAMAGED) from error
    except (ValueError, RecursionError) as error:
        raise InputError("this cannot be read as JSON", where=str(where), hint=DAMAGED) from error
