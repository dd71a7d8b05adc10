"""What several sources say about one run, held against each other.

Tolerances: accept length 5 % (a log averages windows of 40 steps, counters hold the prefill token and other traffic),
throughput 20 % (a log times decoding, a client the whole run), counts 2 %. Beyond them both numbers are named; which
one is right is for a person to say. A load that the log knows from a handful of lines is not compared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, Reported
from tracker.domain.server import Speculation
from tracker.importers.base import ImportedRun

ACCEPT_LENGTH_TOLERANCE = 0.05
THROUGHPUT_TOLERANCE = 0.20
COUNT_TOLERANCE = 0.02
MIN_LOG_LINES = 10
_COUNTS = ("output_tokens", "verify_steps", "accepted_drafts", "proposed_drafts")
_CUMULATIVE = "ACCEPT_LENGTH_CUMULATIVE"
# These say that numbers are the server's since its start, which two readings put right.
_LIFETIME = frozenset({_CUMULATIVE, "COUNTERS_SINCE_START"})


_NOT_FRAMED = Finding(
    code="COUNTERS_NOT_COMPARED",
    severity="info",
    message="One reading of /metrics was given; one before and one after the run are needed to compare the server's "
    "counters with the results.",
    fix="Fetch /metrics right before and right after the run.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """One source's value of a quantity."""

    source: str
    value: float


def cross_check(run: ImportedRun, *, log: ImportedRun | None, readings: Sequence[ImportedRun]) -> ImportedRun:
    """Return the run with acceptance from the best source and a finding for each disagreement.

    Args:
        run: The client's result.
        log: The server's log.
        readings: One or two readings of its counters; two give what happened between them.
    """
    grown, findings = _growth(readings)
    if len(readings) == 1:
        findings = [_NOT_FRAMED]
    if (denied := _denied_acceptance(run, log, grown)) is not None:
        # Whose acceptance it is is not known, so none of it is taken.
        return dataclasses.replace(run, findings=(*run.findings, *findings, denied, *_throughput_agrees(run, log)))
    checked = [*findings, *_counts_agree(run, grown), *_throughput_agrees(run, log), *_lengths_agree(run, log, grown)]
    run = _with_acceptance(run, grown, log)
    return dataclasses.replace(run, findings=(*run.findings, *checked))


def with_log(run: ImportedRun, log: ImportedRun) -> ImportedRun:
    """Return the run held against its server's log, whose acceptance it takes where it has none of its own."""
    if (denied := _denied_acceptance(run, log, None)) is not None:
        return dataclasses.replace(run, findings=(*run.findings, denied, *_throughput_agrees(run, log)))
    checked = [*_throughput_agrees(run, log), *_lengths_agree(run, log, None)]
    run = _with_acceptance(run, None, log)
    return dataclasses.replace(run, findings=(*run.findings, *checked))


def between(first: ImportedRun, second: ImportedRun) -> ImportedRun:
    """Return the run between two readings of a server's counters; without a client there is no time in it."""
    grown, findings = _growth((first, second))
    kept = tuple(finding for finding in first.findings if finding.code not in _LIFETIME)
    if grown is None:
        return dataclasses.replace(first, findings=(*first.findings, *findings))
    return dataclasses.replace(
        first, measurements=(grown,), speculation=first.speculation or second.speculation, findings=(*kept, *findings)
    )


def _growth(readings: Sequence[ImportedRun]) -> tuple[Measurement | None, list[Finding]]:
    """Return by how much the counters grew between two readings, whichever was named first."""
    if len(readings) != 2:
        return None, []
    first, second = (reading.measurements[0] for reading in readings)
    later, earlier = (second, first) if _sum(second) >= _sum(first) else (first, second)
    grown: dict[str, int | None] = {}
    for name in _COUNTS:
        after, before = getattr(later, name), getattr(earlier, name)
        # A counter that is absent before had not counted yet.
        grown[name] = None if after is None else after - (0 if before is None else before)
    if any(value is not None and value < 0 for value in grown.values()):
        finding = Finding(
            code="COUNTERS_RESET",
            severity="warning",
            message="A counter fell between the two readings: the server was started anew, or they are of two servers.",
            fix="Fetch /metrics right before and right after the run.",
        )
        return None, [finding]
    cell = Measurement(**grown)  # type: ignore[arg-type]
    if cell.accepted_drafts is None and cell.verify_steps and cell.output_tokens is not None:
        # SGLang counts steps and tokens, the prefill token among them.
        length = Reported(value=cell.output_tokens / cell.verify_steps)
        cell = dataclasses.replace(cell, reported_accept_length=length)
    return cell, []


