"""From what a file and the options say to one record: merge, describe, check."""

from __future__ import annotations

import dataclasses
import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tracker import checkpoints, engines, lint
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.cleaning import cleaned
from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, RequestRow
from tracker.domain.provenance import InputFile, Provenance
from tracker.domain.record import Attachment, LoggedRun, Role, RunRecord, StoredRun, Validity
from tracker.domain.server import ServerConfig, SourceKind, Speculation
from tracker.domain.training import Training
from tracker.domain.workload import Workload
from tracker.errors import CheckpointError
from tracker.importers.base import ImportedRun
from tracker.lint.base import Subject
from tracker.workflows.adopt_facts import with_missing_facts
from tracker.workflows.campaign_file import CampaignFile
from tracker.workflows.server_sources import ServerFacts

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What the options say about a run, beyond its files."""

    experiment: str
    """Campaign."""
    name: str | None = None
    """Name given by hand."""
    role: Role | None = None
    """Role given by hand."""
    concurrency: int | None = None
    """Streams, where the file does not say."""
    drafter: str | None = None
    """Folder or Hub id."""
    target: str | None = None
    """Folder or Hub id."""
    samples: int | None = None
    """Training samples of the drafter."""
    tokens: int | None = None
    """Training tokens of the drafter."""
    trained: StoredRun | None = None
    """The training in the store that made the drafter."""
    note: str | None = None
    """Free text."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Free tags."""
    server: ServerFacts = ServerFacts()
    """How the server ran."""
    campaign: CampaignFile | None = None
    """campaign.toml around the run."""
    attachments: tuple[Attachment, ...] = ()
    """Files to keep with the run."""


def assemble(imported: ImportedRun, facts: RunFacts, provenance: Provenance) -> LoggedRun:
    """Return one record with its checks run, and without secrets whatever they were written in."""
    server = _server(imported, facts)
    speculation = (engines.speculation(server) if server else None) or imported.speculation
    declared = facts.campaign.drafter(_drafter_name(imported, speculation)) if facts.campaign else None
    drafter = _drafter(facts, imported, speculation, declared.checkpoint if declared else None)
    training = _training(facts, imported.training, declared.training if declared else None)
    measurements = tuple(_at_load(cell, facts.concurrency) for cell in imported.measurements)
    workload = _workload(imported, facts.campaign.workload if facts.campaign else None, measurements)
    cuda_graph = _first(imported.cuda_graph, engines.cuda_graph(server) if server else None)
    subject = Subject(
        server=server,
        speculation=speculation,
        target=_target(facts, imported, server),
        drafter=drafter,
        workload=workload,
        measurements=measurements,
        training=training,
        cuda_graph=cuda_graph,
    )
    findings = tuple(imported.findings) + (lint.run(subject) if imported.kind == "benchmark" else ())
    record = RunRecord(
        record_id=record_id(provenance.inputs),
        kind=imported.kind,
        experiment=facts.experiment,
        name=facts.name or imported.name or _describe(speculation, drafter),
        role=facts.role or imported.role or _role(speculation),
        server=server,
        speculation=speculation,
        target=subject.target,
        drafter=drafter,
        hardware=_first(imported.hardware, facts.campaign.hardware if facts.campaign else None),
        workload=workload,
        cuda_graph=cuda_graph,
        measurements=measurements,
        training=training,
        findings=_errors_first(findings),
        validity=_validity(imported),
        validity_reason=imported.missing,
        provenance=dataclasses.replace(provenance, measured_at=imported.measured_at or provenance.measured_at),
        tags={**imported.tags, **facts.tags},
        note=facts.note or imported.note,
    )
    requests = tuple(_request_at_load(row, facts.concurrency) for row in imported.requests)
    attachments = facts.server.attachments + facts.attachments
    return LoggedRun(record=cleaned(record), requests=cleaned(requests), attachments=attachments)


def record_id(inputs: Sequence[InputFile]) -> str:
    """Return the identity of a run: a digest of its input files and row, or a fresh UUID for typed values."""
    if not inputs:
        return str(uuid.uuid4())
    digest = hashlib.sha256()
    for item in inputs:
        digest.update(f"{item.sha256}:{item.row}\n".encode())
    return digest.hexdigest()[:40]


def _first(*values: _T | None) -> _T | None:
    return next((value for value in values if value is not None), None)


def _server(imported: ImportedRun, facts: RunFacts) -> ServerConfig | None:
    configs: list[tuple[SourceKind, ServerConfig]] = list(facts.server.configs)
    if imported.server_info is not None:
        configs.append(("server_info", engines.parse_info(imported.server_info)))
    if imported.argv is not None:
        configs.append(("argv", engines.parse_argv(imported.argv)))
    common = facts.campaign.server if facts.campaign else {}
    if not configs and not common and imported.engine is None:
        return None
    declared = ServerConfig(
        engine=imported.engine or common.get("engine"),
        version=common.get("version"),
        typed=common.get("typed", {}),
        environment=common.get("environment", {}),
        sources=("campaign",) if common else ("result_file",),
    )
    if not configs:
        return engines.for_record(declared)
    combined = engines.for_record(engines.combine(configs))
    return dataclasses.replace(
        combined,
        engine=combined.engine or declared.engine,
        version=combined.version or declared.version,
        environment={**declared.environment, **combined.environment},
    )


