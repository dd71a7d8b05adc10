"""Several inputs for one run, put together and checked against each other.

Inputs of one call belong together when they complement each other and nothing else could be meant: one benchmark result
with one run, and beside it at most one server log, two readings of the counters and a description of the server; or one
training and the data it was trained on. A description goes with every run of the call. Where several runs could own a
log or counters, nothing is put together, and that is said.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tracker.domain.finding import Finding
from tracker.domain.provenance import InputFile
from tracker.domain.record import Attachment
from tracker.domain.training import Training
from tracker.errors import UsageError
from tracker.importers import _cross_checks, sglang_folder
from tracker.importers.base import ImportedRun

LOGS = frozenset({"sglang_log", "vllm_log", "llama_cpp_log"})
COUNTERS = frozenset({"prometheus"})
DESCRIPTIONS = frozenset({"server_description"})
DATA = frozenset({"training_data"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One importable thing with its identity."""

    imported: ImportedRun
    """What was read."""
    files: tuple[InputFile, ...] = ()
    """The files it came from."""
    importer: str | None = None
    """Who read it."""
    attachments: tuple[Attachment, ...] = ()
    """The originals to keep."""
    concurrency: int | None = None
    """Streams, where the campaign says."""
    simulated_on_purpose: bool = False
    """Whether the campaign says that acceptance was forced to measure step times."""
    path: Path | None = None
    """Where it came from."""
    server_logs: tuple[Path, ...] = ()
    """Server logs that were put together with it; their first lines say how the server ran."""


@dataclass(slots=True)
class _Parts:
    """The sources of a call by what they are."""

    results: list[Source] = field(default_factory=list)
    logs: list[Source] = field(default_factory=list)
    counters: list[Source] = field(default_factory=list)
    descriptions: list[Source] = field(default_factory=list)
    trainings: list[Source] = field(default_factory=list)
    data: list[Source] = field(default_factory=list)


