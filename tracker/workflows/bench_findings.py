"""What was wrong with the measuring itself: the client too slow, foreign traffic, a warm cache, failed requests."""

from __future__ import annotations

from collections.abc import Sequence

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement
from tracker.load.client import transport_name
from tracker.load.control import output_token_counter
from tracker.workflows.bench_measured import Measured, PassRecord

# More than this between the server's own count and the answers' means foreign traffic, or answers miscounted.
COUNTER_TOLERANCE_FRACTION = 0.01


def findings(measured: Measured) -> tuple[Finding, ...]:
    """Return what was wrong with the measuring itself."""
    found = [_bottleneck(item) for item in measured.kept]
    return tuple(item for item in (*found, _counters(measured), _unflushed(measured)) if item is not None)


def _bottleneck(item: PassRecord) -> Finding | None:
    latencies_s = sorted(answer.latency_s for answer in item.result.answers if answer.error is None)
    median_s = latencies_s[len(latencies_s) // 2] if latencies_s else None
    why = item.result.health.bottleneck(median_s)
    if why is None:
        return None
    return Finding(
        code="CLIENT_BOTTLENECK",
        severity="warning",
        message=f"At {item.load}, repeat {item.repeat}, {why}: the throughput may be the client's "
        f"({transport_name()}).",
        fix="Install `tracker[bench]`, or measure from a machine with idle cores.",
    )


def _counters(measured: Measured) -> Finding | None:
    """Compare the server's own count of generated tokens with the sum over the answers."""
    before, after = output_token_counter(measured.metrics_before), output_token_counter(measured.metrics_after)
    if before is None or after is None or not all(item.whole for item in measured.passes):
        return None
    answers = [answer for item in measured.passes for answer in item.result.answers]
    if any(answer.counts is None for answer in answers):
        return None
    counted = sum(answer.counts.output_tokens or 0 for answer in answers if answer.counts is not None)
    by_server = after - before
    # The warm-up is in the server's count and not in ours.
    if abs(by_server - counted - measured.warmup_output_tokens) <= COUNTER_TOLERANCE_FRACTION * counted:
        return None
    return Finding(
        code="SERVER_COUNTERS_DISAGREE",
        severity="warning",
        message=f"The server counted {by_server:,.0f} generated tokens while the answers hold {counted:,}.",
        fix="Measure a server that nobody else uses.",
    )


def _unflushed(measured: Measured) -> Finding | None:
    if measured.flushed is not False:
        return None
    return Finding(
        code="CACHE_NOT_FLUSHED",
        severity="info",
        message="The server could not empty its prefix cache before each pass; later passes may find prompts cached.",
    )


def failed_requests(cells: Sequence[Measurement]) -> list[Finding]:
    """Return a finding for each load at which requests failed."""
    return [
        Finding(
            code="REQUESTS_FAILED",
            severity="warning",
            message=f"{cell.requests_failed} of {(cell.requests_completed or 0) + cell.requests_failed} requests failed"
            + ("" if cell.concurrency is None else f" at {cell.concurrency} streams")
            + "; they count in no sum, and the wall time holds the time they took.",
            fix="See the reasons in requests.jsonl, column `error`.",
        )
        for cell in cells
        if cell.category is None and cell.repeat is None and cell.requests_failed
    ]
