"""The record of one run: the truth, of which MLflow holds a searchable projection."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, RequestRow
from tracker.domain.provenance import Provenance
from tracker.domain.server import ServerConfig, Speculation
from tracker.domain.training import Training
from tracker.domain.workload import Hardware, Workload

SCHEMA_VERSION = 1

RunKind = Literal["benchmark", "training"]
Role = Literal["baseline", "candidate"]
Validity = Literal["ok", "suspect", "partial", "invalid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """A correction made after logging."""

    at: datetime
    """When, UTC."""
    by: str | None
    """Who, masked."""
    changes: Mapping[str, Any]
    """Field and new value, e.g. `{"validity": "suspect"}`."""
    reason: str | None = None
    """Why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One benchmark (one server configuration on one workload) or one drafter training."""

    record_id: str
    """Digest of the input files and row number, or a UUID for values typed by hand."""
    kind: RunKind
    """benchmark or training."""
    experiment: str
    """Campaign the run belongs to."""
    name: str
    """What a person would call it; says what differs."""
    role: Role | None = None
    """baseline or candidate; None when neither was said nor follows from the flags."""
    server: ServerConfig | None = None
    """How the server ran; None when not recorded."""
    speculation: Speculation | None = None
    """The speculative part; None when not recorded."""
    target: Checkpoint | None = None
    """The model served."""
    drafter: Checkpoint | None = None
    """The draft model served or trained."""
    hardware: Hardware | None = None
    """Where the server ran."""
    workload: Workload | None = None
    """What was asked of it."""
    cuda_graph: bool | None = None
    """Whether decoding ran in CUDA graphs."""
    measurements: tuple[Measurement, ...] = ()
    """Pooled, per-repeat and per-category cells."""
    training: Training | None = None
    """Data and budget of the drafter (for a training run: of this run)."""
    findings: tuple[Finding, ...] = ()
    """What the checks found."""
    validity: Validity = "ok"
    """Whether the numbers may be used."""
    validity_reason: str | None = None
    """Why not."""
    supersedes: str | None = None
    """Record id that this one replaces."""
    provenance: Provenance
    """Who, when, where."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Free tags of the user."""
    note: str | None = None
    """Free text of the user."""
    amendments: tuple[Amendment, ...] = ()
    """Corrections, oldest first; already applied to the fields above."""
    schema_version: int = SCHEMA_VERSION
    """Version of this layout."""

    @property
    def measured_at(self) -> datetime:
        """When it was measured, else when it was logged."""
        return self.provenance.measured_at or self.provenance.logged_at

    @property
    def is_speculative(self) -> bool | None:
        """Whether the server speculated; None when not recorded."""
        return None if self.speculation is None else self.speculation.enabled

    @property
    def acceptance_voided_by(self) -> Finding | None:
        """The finding that voids this run's acceptance, else None.

        One that names the wrong flag comes before one that only sees its result.
        """
        voiding = [finding for finding in self.findings if "acceptance" in finding.voids]
        return min(voiding, key=lambda finding: finding.flag_after is None, default=None)

    def pooled(self) -> tuple[Measurement, ...]:
        """Return the cells that pool all repeats and categories, one per concurrency, ascending."""
        cells = [cell for cell in self.measurements if cell.category is None and cell.repeat is None]
        return tuple(sorted(cells, key=lambda cell: -1 if cell.concurrency is None else cell.concurrency))

    def replace(self, **changes: Any) -> RunRecord:
        """Return a copy with some fields changed."""
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file that travels with a record as an artifact."""

    name: str
    """Path inside the artifact folder, e.g. `input/requests.jsonl`."""
    content: bytes
    """Content, texts and secrets already removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRun:
    """A record with what travels beside it."""

    record: RunRecord
    """The record."""
    requests: tuple[RequestRow, ...] = ()
    """Per-request rows."""
    attachments: tuple[Attachment, ...] = ()
    """Originals and server files, cleaned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A record as read back from a store."""

    run_id: str
    """The store's own id; MLflow's run id."""
    record: RunRecord
    """The record."""
    url: str | None = None
    """Link to the run in the MLflow UI; None for an embedded store without a server."""
    requests: tuple[RequestRow, ...] = ()
    """Per-request rows, when asked for."""
    earlier_ids: tuple[str, ...] = ()
    """Ids that it had in stores it was copied from, the first one first; memos made there name it by them."""