def merge(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Return the runs of a call, with inputs that belong to one run put together.

    Raises:
        UsageError: A server is described, but nothing was measured; the inputs name different engines; one is given
            twice; or one result comes with several logs or more than two readings of the counters.
    """
    _refuse_repeated(sources)
    parts = _sorted([_with_own_log(source) for source in sources])
    measured = _benchmark(parts)
    if parts.descriptions and not measured:
        raise UsageError(
            "the inputs describe a server, but measure nothing",
            where=str(parts.descriptions[0].path),
            hint="Name the benchmark's result too.",
        )
    _refuse_empty_counters(measured)
    return (*measured, *_training(parts))


def _refuse_repeated(sources: Sequence[Source]) -> None:
    """Refuse a file that is given twice.

    Raises:
        UsageError: Two sources are one and the same content.
    """
    seen: dict[tuple[InputFile, ...], Source] = {}
    for source in sources:
        content = tuple(dataclasses.replace(item, name="") for item in source.files)
        first = seen.setdefault(content, source)
        if content and first is not source:
            raise UsageError(
                f"{_name(first)} and {_name(source)} are one and the same content",
                where=str(source.path),
                hint="Name each file once; two readings of /metrics must be of two moments.",
            )


def _refuse_empty_counters(sources: Sequence[Source]) -> None:
    """Refuse a reading of a server that had done nothing yet, unless it frames a run.

    Raises:
        UsageError: A reading counts no tokens and stands for itself.
    """
    for source in sources:
        cells = source.imported.measurements
        if source.importer in COUNTERS and not any(cell.output_tokens or cell.verify_steps for cell in cells):
            raise UsageError(
                "the metrics count neither drafts nor generated tokens",
                where=str(source.path),
                hint="Fetch /metrics after the run, or name the benchmark's result and a second reading too.",
            )


def _with_own_log(source: Source) -> Source:
    """Return the source with the log in it that says how its server ran, where nothing else in it does."""
    if source.path is None:
        return source
    if source.importer in LOGS:
        # Of several servers in one log, its first lines speak of one only; each run knows its own arguments.
        return source if source.imported.row is not None else dataclasses.replace(source, server_logs=(source.path,))
    run = source.imported
    if source.importer == sglang_folder.IMPORTER.name and run.server_info is None and run.argv is None:
        return dataclasses.replace(source, server_logs=sglang_folder.logs(source.path))
    return source


def _sorted(sources: Sequence[Source]) -> _Parts:
    parts = _Parts()
    for source in sources:
        name = source.importer
        if name in LOGS:
            parts.logs.append(source)
        elif name in COUNTERS:
            parts.counters.append(source)
        elif name in DESCRIPTIONS:
            parts.descriptions.append(source)
        elif name in DATA:
            parts.data.append(source)
        elif source.imported.kind == "training":
            parts.trainings.append(source)
        else:
            parts.results.append(source)
    return parts


def _benchmark(parts: _Parts) -> list[Source]:
    """Return the benchmark runs; a log or counters that several runs could own stay runs of their own."""
    extra: list[Source] = []
    if not parts.results and len(parts.logs) != 1 and len(parts.counters) == 2 and not parts.logs:
        # Two readings of one server are one run: what happened between them.
        runs = [_between(parts.counters)]
    elif len(parts.results) == 1 or (not parts.results and len(parts.logs) == 1):
        base = parts.results[0] if parts.results else parts.logs[0]
        logs = parts.logs if parts.results else []
        _refuse_too_many(logs, parts.counters)
        runs = [_together(base, logs, parts.counters)]
    else:
        runs = list(parts.results)
        extra = [*parts.logs, *parts.counters]
    owners = len(runs)
    apart = [_apart(source, owners) if owners else source for source in extra]
    return [_described(source, parts.descriptions) for source in (*runs, *apart)]


def _refuse_too_many(logs: Sequence[Source], counters: Sequence[Source]) -> None:
    """Refuse more logs or readings than one run has.

    Raises:
        UsageError: Which of them belong to the run is not said.
    """
    if len(logs) > 1 and len({source.path for source in logs}) == 1:
        raise UsageError(
            f"{_name(logs[0])} holds {len(logs)} servers, one after another; which of them gave the result is not said",
            where=str(logs[0].path),
            hint="Cut the log to the server that gave the result, or log it in a call of its own.",
        )
    for given, most, what in ((logs, 1, "server logs"), (counters, 2, "readings of /metrics")):
        if len(given) > most:
            raise UsageError(
                f"{len(given)} {what} were given with one result, which has at most {most}",
                where=", ".join(_name(source) for source in given),
                hint="Name the log of the server that gave the result, and its readings before and after.",
            )


def _apart(source: Source, owners: int) -> Source:
    finding = Finding(
        code="INPUT_KEPT_APART",
        severity="info",
        message=f"{_name(source)} is a run of its own: {owners} runs were given with it, and which of them it belongs "
        "to is not said.",
        fix="Log each benchmark in a call of its own, with its log and its two readings of /metrics.",
    )
    return dataclasses.replace(source, imported=_with_findings(source.imported, (finding,)))


def _name(source: Source) -> str:
    return source.path.name if source.path is not None else source.importer or "an input"


def _with_findings(run: ImportedRun, findings: Sequence[Finding]) -> ImportedRun:
    return dataclasses.replace(run, findings=(*run.findings, *findings))


def _check_engines(sources: Sequence[Source]) -> None:
    """Refuse inputs of different engines.

    Raises:
        UsageError: Two inputs name different engines.
    """
    named = [(source, source.imported.engine) for source in sources if source.imported.engine]
    for source, engine in named[1:]:
        if engine != named[0][1]:
            raise UsageError(
                f"{_name(named[0][0])} is of {named[0][1]} and {_name(source)} of {engine}, so they are not one run",
                hint="Log them in separate calls.",
            )


def _joined(base: Source, others: Sequence[Source], run: ImportedRun) -> Source:
    """Return the source of a run that several inputs make; its identity is that of all of them."""
    parts = (base, *others)
    names = dict.fromkeys(source.importer for source in parts if source.importer is not None)
    return dataclasses.replace(
        base,
        imported=run,
        files=tuple(item for source in parts for item in source.files),
        importer="+".join(names),
        attachments=_distinct([item for source in parts for item in source.attachments]),
        server_logs=tuple(path for source in parts for path in source.server_logs),
    )


def _distinct(attachments: Sequence[Attachment]) -> tuple[Attachment, ...]:
    """Return the attachments, files of one name in different folders told apart by a number."""
    found: dict[str, Attachment] = {}
    for item in attachments:
        name, number = item.name, 2
        while name in found and found[name].content != item.content:
            stem, dot, suffix = item.name.rpartition(".")
            name = f"{stem}_{number}.{suffix}" if dot else f"{item.name}_{number}"
            number += 1
        found[name] = dataclasses.replace(item, name=name)
    return tuple(found.values())


def _together(base: Source, logs: Sequence[Source], counters: Sequence[Source]) -> Source:
    """Return the run of a benchmark's result with its server's log and counters."""
    others = [*logs, *counters]
    if not others:
        return base
    _check_engines([base, *others])
    readings = [source.imported for source in counters]
    log = logs[0].imported if logs else None
    run = _filled(base.imported, [source.imported for source in others])
    checked = _cross_checks.cross_check(run, log=log, readings=readings)
    return _joined(base, others, checked)


def _between(counters: Sequence[Source]) -> Source:
    """Return the run between two readings of a server's counters."""
    _check_engines(counters)
    run = _cross_checks.between(counters[0].imported, counters[1].imported)
    return _joined(counters[0], counters[1:], run)


def _described(source: Source, descriptions: Sequence[Source]) -> Source:
    """Return the source with what the descriptions say about its server."""
    if not descriptions:
        return source
    _check_engines([source, *descriptions])
    _refuse_rival_descriptions(descriptions)
    run = _filled(source.imported, [item.imported for item in descriptions])
    run = _with_findings(run, _contradicted(source, descriptions))
    return _joined(source, descriptions, run)


def _refuse_rival_descriptions(sources: Sequence[Source]) -> None:
    """Refuse two descriptions of one kind that differ in what they say about the server.

    Raises:
        UsageError: Which of them is the server that was measured is not known.
    """
    for name, what in (("server_info", "/server_info bodies"), ("argv", "launch commands")):
        given = [source for source in sources if getattr(source.imported, name) is not None]
        for source in given[1:]:
            first, other = getattr(given[0].imported, name), getattr(source.imported, name)
            if (difference := _difference(first, other)) is not None:
                raise UsageError(
                    f"{_name(given[0])} and {_name(source)} are {what} of two servers: {difference}",
                    where=str(source.path),
                    hint="Name the description of the server that gave the result.",
                )


def _contradicted(source: Source, descriptions: Sequence[Source]) -> tuple[Finding, ...]:
    """Return a finding where the description that a result embeds is of another server than the one given with it."""
    own = source.imported.server_info
    for given in descriptions:
        info = given.imported.server_info
        difference = None if own is None or info is None else _difference(own, info)
        if difference is not None:
            message = (
                f"The /server_info in {_name(source)} and {_name(given)} are of two servers: {difference}; the first"
            )
            return (
                Finding(
                    code="SERVER_SOURCES_DISAGREE",
                    severity="warning",
                    message=f"{message} is kept.",
                    fix="Name the description of the server that gave the result.",
                ),
            )
    return ()


# What one server changes from one body to the next is none of these.
_IDENTIFYING = (
    "model_path", "version", "tp_size", "dp_size", "speculative_algorithm", "speculative_draft_model_path",
    "speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens", "port",
)  # fmt: skip


def _difference(first: Any, other: Any) -> str | None:
    """Return how two descriptions differ, naming both values; None where they are of one server."""
    if not isinstance(first, Mapping):
        pairs = enumerate(zip_longest(first, other, fillvalue="nothing"))
        return next((f"argument {at} is `{one}` and `{two}`" for at, (one, two) in pairs if one != two), None)
    for key in _IDENTIFYING:
        if key in first and key in other and first[key] != other[key]:
            return f"{key} is {first[key]} and {other[key]}"
    return None


_FILLED = ("server_info", "argv", "engine", "speculation", "cuda_graph", "drafter", "target", "hardware", "measured_at")


def _filled(run: ImportedRun, others: Sequence[ImportedRun]) -> ImportedRun:
    """Return the run with what it does not say itself taken from the others, the first that says it."""
    changes: dict[str, Any] = {}
    for name in _FILLED:
        if getattr(run, name) is None:
            changes[name] = next((value for other in others if (value := getattr(other, name)) is not None), None)
    tags = {key: value for other in reversed(others) for key, value in other.tags.items()}
    missing = "; ".join(text for text in (run.missing, *(other.missing for other in others)) if text) or None
    return dataclasses.replace(run, tags={**tags, **run.tags}, missing=missing, **changes)


def _training(parts: _Parts) -> list[Source]:
    """Return the training runs; the data of a single training is counted into it."""
    if len(parts.trainings) != 1 or not parts.data:
        return [*parts.trainings, *parts.data]
    base = parts.trainings[0]
    run = base.imported
    for source in parts.data:
        counted = source.imported.training
        if counted is not None:
            run = dataclasses.replace(run, training=_with_data(run.training or Training(), counted, len(parts.data)))
    findings = tuple(finding for finding in run.findings if finding.code != "TRAINING_DATA_NOT_COUNTED")
    return [_joined(base, parts.data, dataclasses.replace(run, findings=findings))]


def _with_data(training: Training, data: Training, files: int) -> Training:
    """Return the training with the counts of a data file; of several files samples and tokens add up."""
    if files == 1:
        return dataclasses.replace(
            training,
            samples=data.samples if training.samples is None else training.samples,
            unique_samples=data.unique_samples if training.unique_samples is None else training.unique_samples,
            tokens=data.tokens if training.tokens is None else training.tokens,
            data_name=training.data_name or data.data_name,
            data_digest=training.data_digest or data.data_digest,
        )
    # Samples may repeat across files, so how many are distinct is not known.
    return dataclasses.replace(
        training,
        samples=(training.samples or 0) + (data.samples or 0),
        tokens=None if data.tokens is None else (training.tokens or 0) + data.tokens,
    )
