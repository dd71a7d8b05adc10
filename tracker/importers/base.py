"""What an importer is and what it returns.

A new importer is one module here with a constant `IMPORTER` and one sample folder `tests/data/<module name>/`;
the contract test finds both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, RequestRow
from tracker.domain.record import Role, RunKind
from tracker.domain.server import Speculation
from tracker.domain.training import Training
from tracker.domain.workload import Hardware, Workload

HEAD_BYTES = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRun:
    """One run as a file tells it. What the file does not say is None and is filled from elsewhere, or stays None."""

    kind: RunKind = "benchmark"
    """benchmark or training."""
    name: str | None = None
    """Name in the source, e.g. the first column of a table."""
    role: Role | None = None
    """baseline where the source says so, e.g. a row without speculation."""
    row: int | None = None
    """Row of a table or index inside a file of several runs, 0-based; None when the file is one run."""
    measured_at: datetime | None = None
    """When it was measured, UTC."""
    measurements: tuple[Measurement, ...] = ()
    """Pooled cell per concurrency first, then per repeat and per category."""
    requests: tuple[RequestRow, ...] = ()
    """Per-request rows."""
    workload: Workload | None = None
    """What was asked."""
    hardware: Hardware | None = None
    """Where, when the source says."""
    server_info: Mapping[str, Any] | None = None
    """Embedded `/server_info` body, raw; the workflow hands it to the engine room."""
    argv: tuple[str, ...] | None = None
    """Embedded launch command, raw."""
    engine: str | None = None
    """Engine named by the source."""
    speculation: Speculation | None = None
    """Speculative settings named by the source, when it holds no server_info or argv."""
    cuda_graph: bool | None = None
    """CUDA graph setting named by the source."""
    drafter: Checkpoint | None = None
    """Drafter named by the source."""
    target: Checkpoint | None = None
    """Target named by the source."""
    training: Training | None = None
    """Training facts."""
    note: str | None = None
    """Free text of the source."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Columns or fields that have no place of their own, as text."""
    findings: tuple[Finding, ...] = ()
    """Contradictions met while reading."""
    missing: str | None = None
    """What a truncated input lacks, in words; the record's validity becomes `partial`."""


class Importer(Protocol):
    """Reader of one tool's output.

    An importer with a class attribute `generic = True` recognises a shape (a table) and not a tool; it comes last.
    """

    name: str
    """Name for `--as`; equals the module's name."""
    title: str
    """One line for `--formats`."""

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether this file (its first HEAD_BYTES) or folder (head empty) is this tool's; content decides."""
        ...

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the runs in the file or folder.

        Raises:
            InputError: Nothing in it is whole, or a needed column or key is missing; names file, line and key.
        """
        ...
