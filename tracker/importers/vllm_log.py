"""vLLM engine logs: the speculative metrics of every layout since V0, and the throughput lines beside them.

V1 prints what happened since the line before, V0 what happened since the start. In V0 `accepted` counts drafts that
would have been accepted one by one, so accept length there is emitted tokens over steps. Where a log holds several
servers one after another, each that was started with other arguments is a run. Engines of one server log at the same
moment; their requests and throughputs add up.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, Reported
from tracker.domain.server import Speculation
from tracker.domain.workload import Workload
from tracker.errors import InputError
from tracker.importers import _identities, _normalise, _source
from tracker.importers.base import ImportedRun

_SPEC = re.compile(rb"(SpecDecoding|Speculative) metrics: ")
_START = re.compile(
    rb"\bvLLM API server version |\bInitializing an? (?:V\d )?LLM engine \(v|"
    rb"^\((?:APIServer|EngineCore\S*) pid=\d+\) (?:INFO|WARNING) \d\d-\d\d ",
    re.M,
)
_ARGUMENTS = re.compile(rb"non-default args: (.*)")
_LOAD = re.compile(rb"Avg generation throughput: ([\d.]+) tokens/s, Running: (\d{1,9}) reqs")
_ENGINE = re.compile(rb"Engine (\d{1,6}): ")
_STAMP = re.compile(rb"\b\d\d-\d\d \d\d:\d\d:\d\d\b")
_ACCEPTED = re.compile(rb"Accepted: (\d{1,15}) tokens|Number of accepted tokens: (\d{1,15})")
_DRAFTED = re.compile(rb"Drafted: (\d{1,15}) tokens|Number of draft tokens(?: tokens)?: (\d{1,15})")
_EMITTED = re.compile(rb"Number of emitted tokens(?: tokens)?: (\d{1,15})")
_DRAFTS = re.compile(rb"Number of speculative tokens: (\d{1,6})|Current speculative depth: (\d{1,6})")
_LENGTH = re.compile(rb"Mean acceptance length: (\d{1,6}\.\d+)")
_POSITIONS = re.compile(rb"Per-position acceptance rate: ((?:\d\.\d+(?:, )?)+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """The counts of one line."""

    accepted: int
    proposed: int
    depth: int | None
    positions: tuple[float, ...]
    length: Reported | None
    emitted: int | None
    cumulative: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Load:
    """One throughput line."""

    stamp: bytes
    engine: bytes
    running: int
    throughput: float


@dataclass(slots=True)
class _Log:
    """What a log holds of one server."""

    arguments: bytes | None = None
    lines: list[_Line] = field(default_factory=list)
    loads: list[_Load] = field(default_factory=list)


class VllmLog:
    """vLLM engine logs."""

    name = "vllm_log"
    title = "vLLM engine log: speculative metrics lines of V0 and V1, throughput lines"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the text holds vLLM's metrics lines, or its start."""
        return bool(_SPEC.search(head) or _LOAD.search(head) or _START.search(head))

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return one run a server: acceptance pooled over all lines, throughput by running requests.

        Raises:
            InputError: The log holds no whole metrics line.
        """
        logs, cut = _collect(path)
        if not logs:
            raise InputError(
                "the log holds no whole metrics line", where=str(path), hint="Start vLLM without --disable-log-stats."
            )
        single = len(logs) == 1
        return tuple(_run(log, None if single else row, cut) for row, log in enumerate(logs))


def _run(log: _Log, row: int | None, cut: str | None) -> ImportedRun:
    """Return the run of one server."""
    findings: list[Finding] = []
    loads = _by_running(log.loads)
    cells = [_throughput(running, values) for running, values in sorted(loads.items())]
    spec = None
    if log.lines:
        cell, spec, findings = _acceptance(log.lines)
        cells = [_joined(cell, cells[0])] if len(cells) == 1 else [cell, *cells]
    if not loads and any(load.running for load in log.loads):
        findings.append(_PER_ENGINE)
    concurrencies = tuple(cell.concurrency for cell in cells if cell.concurrency is not None)
    return ImportedRun(
        row=row,
        measurements=tuple(cells),
        workload=Workload(concurrencies=concurrencies),
        engine="vllm",
        speculation=spec,
        findings=tuple(findings),
        missing=cut,
    )


def _collect(path: Path) -> tuple[list[_Log], str | None]:
    """Return what the log holds of each server that printed metrics, and what a cut last line lacks."""
    logs = [_Log()]
    for line in _source.lines(path):
        text = line.content
        if (match := _ARGUMENTS.search(text)) and match[1] != logs[-1].arguments:
            if logs[-1].lines or logs[-1].loads:
                logs.append(_Log())
            logs[-1].arguments = match[1]
        elif not line.ended:
            if _SPEC.search(text) or b"Avg generation throughput" in text or b"Avg prompt throughput" in text:
                return [log for log in logs if log.lines or log.loads], "the last line is cut; it was left out"
        elif match := _SPEC.search(text):
            found = _line(text[match.end() :], cumulative=match.group(1) == b"Speculative")
            if found is not None:
                logs[-1].lines.append(found)
        elif match := _LOAD.search(text):
            logs[-1].loads += _load(match, text)
    return [log for log in logs if log.lines or log.loads], None


def _load(match: re.Match[bytes], text: bytes) -> list[_Load]:
    value = _normalise.number(match[1].decode())
    if value is None:
        return []
    stamp, engine = _STAMP.search(text), _ENGINE.search(text)
    return [
        _Load(
            stamp=b"" if stamp is None else stamp.group(),
            engine=b"" if engine is None else engine[1],
            running=int(match[2]),
            throughput=value,
        )
    ]


def _by_running(loads: Sequence[_Load]) -> Mapping[int, Sequence[float]]:
    """Return throughputs by running requests, of several engines added up; empty where their lines do not match.

    An interval in which requests came to an idle server is timed with the pause before them, so it is left out where
    the server ran as many requests at other times.
    """
    found: dict[int, list[float]] = {}
    first: dict[int, list[float]] = {}
    idle = False
    for running, throughput in _added_up(loads):
        if running and throughput:
            (first if idle else found).setdefault(running, []).append(throughput)
        idle = running == 0
    return {**first, **found}


def _added_up(loads: Sequence[_Load]) -> list[tuple[int, float]]:
    """Return running requests and throughput at each moment at which every engine logged once."""
    engines = {load.engine for load in loads}
    if len(engines) < 2:
        return [(load.running, load.throughput) for load in loads]
    moments: dict[bytes, list[_Load]] = {}
    for load in loads:
        if load.stamp:
            moments.setdefault(load.stamp, []).append(load)
    return [
        (sum(load.running for load in group), sum(load.throughput for load in group))
        for group in moments.values()
        if len(group) == len(engines) == len({load.engine for load in group})
    ]


_PER_ENGINE = Finding(
    code="THROUGHPUT_PER_RANK",
    severity="info",
    message="Several engines log their own throughput at moments of their own; it is not added up.",
    fix="Log the client's result as well.",
)


def _first(pattern: re.Pattern[bytes], text: bytes) -> int | None:
    """Return the first group that matched as a count."""
    match = pattern.search(text)
    return None if match is None else int(next(group for group in match.groups() if group is not None))


def _line(text: bytes, *, cumulative: bool) -> _Line | None:
    """Return the counts of one line; None when it holds none."""
    accepted, proposed = _first(_ACCEPTED, text), _first(_DRAFTED, text)
    if accepted is None or proposed is None:
        return None
    found = _POSITIONS.search(text)
    positions = () if found is None else tuple(float(part) for part in found.group(1).rstrip(b", ").split(b", "))
    depth = _first(_DRAFTS, text)
    length = _LENGTH.search(text)
    return _Line(
        accepted=accepted,
        proposed=proposed,
        depth=depth if depth is not None else len(positions) or None,
        positions=positions,
        length=None if length is None else _normalise.reported(length.group(1).decode()),
        emitted=_first(_EMITTED, text),
        # Early V1 printed V0's words with counts per interval and without the emitted tokens.
        cumulative=cumulative and _first(_EMITTED, text) is not None,
    )


def _acceptance(lines: list[_Line]) -> tuple[Measurement, Speculation, list[Finding]]:
    """Return the pooled acceptance of a log, what it says about the drafts, and what does not fit."""
    last_total = next((line for line in reversed(lines) if line.cumulative), None)
    counted = [last_total] if last_total is not None else lines
    depths = {line.depth for line in counted if line.depth is not None}
    accepted, proposed = sum(line.accepted for line in counted), sum(line.proposed for line in counted)
    steps = _sum_known([_steps(line) for line in counted])
    if last_total is not None and last_total.emitted is not None:
        accepted = max(last_total.emitted - steps, 0) if steps is not None else accepted
    depth = depths.pop() if len(depths) == 1 else None
    spec = Speculation(enabled=True, num_steps=depth, num_draft_tokens=None if depth is None else depth + 1)
    cell = Measurement(
        verify_steps=steps,
        accepted_drafts=accepted,
        proposed_drafts=proposed,
        extra={"metrics_lines": float(len(lines))},
    )
    findings = [*_identities.check(cell, num_steps=depth)]
    for line in counted:
        single = Measurement(
            verify_steps=_steps(line), accepted_drafts=line.accepted, reported_accept_length=line.length
        )
        if not line.cumulative:
            findings += _identities.check(single, num_steps=line.depth, position_rates=line.positions or None)
    intervals = sum(not line.cumulative for line in lines)
    if last_total is not None and intervals:
        findings.append(_mixed(intervals))
    return cell, spec, list(_identities.merge(findings))


def _mixed(intervals: int) -> Finding:
    return Finding(
        code="LOG_LINES_MIXED",
        severity="warning",
        message=f"The log holds lines that count since the server's start, the last of which is used, and {intervals} "
        "that count an interval, which are left out: they are of different servers.",
        fix="Log each server's lines as a file of their own.",
    )


def _steps(line: _Line) -> int | None:
    """Return a line's verify steps: drafted tokens over depth; else from the printed accept length."""
    if line.proposed == 0:
        return 0
    if line.depth and line.proposed % line.depth == 0:
        return line.proposed // line.depth
    if line.length is not None and line.length.value > 1:
        return round(line.accepted / (line.length.value - 1))
    return None


def _sum_known(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _throughput(running: int, values: Sequence[float]) -> Measurement:
    """Return the mean throughput of intervals of equal length."""
    mean = sum(values) / len(values)
    return Measurement(
        concurrency=running,
        reported_throughput_tok_s=Reported(value=mean, half_width=0.05),
        extra={"throughput_lines": float(len(values))},
    )


def _joined(acceptance: Measurement, throughput: Measurement) -> Measurement:
    """Return one measurement where the whole log ran at one number of requests."""
    return dataclasses.replace(
        acceptance,
        concurrency=throughput.concurrency,
        reported_throughput_tok_s=throughput.reported_throughput_tok_s,
        extra={**acceptance.extra, **throughput.extra},
    )


IMPORTER = VllmLog()
