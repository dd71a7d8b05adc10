"""SGLang server logs: the decode lines of every generation since 0.4.

A decode line sums up the decode steps since the one before (40 by default), so its accept length weighs as much as the
requests that ran, and its throughput is tokens over the wall time since then, pauses included: the first line after an
idle time says nothing about speed. Tensor-parallel ranks repeat one another; only the first of each data-parallel rank
counts. Where a log holds several servers one after another, each that was started with other arguments is a run.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, Reported
from tracker.domain.server import Speculation
from tracker.domain.workload import Workload
from tracker.errors import InputError
from tracker.importers import _decode_lines, _identities, _normalise, _server_args, _source
from tracker.importers.base import ImportedRun

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_SIGNS = re.compile(
    rb"\bDecode batch[^\n]*#running-req: |\bserver_args=(ServerArgs\(|\{)|\bPrefill batch[.,] #new-seq: |"
    rb"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: (?:[DTPE]P|CP)\d+)+\] ",
    re.M,
)
_BATCH = re.compile(rb"(?=Decode batch|Prefill batch)")
_RUNNING = re.compile(rb"#running-req: (\d{1,9})\b")
_THROUGHPUT = re.compile(rb"(?<=[ ,])gen throughput \(token/s\): (\d{1,9}\.\d{1,6})\b")
_LENGTH = re.compile(rb"(?<=, )accept len: (\d{1,4}\.\d{1,6})\b")
_RATE = re.compile(rb"(?<=, )accept rate: (\d{1,4}\.\d{1,6})\b")
_NOTHING_RUNNING = b"#running-req: 0,"
_TIME = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_RANK = re.compile(rb" (DP|TP|PP|EP)(\d+)")
# Larger blocks leave the processor's cache, smaller ones pay for each call.
BLOCK_BYTES = 2**20
# Groups of fewer lines than this share come from ramps up and down, not from the load under test.
MIN_SHARE_FRACTION = 0.02
# A line this far below its group's median, right after an idle server, timed the pause.
IDLE_FRACTION = 0.5
MAX_EAGER_FRACTION = 0.05
# Rates at one and the same printed length differ by the rounding of that length and their own.
_REDEFINED = 0.03


@dataclass(slots=True)
class _Group:
    """Decode lines with one number of running requests."""

    # Printed with two digits, so four bytes hold them; a gigabyte of log has five million lines.
    lengths: array[float] = field(default_factory=lambda: array("f"))
    rates: array[float] = field(default_factory=lambda: array("f"))
    throughputs: array[float] = field(default_factory=lambda: array("f"))
    after_idle: bytearray = field(default_factory=bytearray)


@dataclass(slots=True)
class _Log:
    """What a log holds."""

    groups: dict[int, _Group] = field(default_factory=dict)
    ranks: dict[bytes, bytes] = field(default_factory=dict)
    places: dict[bytes, bool] = field(default_factory=dict)
    codes: dict[int, bool] = field(default_factory=dict)
    idle: bool = True
    graphed: int = 0
    eager: int = 0
    first: str | None = None
    printed: bytes | None = None
    arguments: dict[str, str] = field(default_factory=dict)


class SglangLog:
    """SGLang server logs."""

    name = "sglang_log"
    title = "SGLang server log: decode lines of every generation, by number of running requests"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the text holds SGLang's batch lines, its arguments or lines stamped with its ranks."""
        return bool(_SIGNS.search(head))

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return one run a server, with one measurement a number of running requests.

        Raises:
            InputError: The log holds no decode line.
        """
        logs = [_Log()]
        cut = None
        for block in _blocks(path):
            if not block.endswith(b"\n"):
                cut = "the last line is cut; it was left out" if b"Decode batch" in block else None
                break
            for part in _server_args.parts(block):
                _scan(part, _started(part, logs))
        logs = [log for log in logs if log.groups]
        if not logs:
            raise InputError(
                "the log holds no decode line", where=str(path), hint="Start the server with `--log-level info`."
            )
        single = len(logs) == 1
        return tuple(_run(log, None if single else row, cut) for row, log in enumerate(logs))


def _run(log: _Log, row: int | None, cut: str | None) -> ImportedRun:
    """Return the run of one server."""
    spec = _speculation(log)
    cells = [_cell(running, group, spec, many_ranks=len(log.ranks) > 1) for running, group in _kept(log)]
    steps = None if spec is None else spec.num_steps
    findings = [found for cell in cells for found in _identities.check(cell, num_steps=steps)]
    graph_off = log.arguments.get("disable_cuda_graph")
    return ImportedRun(
        row=row,
        measurements=tuple(cells),
        workload=Workload(concurrencies=tuple(cell.concurrency for cell in cells if cell.concurrency)),
        engine="sglang",
        speculation=spec,
        cuda_graph=None if graph_off is None else graph_off == "False",
        target=_server_args.checkpoint(log.arguments.get("model_path")),
        drafter=_server_args.checkpoint(log.arguments.get("speculative_draft_model_path")),
        tags={} if log.first is None else {"log_from": log.first},
        findings=(*_identities.merge(findings), *_findings(log)),
        missing=cut,
    )


def _blocks(path: Path) -> Iterator[bytes]:
    """Yield the file in blocks of whole lines; a last line without its line break, which may be cut, comes alone."""
    with _source.opened(path) as stream:
        rest = b""
        while block := stream.read(BLOCK_BYTES):
            end = block.rfind(b"\n") + 1
            if not end:
                rest += block
                if len(rest) > _source.LINE_LIMIT_BYTES:
                    raise InputError("a line is longer than any server logs", where=str(path), hint="Is it a log?")
                continue
            yield rest + block[:end]
            rest = block[end:]
        if rest:
            yield rest


def _started(part: bytes, logs: list[_Log]) -> _Log:
    """Return the log that a part belongs to: a new one where a server is started with other arguments."""
    log, printed = logs[-1], _server_args.printed(part)
    if printed is None:
        return log
    log.idle = True
    if log.groups and printed != log.printed:
        logs.append(_Log())
    # A start that ended before it decoded anything, out of memory as a rule, says nothing about what follows.
    logs[-1].printed, logs[-1].arguments = printed, _server_args.read(printed)
    return logs[-1]


def _scan(block: bytes, log: _Log) -> None:
    """Add the block's decode lines to the log."""
    if block.find(b"Decode batch") < 0:
        log.idle = log.idle or block.find(_NOTHING_RUNNING) >= 0
        return
    found = _decode_lines.columns(block)
    if len(found.running):
        _take(found, block, log)
    for odd in found.odd:
        _scan_slowly(odd, log)


