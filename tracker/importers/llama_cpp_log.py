"""llama.cpp: the end of `llama-speculative` runs, and the timings that `llama-server` logs for each request.

Every verified step yields its accepted drafts and one more token, so steps = tokens - accepted where nothing counts
them; the server's `#calls` of the drafter counts them. `acceptance` there is accepted over drafted: early stopping
drafts fewer than the window, so it says little without the accept length. Statistics lines add up since the start.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from pathlib import Path

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, RequestRow
from tracker.domain.server import Speculation
from tracker.domain.workload import Workload
from tracker.errors import InputError
from tracker.importers import _cells, _identities, _source
from tracker.importers.base import ImportedRun

_SIGNS = re.compile(
    rb"^n_accept  = \d|\bdraft acceptance(?: rate)? = [\d.]+ \(\s*\d+ accepted /|\bstatistics +\S+: #calls|"
    rb"\bslot print_timing: id",
    re.M,
)
_DECODED = re.compile(r"^(?:decoded|generated) +(\d{1,12}) tokens in +(\d{1,9}\.\d+) seconds")
_COUNT = re.compile(r"^(n_draft|n_predict|n_drafted|n_accept) += (\d{1,12})$")
_SLOT = re.compile(r"slot print_timing: id +(\d{1,6}) \| task")
_PROMPT = re.compile(r"\bprompt eval time = +(\d{1,12}\.\d+) ms / +(\d{1,9}) tokens")
_EVAL = re.compile(r"(?<!prompt )\beval time = +(\d{1,12}\.\d+) ms / +(\d{1,9}) tokens")
_TIMING = re.compile(r"\b(?:total time|graphs reused) = ")
_DRAFT = re.compile(
    r"draft acceptance(?: rate)? = [\d.]+ \( *(\d{1,12}) accepted / +(\d{1,12}) generated\)"
    r"(?:, mean acceptance length = +(\d{1,4}\.\d+))?"
)
_STATISTICS = re.compile(
    r"statistics +(\S{1,40}): #calls(?:\(b,g,a\))? = +(\d{1,12})(?: +(\d{1,12}) +\d{1,12})?, .*"
    r"#gen tokens = +(\d{1,12}), #acc tokens = +(\d{1,12})\b"
)
_TOTAL_OF = ("n_predict", "n_drafted", "n_accept")
STEPS_FROM_TOKENS = Finding(
    code="VERIFY_STEPS_FROM_TOKENS",
    severity="info",
    message="Verify steps are tokens less accepted drafts, for the log does not count them; steps without a draft are "
    "among them, and the first token of each answer.",
)
_SINCE_START = Finding(
    code="COUNTERS_SINCE_START",
    severity="info",
    message="The statistics add up everything since the server started, per kind of drafter; no request is timed.",
    fix="Save the log with the timings of the requests.",
)
_ONE_SLOT = Finding(
    code="WALL_TIME_FROM_SERVER",
    severity="info",
    message="One slot answered all requests one after another; wall time is its prompt and generation time, pauses "
    "left out.",
)


@dataclass(slots=True)
class _Statistics:
    """Counters of one kind of drafter since the start."""

    calls: int = 0
    generated: int = 0
    accepted: int = 0


@dataclass(slots=True)
class _Request:
    """One request's timings."""

    prompt_ms: float = 0.0
    prompt_tokens: int | None = None
    eval_ms: float = 0.0
    tokens: int | None = None
    accepted: int | None = None
    generated: int | None = None
    length: float | None = None
    calls: int | None = None


@dataclass(slots=True)
class _Log:
    """What a log holds."""

    blocks: list[dict[str, float]] = field(default_factory=list)
    requests: list[_Request] = field(default_factory=list)
    statistics: dict[str, _Statistics] = field(default_factory=dict)
    slots: set[str] = field(default_factory=set)
    open_request: bool = False


class LlamaCppLog:
    """llama.cpp logs."""

    name = "llama_cpp_log"
    title = "llama.cpp: end of llama-speculative, or llama-server's timings and draft statistics"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the text holds llama.cpp's draft counts."""
        return bool(_SIGNS.search(head))

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return one run a finished `llama-speculative`, else the one run of a server's requests.

        Raises:
            InputError: The log holds neither.
        """
        log = _collect(path)
        blocks = [block for block in log.blocks if all(name in block for name in ("tokens", *_TOTAL_OF))]
        if blocks:
            single = len(blocks) == 1
            return tuple(_block_run(block, None if single else row) for row, block in enumerate(blocks))
        timed = [request for request in log.requests if request.tokens]
        # Draft counts come right after the timings, so timings at the very end may lack them.
        cut = "the log ends within a request's timings; it was left out" if log.open_request else None
        timed = timed[:-1] if cut and timed and timed[-1] is log.requests[-1] else timed
        if timed:
            return (dataclasses.replace(_server_run(timed, log), missing=cut),)
        if log.statistics:
            kinds = enumerate(sorted(log.statistics.items()))
            single = len(log.statistics) == 1
            return tuple(_statistics_run(kind, found, None if single else row) for row, (kind, found) in kinds)
        raise InputError(
            "the log holds no whole draft statistics", where=str(path), hint="Save it up to the end of the run."
        )


def _collect(path: Path) -> _Log:
    """Return the blocks, requests and statistics of a log; a last line without its line break may be cut."""
    log = _Log()
    for line in _source.lines(path):
        if not line.ended:
            break
        text = line.content.decode(errors="replace")
        if not _block_line(text, log):
            _server_line(text, log)
    return log


def _block_line(text: str, log: _Log) -> bool:
    """Add a line of a `llama-speculative` end; whether it was one."""
    if match := _DECODED.match(text):
        log.blocks.append({"tokens": float(match[1]), "wall_s": float(match[2])})
        return True
    if (match := _COUNT.match(text.rstrip())) and log.blocks:
        log.blocks[-1].setdefault(match[1], float(match[2]))
        return True
    return False


def _server_line(text: str, log: _Log) -> None:
    """Add a line of a server's log."""
    if match := _SLOT.search(text):
        log.slots.add(match[1])
    if match := _PROMPT.search(text):
        log.open_request = True
        log.requests.append(_Request(prompt_ms=float(match[1]), prompt_tokens=int(match[2])))
    elif (match := _EVAL.search(text)) and log.requests and log.requests[-1].tokens is None:
        log.requests[-1].eval_ms, log.requests[-1].tokens = float(match[1]), int(match[2])
    elif (match := _DRAFT.search(text)) and log.requests and log.requests[-1].accepted is None:
        request = log.requests[-1]
        log.open_request = False
        request.accepted, request.generated = int(match[1]), int(match[2])
        request.length = None if match[3] is None else float(match[3])
    elif match := _STATISTICS.search(text):
        _statistics_line(match, log)
    elif not _TIMING.search(text):
        log.open_request = False


