"""vLLM engine logs: the speculative metrics of every layout since V0, and the throughput lines beside them.

V1 prints what happened since the line before, V0 what happened since the start. In V0 `accepted` counts drafts that
would have been accepted one by one, so accept length there is emitted tokens over steps.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from pathlib import Path

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, Reported
from tracker.domain.server import Speculation
from tracker.domain.workload import Workload
from tracker.errors import InputError
from tracker.importers import _identities, _normalise, _source
from tracker.importers.base import ImportedRun

_SPEC = re.compile(rb"(SpecDecoding|Speculative) metrics: ")
_LOAD = re.compile(rb"Avg generation throughput: ([\d.]+) tokens/s, Running: (\d+) reqs")
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


class VllmLog:
    """vLLM engine logs."""

    name = "vllm_log"
    title = "vLLM engine log: speculative metrics lines of V0 and V1, throughput lines"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the text holds vLLM's metrics lines."""
        return bool(_SPEC.search(head) or _LOAD.search(head))

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the one run of the log: acceptance pooled over all lines, throughput by running requests.

        Raises:
            InputError: The log holds no whole metrics line.
        """
        lines, loads = _collect(path)
        if not lines and not loads:
            raise InputError(
                "the log holds no whole metrics line", where=str(path), hint="Start vLLM without --disable-log-stats."
            )
        findings: list[Finding] = []
        cells = [_throughput(running, values) for running, values in sorted(loads.items())]
        spec = None
        if lines:
            cell, spec, findings = _acceptance(lines)
            cells = [_joined(cell, cells[0])] if len(cells) == 1 else [cell, *cells]
        concurrencies = tuple(cell.concurrency for cell in cells if cell.concurrency is not None)
        return (
            ImportedRun(
                measurements=tuple(cells),
                workload=Workload(concurrencies=concurrencies),
                engine="vllm",
                speculation=spec,
                findings=tuple(findings),
            ),
        )


def _collect(path: Path) -> tuple[list[_Line], dict[int, list[float]]]:
    """Return speculative lines, and generation throughputs by running requests."""
    lines: list[_Line] = []
    loads: dict[int, list[float]] = {}
    for line in _source.lines(path):
        if not line.ended:
            break
        if match := _SPEC.search(line.content):
            found = _line(line.content[match.end() :], cumulative=match.group(1) == b"Speculative")
            if found is not None:
                lines.append(found)
        elif match := _LOAD.search(line.content):
            running, value = int(match.group(2)), _normalise.number(match.group(1).decode())
            if running > 0 and value:
                loads.setdefault(running, []).append(value)
    return lines, loads


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
    return cell, spec, list(_identities.merge(findings))


def _steps(line: _Line) -> int | None:
    """Return a line's verify steps: drafted tokens over depth; else from the printed accept length."""
    if line.depth and line.proposed % line.depth == 0:
        return line.proposed // line.depth
    if line.length is not None and line.length.value > 1:
        return round(line.accepted / (line.length.value - 1))
    return None


def _sum_known(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _throughput(running: int, values: list[float]) -> Measurement:
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