def _sum(cell: Measurement) -> int:
    return sum(value for name in _COUNTS if (value := getattr(cell, name)) is not None)


def _denied_acceptance(run: ImportedRun, log: ImportedRun | None, grown: Measurement | None) -> Finding | None:
    """Return a finding where SGLang's own answers carry no verify steps and another source knows an accept length.

    SGLang puts `spec_verify_ct` into every answer as soon as it speculates (0.4.5 to 0.5.23).
    """
    answers = [row for row in run.requests if row.error is None and row.finish_reason is not None]
    if run.engine != "sglang" or not answers or any(row.verify_steps is not None for row in answers):
        return None
    told = [("the counters show", grown.accept_length)] if grown is not None else []
    if log is not None:
        told += [("the server's log shows", cell.accept_length) for cell in _pooled(log)]
    for source, length in told:
        if length is not None:
            return Finding(
                code="SPECULATION_SOURCES_DISAGREE",
                severity="warning",
                message=f"None of the {len(answers)} answers carries verify steps, but {source} accept length "
                f"{length:.3f}: they are of two servers.",
                fix="Log the results with the log and the readings of the server that gave them.",
            )
    return None


def _pooled(run: ImportedRun) -> list[Measurement]:
    return [cell for cell in run.measurements if cell.repeat is None and cell.category is None]


def _total(cells: Sequence[Measurement], name: str) -> int | None:
    values = [getattr(cell, name) for cell in cells]
    return None if not values or any(value is None for value in values) else sum(values)


def _differ(first: float, second: float, tolerance: float) -> bool:
    return abs(first - second) > tolerance * max(abs(first), abs(second))


def _counts_agree(run: ImportedRun, grown: Measurement | None) -> list[Finding]:
    """Return a finding for each count of the client that the server's counters do not confirm."""
    if grown is None:
        return []
    cells = _pooled(run)
    found = []
    for name, what in (("output_tokens", "output tokens"), ("verify_steps", "verify steps")):
        client, server = _total(cells, name), getattr(grown, name)
        if client is not None and server is not None and _differ(client, server, COUNT_TOLERANCE):
            found.append(
                Finding(
                    code="COUNTERS_DISAGREE",
                    severity="warning",
                    message=f"The server counted {server} {what} between the two readings, the client {client}.",
                    fix="Other traffic or a warm-up reached the server, or requests are missing from the result.",
                )
            )
    return found


def _throughput_agrees(run: ImportedRun, log: ImportedRun | None) -> list[Finding]:
    """Return a finding for each concurrency at which client and log tell different throughputs."""
    found = []
    for client, server in _pairs(run, log):
        first, second = client.output_throughput_tok_s, server.output_throughput_tok_s
        if first is not None and second is not None and _differ(first, second, THROUGHPUT_TOLERANCE):
            found.append(
                Finding(
                    code="THROUGHPUT_SOURCES_DISAGREE",
                    severity="warning",
                    message=f"The client measured {first:.1f} tok/s{_at(client)}, the server's log says "
                    f"{second:.1f} tok/s ({_apart(first, second):.0%} apart).",
                    fix="Prefill, pauses or other traffic explain a part; the client's number is kept.",
                )
            )
    return found


def _pairs(run: ImportedRun, log: ImportedRun | None) -> list[tuple[Measurement, Measurement]]:
    """Return the client's cells with the log's at the same concurrency; a log at one load goes with a single cell."""
    if log is None:
        return []
    clients = _pooled(run)
    servers = [cell for cell in _pooled(log) if cell.extra.get("decode_lines", MIN_LOG_LINES) >= MIN_LOG_LINES]
    by_load = {cell.concurrency: cell for cell in servers if cell.concurrency is not None}
    pairs = [(cell, by_load[cell.concurrency]) for cell in clients if cell.concurrency in by_load]
    if (
        not pairs
        and len(clients) == 1
        and len(servers) == 1
        and None in (clients[0].concurrency, servers[0].concurrency)
    ):
        pairs = [(clients[0], servers[0])]
    return pairs