def _statistics_line(match: re.Match[str], log: _Log) -> None:
    """Add a statistics line; what it grew by since the one before belongs to the request above it."""
    calls = int(match[2] if match[3] is None else match[3])
    now = _Statistics(calls=calls, generated=int(match[4]), accepted=int(match[5]))
    before = log.statistics.get(match[1], _Statistics())
    log.statistics[match[1]] = now
    request = log.requests[-1] if log.requests else None
    if request is None or request.calls is not None or request.accepted is None:
        return
    if (now.accepted - before.accepted, now.generated - before.generated) == (request.accepted, request.generated):
        request.calls = now.calls - before.calls


def _block_run(block: dict[str, float], row: int | None) -> ImportedRun:
    """Return the run of one `llama-speculative`."""
    tokens, accepted = int(block["n_predict"]), int(block["n_accept"])
    window = int(block["n_draft"]) if "n_draft" in block else None
    cell = Measurement(
        concurrency=1,
        requests_completed=1,
        output_tokens=int(block["tokens"]),
        wall_s=block["wall_s"],
        verify_steps=max(tokens - accepted, 0) or None,
        accepted_drafts=accepted,
        proposed_drafts=int(block["n_drafted"]),
    )
    return ImportedRun(
        row=row,
        measurements=(cell,),
        workload=Workload(concurrencies=(1,)),
        engine="llama.cpp",
        speculation=Speculation(enabled=True, num_steps=window),
        findings=(*_identities.check(cell, num_steps=window), STEPS_FROM_TOKENS),
    )


def _server_run(requests: list[_Request], log: _Log) -> ImportedRun:
    """Return the run of a server's timed requests."""
    concurrency = 1 if len(log.slots) <= 1 else None
    rows = [_row(request, concurrency) for request in requests]
    wall_s = sum(request.prompt_ms + request.eval_ms for request in requests) / 1000
    passes = [_cells.Pass(concurrency=1, repeat=0, wall_s=wall_s)] if concurrency == 1 and wall_s > 0 else []
    cells = _cells.build(rows, passes)
    drafted = any(request.accepted is not None for request in requests)
    counted = all(request.calls is not None or request.length is not None for request in requests if drafted)
    kinds = {kind.removeprefix("draft-") for kind in log.statistics}
    spec = Speculation(enabled=True, algorithm=kinds.pop().upper() if len(kinds) == 1 else None) if drafted else None
    identities = [finding for cell in cells.measurements for finding in _identities.check(cell)]
    return ImportedRun(
        measurements=cells.measurements,
        requests=tuple(rows),
        workload=Workload(concurrencies=() if concurrency is None else (concurrency,)),
        engine="llama.cpp",
        speculation=spec,
        findings=(
            *cells.findings,
            *((_ONE_SLOT,) if passes else ()),
            *(() if counted else (STEPS_FROM_TOKENS,)),
            *_identities.merge(identities),
        ),
    )


def _row(request: _Request, concurrency: int | None) -> RequestRow:
    """Return one request; its steps as counted, else from the printed accept length, else from its tokens."""
    steps = request.calls
    if steps is None and request.accepted is not None and request.tokens is not None:
        if request.length is not None and request.length > 1:
            steps = round(request.accepted / (request.length - 1))
        else:
            steps = max(request.tokens - request.accepted, 0) or None
    return RequestRow(
        concurrency=concurrency,
        input_tokens=request.prompt_tokens,
        output_tokens=request.tokens,
        latency_s=(request.prompt_ms + request.eval_ms) / 1000,
        ttft_s=request.prompt_ms / 1000,
        verify_steps=steps,
        accepted_drafts=request.accepted,
        proposed_drafts=request.generated,
    )


def _statistics_run(kind: str, found: _Statistics, row: int | None) -> ImportedRun:
    """Return the run of one kind of drafter."""
    cell = Measurement(
        verify_steps=found.calls or None, accepted_drafts=found.accepted, proposed_drafts=found.generated
    )
    return ImportedRun(
        name=kind,
        row=row,
        measurements=(cell,),
        engine="llama.cpp",
        speculation=Speculation(enabled=True, algorithm=kind.removeprefix("draft-").upper()),
        findings=(*_identities.check(cell), _SINCE_START),
    )


IMPORTER = LlamaCppLog()
