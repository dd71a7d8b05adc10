"""From one server of a sweep to the run that is logged, and to the folder that keeps its files."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tracker.domain.measurement import Measurement
from tracker.domain.provenance import InputFile
from tracker.domain.record import Attachment, LoggedRun, Role
from tracker.domain.redaction import clean_text, redact_argv
from tracker.domain.server import ServerConfig, SourceKind
from tracker.domain.workload import Hardware
from tracker.engines import LiveServer
from tracker.environment import provenance
from tracker.importers.base import ImportedRun
from tracker.launchers import tail
from tracker.workflows.assemble import RunFacts, assemble
from tracker.workflows.server_sources import ServerFacts
from tracker.workflows.session import Session
from tracker.workflows.sweep_argv import launcher_tags
from tracker.workflows.sweep_check import as_intended, config_of
from tracker.workflows.sweep_models import filled, local_folder, training_beside
from tracker.workflows.sweep_plan import Arm, SweepPlan

# The start of a server's log holds its arguments, the end its failure.
_ANSWERS = (".jsonl", ".json", ".csv")
_LOG_HEAD_BYTES = 64 * 2**10
_LOG_TAIL_BYTES = 64 * 2**10


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One server of a sweep with everything that is known about it."""

    arm: Arm
    """The server."""
    name: str
    """Name of the run and of its folder."""
    argv: tuple[str, ...]
    """Its command as launched, or as it would have been."""
    run: ImportedRun
    """What was measured; empty for a server that was refused or failed."""
    log: Path | None = None
    """What it printed."""
    live: LiveServer | None = None
    """What it said about itself after the measurement."""
    files: Mapping[str, bytes] = dataclasses.field(default_factory=dict)
    """Further files to keep: `requests.jsonl`, `metrics_before.prom`."""
    invalid: str | None = None
    """Why there are no numbers, or why they must not be used."""
    suspect: str | None = None
    """Why the numbers are doubtful."""
    note: str | None = None
    """How it was measured."""
    tags: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Facts about the sweep."""


def files_of(outcome: Outcome) -> dict[str, bytes]:
    """Return a server's files as they are kept, secrets removed."""
    launch = (*_settings(outcome.arm.environment), *outcome.argv)
    files = {"argv.json": json.dumps(list(redact_argv(launch)), ensure_ascii=False).encode()}
    if outcome.live is not None:
        files |= {name: body for name, body in outcome.live.bodies.items() if name != "models.json"}
    if outcome.log is not None:
        files["server.log"] = _log(outcome.log)
    return files | dict(outcome.files)


def to_logged(
    outcome: Outcome, files: Mapping[str, bytes], plan: SweepPlan, session: Session, hardware: Hardware | None
) -> LoggedRun:
    """Return the record of one server with its files attached; `hardware` is what the driver here says."""
    arm = outcome.arm
    # Answers tell one measurement from the next. A server that failed twice leaves the same files twice: without
    # inputs each time gets an identity of its own.
    inputs = tuple(
        InputFile(name=name, sha256=hashlib.sha256(content).hexdigest(), size_bytes=len(content))
        for name, content in files.items()
        if outcome.invalid is None and (name == "argv.json" or (name in outcome.files and name.endswith(_ANSWERS)))
    )
    told = provenance.collect(
        now=datetime.now(UTC),
        environ=session.environ,
        cwd=session.cwd,
        importer="sweep",
        inputs=inputs,
        measured_at=outcome.run.measured_at,
    )
    drafter, target = local_folder(plan.models, arm.drafter), local_folder(plan.models, plan.target)
    declared = plan.campaign.drafter(arm.drafter)
    role: Role = "baseline" if arm.is_baseline else "candidate"
    facts = RunFacts(
        experiment=plan.campaign.campaign.name,
        name=outcome.name,
        role=role,
        drafter=None if drafter is None else str(drafter),
        target=None if target is None else str(target),
        note=outcome.note,
        tags={**outcome.tags, **launcher_tags(plan.table)},
        server=_server_facts(outcome),
        campaign=plan.campaign,
        attachments=tuple(Attachment(name=f"server/{name}", content=content) for name, content in files.items()),
    )
    imported = dataclasses.replace(
        outcome.run,
        training=outcome.run.training or training_beside(drafter),
        hardware=outcome.run.hardware or _merged(hardware, plan.campaign.hardware),
    )
    run = assemble(imported, facts, told)
    record = run.record.replace(findings=as_intended(run.record.findings, arm))
    if record.drafter is not None and declared is not None:
        record = record.replace(drafter=filled(record.drafter, declared.checkpoint))
    if record.target is not None and plan.campaign.target is not None:
        record = record.replace(target=filled(record.target, plan.campaign.target))
    if outcome.invalid is not None:
        record = record.replace(validity="invalid", validity_reason=outcome.invalid)
    elif outcome.suspect is not None:
        record = record.replace(validity="suspect", validity_reason=outcome.suspect)
    return dataclasses.replace(run, record=record)


def with_neighbours(run: ImportedRun, *, before: Mapping[int, float], after: Mapping[int, float]) -> ImportedRun:
    """Return the run with the baseline's throughput right before and after it, per concurrency.

    Args:
        run: What was measured.
        before: Output tok/s of the baseline just before, by concurrency.
        after: The same just after.
    """

    def cell(item: Measurement) -> Measurement:
        if item.category is not None or item.repeat is not None or item.concurrency is None:
            return item
        extra = dict(item.extra)
        for name, values in (("before", before), ("after", after)):
            if item.concurrency in values:
                extra[f"baseline_{name}_output_throughput_tok_s"] = values[item.concurrency]
        return dataclasses.replace(item, extra=extra)

    return dataclasses.replace(run, measurements=tuple(cell(item) for item in run.measurements))


def _settings(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the words that set a server's variables: some change what is measured, and no server tells them."""
    return ("env", *(f"{name}={value}" for name, value in environment.items())) if environment else ()


def _server_facts(outcome: Outcome) -> ServerFacts:
    configs: list[tuple[SourceKind, ServerConfig]] = []
    model_path = None
    if outcome.live is not None:
        configs.append(("server_info", outcome.live.config))
        model_path = outcome.live.model_path
    launched = config_of(outcome.argv, dict(outcome.arm.environment))
    if launched is not None:
        configs.append(("argv", launched))
    return ServerFacts(configs=tuple(configs), model_path=model_path)


def _merged(seen: Hardware | None, declared: Hardware | None) -> Hardware | None:
    """Return what campaign.toml declares, with what only the driver knows; a server may use a part of the GPUs seen."""
    if seen is None or declared is None:
        return seen or declared
    told = {
        item.name: getattr(declared, item.name)
        for item in dataclasses.fields(Hardware)
        if getattr(declared, item.name) is not None
    }
    return dataclasses.replace(seen, **told)


def _log(path: Path) -> bytes:
    """Return a server's log as it may be kept: cleaned, its middle left out where it is long."""
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            head = stream.read(_LOG_HEAD_BYTES).decode("utf-8", "replace")
    except OSError:
        return b""
    if size <= _LOG_HEAD_BYTES:
        return clean_text(head).encode()
    rest = tail(path, min(_LOG_TAIL_BYTES, size - _LOG_HEAD_BYTES))
    left_out = size - _LOG_HEAD_BYTES - _LOG_TAIL_BYTES
    gap = f"\n[... {left_out} bytes left out ...]\n" if left_out > 0 else ""
    return clean_text(head + gap + rest).encode()
