"""SGLang server logs: the decode lines of every generation since 0.4.

A decode line sums up the decode steps since the one before (40 by default), so its accept length weighs as much as the
requests that ran, and its throughput is tokens over the wall time since then, pauses included: the first line after an
idle time says nothing about speed. Tensor-parallel ranks repeat one another; only the first of each data-parallel rank
counts.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, Reported
from tracker.domain.server import Speculation
from tracker.domain.workload import Workload
from tracker.errors import InputError
from tracker.importers import _decode_lines, _identities, _normalise, _source
from tracker.importers.base import ImportedRun

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_SIGNS = re.compile(
    rb"\bDecode batch[^\n]*#running-req: |\bserver_args=(ServerArgs\(|\{)|\bPrefill batch[.,] #new-seq: "
)
# The literal at the start lets the scan run at the speed of a substring search.
_DECODE = re.compile(
    rb"Decode batch[^\n#]*#running-req: (\d{1,9}),([^\n]*)gen throughput \(token/s\): (\d{1,9}\.\d{1,6})\b"
)
_ACCEPTANCE = re.compile(rb"accept len: (\d{1,4}\.\d{1,6})\b(?:, accept rate: (\d{1,4}\.\d{1,6})\b)?")
_NOTHING_RUNNING = b"#running-req: 0,"
_TIME = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_RANK = re.compile(rb" (DP|TP|PP|EP)(\d+)")
_ARGUMENT = re.compile(
    r"['\"]?\b(model_path|speculative_algorithm|speculative_draft_model_path|speculative_num_steps|"
    r"speculative_eagle_topk|speculative_num_draft_tokens|disable_cuda_graph)['\"]?[=:] ?(None|True|False|\d+|'[^']*')"
)
# Larger blocks leave the processor's cache, smaller ones pay for each call.
BLOCK_BYTES = 2**20
# Groups of fewer lines than this share come from ramps up and down, not from the load under test.
MIN_SHARE_FRACTION = 0.02
# A line this far below its group's median, right after an idle server, timed the pause.
IDLE_FRACTION = 0.5
MAX_EAGER_FRACTION = 0.05


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
    arguments: dict[str, str] = field(default_factory=dict)


class SglangLog:
    """SGLang server logs."""

    name = "sglang_log"
    title = "SGLang server log: decode lines of every generation, by number of running requests"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the text holds SGLang's batch lines or its server arguments."""
        return bool(_SIGNS.search(head))

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the one run of the log, with one measurement a number of running requests.

        Raises:
            InputError: The log holds no decode line.
        """
        log = _Log()
        for block in _blocks(path):
            _scan(block, log)
        if not log.groups:
            raise InputError(
                "the log holds no decode line", where=str(path), hint="Start the server with `--log-level info`."
            )
        spec = _speculation(log)
        cells = [_cell(running, group, spec, many_ranks=len(log.ranks) > 1) for running, group in _kept(log)]
        steps = None if spec is None else spec.num_steps
        findings = [found for cell in cells for found in _identities.check(cell, num_steps=steps)]
        target, drafter = log.arguments.get("model_path"), log.arguments.get("speculative_draft_model_path")
        graph_off = log.arguments.get("disable_cuda_graph")
        return (
            ImportedRun(
                measurements=tuple(cells),
                workload=Workload(concurrencies=tuple(cell.concurrency for cell in cells if cell.concurrency)),
                engine="sglang",
                speculation=spec,
                cuda_graph=None if graph_off is None else graph_off == "False",
                target=_checkpoint(target),
                drafter=_checkpoint(drafter),
                tags={} if log.first is None else {"log_from": log.first},
                findings=(*_identities.merge(findings), *_findings(log)),
            ),
        )


def _blocks(path: Path) -> Iterator[bytes]:
    """Yield the file in blocks of whole lines; a last line without its line break may be cut and is left out."""
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


def _scan(block: bytes, log: _Log) -> None:
    """Add the block's decode lines to the log."""
    # A server prints its arguments before it decodes; looking for them further on would cost as much as the lines.
    if not log.arguments and not log.groups and (start := block.find(b"server_args=")) >= 0:
        line = block[start : block.find(b"\n", start)].decode(errors="replace")
        log.arguments = {name: value.strip("'") for name, value in _ARGUMENT.findall(line)}
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
    """Add what a line holds that is not as decode lines are: a progress bar before it, two records, no time."""
    for match in _DECODE.finditer(line):
        if _counts(line[: match.start()], log):
            _add(log, match)


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


def _add(log: _Log, match: re.Match[bytes]) -> None:
    """Add one decode line."""
    running, rest, throughput = match.groups()
    if int(running) == 0:
        return
    group = log.groups.setdefault(int(running), _Group())
    acceptance = _ACCEPTANCE.search(rest)
    length, rate = (None, None) if acceptance is None else acceptance.groups()
    group.lengths.append(0.0 if length is None else float(length))
    group.rates.append(-1.0 if rate is None else float(rate))
    group.throughputs.append(float(throughput))
    group.after_idle.append(log.idle)
    log.idle = False
    if log.first is None and (time := _TIME.search(match.string)) is not None:
        log.first = time.group().decode()
    if b" graph: True" in rest:
        log.graphed += 1
    elif b" graph: False" in rest:
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
    rate = _mean(rates[rates >= 0])
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
    arguments = log.arguments
    if "speculative_algorithm" not in arguments:
        logged = any(length >= 1.0 for group in log.groups.values() for length in group.lengths)
        return Speculation(enabled=True) if logged else None
    algorithm = arguments["speculative_algorithm"]
    if algorithm == "None":
        return Speculation(enabled=False)
    numbers = {
        name: int(value)
        for name in ("num_steps", "eagle_topk", "num_draft_tokens")
        if (value := arguments.get(f"speculative_{name}", "")).isdigit()
    }
    draft = arguments.get("speculative_draft_model_path")
    return Speculation(
        enabled=True,
        algorithm=algorithm.upper(),
        num_steps=numbers.get("num_steps"),
        eagle_topk=numbers.get("eagle_topk"),
        num_draft_tokens=numbers.get("num_draft_tokens"),
        draft_model_path=None if draft == "None" else draft,
    )


def _checkpoint(path: str | None) -> Checkpoint | None:
    if not path or path == "None":
        return None
    return Checkpoint(name=PurePosixPath(path).name or path, path=path)


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
