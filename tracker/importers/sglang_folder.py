"""A folder that describes one SGLang server: its command, `/server_info`, `/metrics` before and after, log, results.

Files are told apart by content: the launch command is a JSON list of texts, `/server_info` and `/model_info` are
objects, metrics are Prometheus text, the log has SGLang's decode lines or server arguments, results are what another
importer of SGLang files recognises. The log's throughput and accept length are held against the client's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement
from tracker.errors import InputError
from tracker.importers import (
    _counters,
    _cross_checks,
    _identities,
    _jsonl,
    _source,
    sglang_bench_serving,
    sglang_log,
    sglang_responses,
)
from tracker.importers.base import ImportedRun, Importer

_RESULTS: tuple[Importer, ...] = (sglang_responses.IMPORTER, sglang_bench_serving.IMPORTER)
# A run's folder holds a handful of files; a home folder named by mistake holds thousands.
MAX_FILES = 200
COUNTER_TOLERANCE_FRACTION = 0.02


@dataclass(slots=True)
class _Files:
    """The files of a folder by what they are."""

    results: list[tuple[Importer, Path]] = field(default_factory=list)
    argv: list[Path] = field(default_factory=list)
    server_info: list[Path] = field(default_factory=list)
    model_info: list[Path] = field(default_factory=list)
    metrics: list[Path] = field(default_factory=list)
    logs: list[Path] = field(default_factory=list)


class SglangFolder:
    """A folder of one server."""

    name = "sglang_folder"
    title = "folder of one SGLang server: results with launch command, /server_info, /metrics before and after, log"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the folder holds SGLang results and something that describes the server."""
        if not path.is_dir():
            return False
        files = _files(path)
        described = files.argv or files.server_info or files.model_info or files.metrics or files.logs
        return bool(files.results) and bool(described)

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the runs of the server, named after the folder.

        Raises:
            InputError: The folder holds no results, or several files of one kind.
        """
        if not path.is_dir():
            raise InputError("this is a file, not a folder", where=str(path), hint="Name the server's folder.")
        files = _files(path)
        results = _one([item for _, item in files.results], "results files")
        if results is None:
            raise InputError("the folder holds no SGLang results", where=str(path), hint="Name a results file.")
        runs = files.results[0][0].read(results)
        argv = _argv(_one(files.argv, "launch commands"))
        info = _object(_one(files.server_info, "/server_info bodies"))
        model = _object(_one(files.model_info, "/model_info bodies"))
        log, unread = _log(files.logs)
        checks = (*unread, *_cross_check(files.metrics, runs, path))
        return tuple(_described(_with_log(run, log), path, argv, info, model, checks) for run in runs)


def logs(path: Path) -> tuple[Path, ...]:
    """Return the server logs in a folder."""
    return tuple(_files(path).logs)


def _files(path: Path) -> _Files:
    """Return the folder's files by what their content is; names do not matter."""
    files = _Files()
    for index, item in enumerate(sorted(path.iterdir())):
        if index >= MAX_FILES:
            break
        if item.is_file():
            _place(item, _source.read_head(item), files)
    return files


def _place(item: Path, head: bytes, files: _Files) -> None:
    """Put one file where it belongs; other files are nobody's business."""
    if _counters.looks_like(head):
        files.metrics.append(item)
        return
    importer = next((known for known in _RESULTS if known.sniff(item, head)), None)
    if importer is not None:
        files.results.append((importer, item))
        return
    if sglang_log.IMPORTER.sniff(item, head):
        files.logs.append(item)
        return
    value = _jsonl.first_value(head)
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        if any("sglang" in part for part in value):
            files.argv.append(item)
    elif isinstance(value, dict) and "model_path" in value:
        described = "internal_states" in value or "tp_size" in value
        (files.server_info if described else files.model_info).append(item)


def _one(paths: list[Path], what: str) -> Path | None:
    """Return the only file of a kind.

    Raises:
        InputError: There are several.
    """
    if len(paths) > 1:
        raise InputError(
            f"the folder holds several {what}: {', '.join(path.name for path in paths)}",
            where=str(paths[0].parent),
            hint="Keep one server a folder, or name the results file itself.",
        )
    return paths[0] if paths else None


def _document(path: Path) -> Any:
    """Return a file's JSON value.

    Raises:
        InputError: It is cut or damaged.
    """
    try:
        return _jsonl.parse(_source.read_document(path))
    except ValueError as error:
        raise InputError(
            "the file is no whole JSON", where=str(path), hint="Copy it again, or move it out of the folder."
        ) from error