def _lengths_agree(run: ImportedRun, log: ImportedRun | None, grown: Measurement | None) -> list[Finding]:
    """Return a finding where client, log and counters tell different accept lengths."""
    found = []
    lifetime = any(finding.code in _LIFETIME for finding in run.findings)
    client_name = "the server's lifetime average" if lifetime else "the client"
    for client, server in _pairs(run, log):
        said = [_Said(source=client_name, value=value) for value in (client.accept_length,) if value is not None] + [
            _Said(source="the log", value=value) for value in (server.accept_length,) if value is not None
        ]
        found += _disagreement(said, client)
    whole = _overall(_pooled(run))
    if grown is not None and grown.accept_length is not None:
        said = [_Said(source="the counters", value=grown.accept_length)]
        if whole is not None:
            said.append(_Said(source=client_name, value=whole))
        elif log is not None and (of_log := _overall(_pooled(log))) is not None:
            said.append(_Said(source="the log", value=of_log))
        found += _disagreement(said, None)
    return found


def _overall(cells: Sequence[Measurement]) -> float | None:
    """Return the accept length over all cells from their counts, or of the only cell."""
    steps, accepted = _total(cells, "verify_steps"), _total(cells, "accepted_drafts")
    if steps and accepted is not None:
        return 1 + accepted / steps
    return cells[0].accept_length if len(cells) == 1 else None


def _disagreement(said: Sequence[_Said], cell: Measurement | None) -> list[Finding]:
    if len(said) < 2:
        return []
    low, high = min(said, key=lambda item: item.value), max(said, key=lambda item: item.value)
    if not _differ(low.value, high.value, ACCEPT_LENGTH_TOLERANCE):
        return []
    where = "" if cell is None else _at(cell)
    return [
        Finding(
            code="ACCEPT_LENGTH_SOURCES_DISAGREE",
            severity="warning",
            message=f"Accept length{where} is {low.value:.3f} by {low.source} and {high.value:.3f} by {high.source} "
            f"({_apart(low.value, high.value):.0%} apart).",
            fix="They cover different traffic: check warm-up, other clients, and whether the readings frame the run.",
        )
    ]


def _apart(first: float, second: float) -> float:
    return abs(first - second) / max(abs(first), abs(second))


def _at(cell: Measurement) -> str:
    return "" if cell.concurrency is None else f" at concurrency {cell.concurrency}"


def _with_acceptance(run: ImportedRun, grown: Measurement | None, log: ImportedRun | None) -> ImportedRun:
    """Return the run with this run's acceptance in place of none or of the server's lifetime average.

    Counters framed by two readings come first; the log, whose windows may hold other traffic, second. A result of
    several loads takes it from the log alone: counters cannot be shared out.
    """
    pooled = _pooled(run)
    lifetime = any(finding.code == _CUMULATIVE for finding in run.findings)
    better: dict[int, Measurement] = {}
    for index, cell in enumerate(run.measurements):
        needs = cell.accept_length is None or (lifetime and cell.verify_steps is None)
        if cell not in pooled or not needs:
            continue
        source = grown if len(pooled) == 1 and grown is not None and grown.accept_length is not None else None
        if source is None:
            source = next((server for client, server in _pairs(run, log) if client is cell), None)
        if source is not None and source.accept_length is not None:
            better[index] = _accepting(cell, source)
    if not better:
        return run
    measurements = tuple(better.get(index, cell) for index, cell in enumerate(run.measurements))
    kept = tuple(finding for finding in run.findings if finding.code != _CUMULATIVE or len(better) < len(pooled))
    spec = run.speculation or Speculation(enabled=True)
    return dataclasses.replace(run, measurements=measurements, findings=kept, speculation=spec)


def _accepting(cell: Measurement, source: Measurement) -> Measurement:
    """Return the cell with another source's acceptance, its own printed one kept under a name that says what it is."""
    printed = cell.reported_accept_length
    extra = {} if printed is None else {"accept_length_since_start": printed.value}
    return dataclasses.replace(
        cell,
        verify_steps=source.verify_steps,
        accepted_drafts=source.accepted_drafts,
        proposed_drafts=source.proposed_drafts,
        reported_accept_length=source.reported_accept_length,
        reported_accept_rate=source.reported_accept_rate,
        accept_rate_convention=source.accept_rate_convention,
        extra={**cell.extra, **extra},
    )