def _take(found: _decode_lines.Columns, block: bytes, log: _Log) -> None:
    """Add the lines of the ranks that count."""
    import numpy as np

    counted = _counted(found, block, log)
    if not counted.any():
        return
    if not counted.all():
        found = found.chosen(counted)
    starts, ends = found.starts, found.ends
    # Idle is a line for which anything between it and the one before said that nothing runs.
    before = np.concatenate(([0], ends[:-1]))
    idle = np.searchsorted(found.idle, starts) > np.searchsorted(found.idle, before)
    idle[0] |= log.idle
    log.idle = bool(np.searchsorted(found.idle, ends[-1]) < len(found.idle))
    if log.first is None and (time := _TIME.search(block, int(starts[0]), int(ends[0]))) is not None:
        log.first = time.group().decode()
    running, graph = found.running, found.graph
    log.graphed += int(((graph == 1) & (running > 0)).sum())
    log.eager += int(((graph == 0) & (running > 0)).sum())
    for number in np.unique(running[running > 0]):
        group = log.groups.setdefault(int(number), _Group())
        chosen = running == number
        group.lengths.frombytes(found.lengths[chosen].tobytes())
        group.rates.frombytes(found.rates[chosen].tobytes())
        group.throughputs.frombytes(found.throughputs[chosen].tobytes())
        group.after_idle.extend(idle[chosen].tobytes())


def _counted(found: _decode_lines.Columns, block: bytes, log: _Log) -> npt.NDArray[np.bool_]:
    """Return which lines are of a rank that counts; ranks are judged in the order in which they appear."""
    import numpy as np

    codes, firsts = np.unique(found.places, return_index=True)
    for code, index in sorted(zip(codes.tolist(), firsts.tolist(), strict=True), key=lambda item: item[1]):
        if code not in log.codes:
            start = int(found.starts[index])
            log.codes[code] = _counts(block[start : block.find(b"Decode batch", start)], log)
    known = np.array([log.codes[code] for code in codes.tolist()])
    return known[np.searchsorted(codes, found.places)]


def _scan_slowly(line: bytes, log: _Log) -> None:
    """Add what a line holds that is not as decode lines are: a progress bar before it, two records, another order."""
    starts = [match.start() for match in _BATCH.finditer(line)]
    for start, end in pairwise([*starts, len(line)]):
        record = line[start:end]
        running, throughput = _RUNNING.search(record), _THROUGHPUT.search(record)
        if record.startswith(b"Decode") and running and throughput and _counts(line[:start], log):
            _add(log, record, int(running.group(1)), float(throughput.group(1)))
            if log.first is None and (time := _TIME.search(line)) is not None:
                log.first = time.group().decode()


def _counts(stamp: bytes, log: _Log) -> bool:
    """Return whether a line is of the rank that counts: the first one seen of its data-parallel rank."""
    end = stamp.rfind(b"] ")
    place = stamp[stamp.rfind(b"[", 0, end) + 20 : end] if end >= 0 else b""
    known = log.places.get(place)
    if known is None:
        ranks = dict(_RANK.findall(place))
        data, rest = ranks.get(b"DP", b""), b"/".join(ranks.get(kind, b"0") for kind in (b"TP", b"PP", b"EP"))
        known = log.places[place] = log.ranks.setdefault(data, rest) == rest
    return known