def _argv(path: Path | None) -> tuple[str, ...] | None:
    value = None if path is None else _document(path)
    return tuple(value) if isinstance(value, list) and all(isinstance(part, str) for part in value) else None


def _object(path: Path | None) -> Mapping[str, Any] | None:
    value = None if path is None else _document(path)
    return value if isinstance(value, dict) else None


def _log(paths: list[Path]) -> tuple[ImportedRun | None, tuple[Finding, ...]]:
    """Return what the only log says; None, with why, when it cannot be held against the results."""
    if not paths:
        return None, ()
    if len(paths) > 1:
        why = f"the folder holds several: {', '.join(path.name for path in paths)}"
    else:
        try:
            servers = sglang_log.IMPORTER.read(paths[0])
            if len(servers) == 1:
                return servers[0], ()
            why = f"{paths[0].name} holds {len(servers)} servers, one after another"
        except InputError as error:
            why = f"{paths[0].name}: {error.message}"
    message = f"The server's log was not compared with the results: {why}."
    return None, (Finding(code="LOG_NOT_COMPARED", severity="info", message=message),)


def _with_log(run: ImportedRun, log: ImportedRun | None) -> ImportedRun:
    """Return the run held against its server's log, with what the log alone says of the server."""
    if log is None:
        return run
    checked = _cross_checks.with_log(run, log)
    return dataclasses.replace(
        checked,
        speculation=checked.speculation or log.speculation,
        target=checked.target or log.target,
        drafter=checked.drafter or log.drafter,
        cuda_graph=log.cuda_graph if checked.cuda_graph is None else checked.cuda_graph,
    )


def _described(
    run: ImportedRun,
    path: Path,
    argv: tuple[str, ...] | None,
    info: Mapping[str, Any] | None,
    model: Mapping[str, Any] | None,
    checks: tuple[Finding, ...],
) -> ImportedRun:
    """Return the run with what the folder says about its server."""
    target = _checkpoint(info, "model_path") or _checkpoint(model, "model_path") or run.target
    return dataclasses.replace(
        run,
        name=run.name or path.resolve().name,
        argv=argv,
        server_info=info if info is not None else run.server_info,
        engine="sglang",
        target=target,
        drafter=_checkpoint(info, "speculative_draft_model_path") or (run.drafter if info is None else None),
        findings=(*run.findings, *checks),
    )


def _checkpoint(info: Mapping[str, Any] | None, key: str) -> Checkpoint | None:
    """Return the checkpoint that a body names by path or Hub id."""
    value = None if info is None else info.get(key)
    if not isinstance(value, str) or not value:
        return None
    return Checkpoint(name=PurePosixPath(value).name or value, path=value)


def _cross_check(metrics: list[Path], runs: tuple[ImportedRun, ...], folder: Path) -> tuple[Finding, ...]:
    """Return a finding for each server counter whose growth differs from what the requests add up to."""
    if not metrics:
        return ()
    if len(metrics) != 2:
        return (
            Finding(
                code="COUNTERS_NOT_COMPARED",
                severity="info",
                message=f"{folder.name} holds {len(metrics)} metrics file(s); one before and one after are needed to "
                "compare the server's counters with the requests.",
            ),
        )
    first, second = (_counters.read(path) for path in metrics)
    delta = _counters.growth(first, second)
    cells = [cell for run in runs for cell in run.measurements if cell.repeat is None and cell.category is None]
    pairs = (
        ("sglang:generation_tokens_total", "output tokens", _total(cells, "output_tokens")),
        ("sglang:spec_verify_calls_total", "verify steps", _total(cells, "verify_steps")),
    )
    return tuple(
        Finding(
            code="COUNTERS_DISAGREE",
            severity="warning",
            message=f"The server counted {delta[name]:.0f} {what} between the two metrics files, the requests add up "
            f"to {counted}.",
            fix="Other traffic reached the server, or requests are missing from the results.",
        )
        for name, what, counted in pairs
        if name in delta
        and counted is not None
        and _identities.differ(delta[name], counted, tolerance_fraction=COUNTER_TOLERANCE_FRACTION)
    )


def _total(cells: list[Measurement], name: str) -> int | None:
    """Return the sum of a count over cells; None when one does not know it."""
    values = [getattr(cell, name) for cell in cells]
    return None if not values or any(value is None for value in values) else sum(values)


IMPORTER = SglangFolder()