def _drafter_name(imported: ImportedRun, speculation: Speculation | None) -> str | None:
    if imported.drafter is not None:
        return imported.drafter.name
    return speculation.draft_model_path if speculation else None


def _drafter(
    facts: RunFacts, imported: ImportedRun, speculation: Speculation | None, declared: Checkpoint | None
) -> Checkpoint | None:
    if facts.drafter:
        return checkpoints.describe(facts.drafter)
    if declared is not None:
        return declared
    if imported.drafter is not None:
        return imported.drafter
    if facts.trained is not None and facts.trained.record.drafter is not None and speculation is not None:
        return facts.trained.record.drafter if speculation.enabled else None
    path = speculation.draft_model_path if speculation else None
    return describe_if_here(path)


def _target(facts: RunFacts, imported: ImportedRun, server: ServerConfig | None) -> Checkpoint | None:
    if facts.target:
        return checkpoints.describe(facts.target)
    if facts.campaign and facts.campaign.target:
        return facts.campaign.target
    if imported.target is not None:
        return imported.target
    path = facts.server.model_path or (server.get("model_path") if server else None)
    return describe_if_here(path if isinstance(path, str) else None)


def describe_if_here(path: str | None) -> Checkpoint | None:
    """Return a checkpoint described from its files when they are on this machine, else by its name alone."""
    if path is None:
        return None
    try:
        return checkpoints.describe(path)
    except CheckpointError:
        return Checkpoint(name=Path(path.rstrip("/")).name if path.startswith(("/", ".", "~")) else path, path=path)


def _training(facts: RunFacts, read: Training | None, declared: Training | None) -> Training | None:
    training = read or declared
    if facts.samples is not None or facts.tokens is not None:
        known = training or Training()
        training = dataclasses.replace(
            known,
            samples=_first(facts.samples, known.samples),
            tokens=_first(facts.tokens, known.tokens),
        )
    return training if facts.trained is None else with_missing_facts(training, facts.trained)


def _workload(imported: ImportedRun, declared: Workload | None, measurements: Sequence[Measurement]) -> Workload | None:
    loads = tuple(sorted({cell.concurrency for cell in measurements if cell.concurrency is not None}))
    derived = _from_requests(imported.requests)
    merged: dict[str, object] = {"concurrencies": loads} if loads else {}
    for item in (imported.workload, derived, declared):
        if item is None:
            continue
        for entry in dataclasses.fields(Workload):
            value = getattr(item, entry.name)
            if merged.get(entry.name) in (None, ()) and value not in (None, ()):
                merged[entry.name] = value
    return Workload(**merged) if merged else None  # type: ignore[arg-type]


def _from_requests(rows: Sequence[RequestRow]) -> Workload | None:
    keys = sorted({row.prompt_key for row in rows if row.prompt_key is not None})
    # Keys of token counts alone, without a category, would make unequal prompt sets equal.
    if not keys or any(key.startswith("weak::") for key in keys):
        return None
    return Workload(
        prompts=len(keys),
        prompt_set_digest=hashlib.sha256("\n".join(keys).encode()).hexdigest(),
        categories=tuple(sorted({row.category for row in rows if row.category is not None})),
    )


def _at_load(cell: Measurement, concurrency: int | None) -> Measurement:
    if cell.concurrency is not None or concurrency is None:
        return cell
    return dataclasses.replace(cell, concurrency=concurrency)


def _request_at_load(row: RequestRow, concurrency: int | None) -> RequestRow:
    if row.concurrency is not None or concurrency is None:
        return row
    return dataclasses.replace(row, concurrency=concurrency)


def _role(speculation: Speculation | None) -> Role | None:
    if speculation is None:
        return None
    return "candidate" if speculation.enabled else "baseline"


def _describe(speculation: Speculation | None, drafter: Checkpoint | None) -> str:
    if speculation is None:
        return "unnamed run"
    if not speculation.enabled:
        return "baseline"
    triple = (speculation.num_steps, speculation.eagle_topk, speculation.num_draft_tokens)
    parts = [
        drafter.name if drafter else None,
        speculation.algorithm,
        "-".join("?" if part is None else str(part) for part in triple) if any(triple) else None,
    ]
    return " ".join(part for part in parts if part) or "speculative run"


def _validity(imported: ImportedRun) -> Validity:
    return "partial" if imported.missing else "ok"


def _errors_first(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    order = {"error": 0, "warning": 1, "info": 2}
    return tuple(sorted(findings, key=lambda finding: order[finding.severity]))