def _add(log: _Log, record: bytes, running: int, throughput: float) -> None:
    """Add one decode line."""
    if running == 0:
        return
    group = log.groups.setdefault(running, _Group())
    length, rate = _LENGTH.search(record), _RATE.search(record)
    group.lengths.append(0.0 if length is None else float(length.group(1)))
    group.rates.append(-1.0 if rate is None else float(rate.group(1)))
    group.throughputs.append(throughput)
    group.after_idle.append(log.idle)
    log.idle = False
    if b" graph: True" in record:
        log.graphed += 1
    elif b" graph: False" in record:
        log.eager += 1


def _kept(log: _Log) -> list[tuple[int, _Group]]:
    """Return the groups with enough lines, by number of running requests."""
    total = sum(len(group.throughputs) for group in log.groups.values())
    return [
        (running, group)
        for running, group in sorted(log.groups.items())
        if len(group.throughputs) >= MIN_SHARE_FRACTION * total
    ]


def _cell(running: int, group: _Group, spec: Speculation | None, *, many_ranks: bool) -> Measurement:
    """Return the measurement of one group.

    Every line stands for the same number of steps, so lengths average plainly, and throughput is tokens over time with
    tokens in proportion to the accept length.
    """
    import numpy as np

    lengths, throughputs, rates = (
        np.frombuffer(values, dtype=np.float32) for values in (group.lengths, group.throughputs, group.rates)
    )
    idle = np.frombuffer(group.after_idle, dtype=bool)
    speculative = lengths >= 1.0
    tokens = np.where(speculative, lengths, np.float32(1))
    usual = np.median(throughputs[~idle]) if (~idle).any() else np.inf
    timed = (throughputs > 0) & (~idle | (throughputs >= IDLE_FRACTION * usual))
    length = _mean(lengths[speculative])
    rate = None if _redefined(lengths, rates) else _mean(rates[rates >= 0])
    reading = _normalise.read_rate(
        length=length,
        rate=rate,
        num_draft_tokens=None if spec is None else spec.num_draft_tokens,
        num_steps=None if spec is None else spec.num_steps,
    )
    speed = None
    if timed.any():
        seconds = (tokens[timed] / throughputs[timed]).sum(dtype=np.float64)
        speed = _plain(tokens[timed].sum(dtype=np.float64) / seconds)
    return Measurement(
        concurrency=running,
        reported_throughput_tok_s=None if speed is None or many_ranks else Reported(value=speed, half_width=0.005),
        reported_accept_length=length,
        reported_accept_rate=rate,
        accept_rate_convention=None if rate is None else reading.convention,
        extra={"decode_lines": float(len(throughputs)), "decode_lines_after_idle": float((~timed).sum())},
    )


def _redefined(lengths: npt.NDArray[np.float32], rates: npt.NDArray[np.float32]) -> bool:
    """Return whether one accept length has two rates: lines of versions that define it differently are in here."""
    alike = rates[(rates >= 0) & (lengths == lengths[0])]
    return alike.size > 1 and bool(alike.max() - alike.min() > _REDEFINED)


def _mean(values: object) -> Reported | None:
    """Return the mean of values printed with two digits; None without values."""
    import numpy as np

    numbers = np.asarray(values)
    return Reported(value=_plain(numbers.mean(dtype=np.float64)), half_width=0.005) if numbers.size else None


def _plain(value: float) -> float:
    """Return a number without the dust that four-byte floats leave in the eighth digit."""
    return float(f"{value:.7g}")


def _speculation(log: _Log) -> Speculation | None:
    """Return what the server arguments say, else that accept lengths were logged."""
    if (said := _server_args.speculation(log.arguments)) is not None:
        return said
    logged = any(length >= 1.0 for group in log.groups.values() for length in group.lengths)
    return Speculation(enabled=True) if logged else None


def _findings(log: _Log) -> tuple[Finding, ...]:
    """Return what the lines say about the run as a whole."""
    findings: list[Finding] = []
    graph_lines = log.graphed + log.eager
    if log.graphed and log.eager > MAX_EAGER_FRACTION * graph_lines:
        findings.append(
            Finding(
                code="CUDA_GRAPH_MISSED",
                severity="warning",
                message=f"{log.eager} of {graph_lines} decode lines ran outside CUDA graphs.",
                fix="Raise --cuda-graph-max-bs to the number of running requests.",
                voids=("speed",),
            )
        )
    if len(log.ranks) > 1:
        findings.append(
            Finding(
                code="THROUGHPUT_PER_RANK",
                severity="info",
                message=f"{len(log.ranks)} data-parallel ranks log their own throughput; it is not added up.",
                fix="Log the client's result as well.",
            )
        )
    return tuple(findings)


IMPORTER = SglangLog()
