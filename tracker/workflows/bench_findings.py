"""What was wrong with the measuring itself: the client too slow, foreign traffic, a warm cache, failed requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement
from tracker.load.answers import Answer
from tracker.load.client import FAST_TRANSPORT, transport_name
from tracker.workflows import bench_sampling
from tracker.workflows.bench_counters import TOLERANCE_FRACTION, agree
from tracker.workflows.bench_measured import Measured, PassRecord
from tracker.workflows.bench_plan import REQUESTS_PER_STREAM, BenchPlan, Load

# Answers that end before the limit although they were not to; a few may meet the end of the context.
SHORT_FRACTION = 0.01


def findings(measured: Measured, plan: BenchPlan) -> tuple[Finding, ...]:
    """Return what was wrong with the measuring itself."""
    found = [_bottleneck(item) for item in measured.kept]
    more = (_counters(measured), _steps(measured), _short(measured, plan), _unflushed(measured), _restarted(measured))
    few = [_too_few(load) for load in plan.loads]
    return tuple(item for item in (*few, *found, *more, *bench_sampling.findings(measured)) if item is not None)


def _too_few(load: Load) -> Finding | None:
    if load.concurrency is None or load.requests >= load.concurrency:
        return None
    return Finding(
        code="LOAD_NOT_REACHED",
        severity="warning",
        message=f"At {load} a pass has {load.requests} requests only: never more than {load.requests} were in flight.",
        fix=f"Send {REQUESTS_PER_STREAM * load.concurrency} requests or more a pass.",
        confidence="certain",
    )


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
        fix="Measure from a machine with idle cores."
        if transport_name() == FAST_TRANSPORT
        else "Install `tracker[bench]`, or measure from a machine with idle cores.",
    )


def _counters(measured: Measured) -> Finding | None:
    """Compare the server's own count of generated tokens with the sum over the answers, pass by pass."""
    apart = [item for item in measured.kept if agree(item) is False and item.counters is not None]
    if not apart:
        return None
    by_server = sum(item.counters.output_tokens or 0 for item in apart if item.counters is not None)
    counted = sum(item.output_tokens for item in apart)
    return Finding(
        code="SERVER_COUNTERS_DISAGREE",
        severity="warning",
        message=f"In {len(apart)} of {len(measured.kept)} passes the server counted {by_server:,} generated tokens "
        f"while the answers hold {counted:,}.",
        fix="Measure a server that nobody else uses.",
    )


def _steps(measured: Measured) -> Finding | None:
    """Compare the server's own count of verify steps with the sum over the answers."""
    pairs = [
        (item.counters.verify_steps, _sum_known(answer.counts.verify_steps for answer in item.result.answers
                                                if answer.counts is not None))
        for item in measured.kept
        if agree(item) and item.counters is not None and item.counters.verify_steps
    ]  # fmt: skip
    known = [(by_server, told) for by_server, told in pairs if told is not None]
    by_server, told = sum(pair[0] for pair in known), sum(pair[1] for pair in known)
    if abs(by_server - told) <= TOLERANCE_FRACTION * max(told, 1):
        return None
    return Finding(
        code="VERIFY_COUNTERS_DISAGREE",
        severity="warning",
        message=f"The server counted {by_server:,} verify steps while the answers hold {told:,}.",
        fix="Trust neither accept length until both agree; look for known regressions of this engine version.",
    )


def _sum_known(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if any(value is None for value in known) else sum(value or 0 for value in known)


def _short(measured: Measured, plan: BenchPlan) -> Finding | None:
    """Find a server that ends answers early although it was told not to: then arms differ in length."""
    if not plan.sampling.ignore_eos:
        return None
    limit = plan.sampling.max_output_tokens
    counts = [answer.counts for item in measured.kept for answer in item.result.answers if answer.counts is not None]
    short = [item for item in counts if item.output_tokens is not None and item.output_tokens < limit]
    if len(short) <= SHORT_FRACTION * len(counts):
        return None
    return Finding(
        code="ANSWERS_SHORT",
        severity="warning",
        message=f"{len(short)} of {len(counts)} answers hold fewer than the {limit} tokens that were asked for, "
        f"the shortest {min(item.output_tokens or 0 for item in short)}, although they were to run to the limit.",
        fix="The server ignores ignore_eos, or the context is full: compare only runs of equal length.",
    )


def _unflushed(measured: Measured) -> Finding | None:
    if measured.flushed is not False:
        return None
    return Finding(
        code="CACHE_NOT_FLUSHED",
        severity="info",
        message="The server could not empty its prefix cache before each pass; later passes may find prompts cached.",
    )


def _restarted(measured: Measured) -> Finding | None:
    if not measured.restarted:
        return None
    return Finding(
        code="SERVER_RESTARTED",
        severity="warning",
        message="The server was restarted while it was measured, or several answer at this address: its counters fell, "
        "or its seed is another one. The answers are of more than one process.",
        fix="Look in its log for why it ended, and measure again; behind a router measure one server.",
    )


def failed_requests(cells: Sequence[Measurement], measured: Measured) -> list[Finding]:
    """Return a finding for each load at which requests failed."""
    return [
        Finding(
            code="REQUESTS_FAILED",
            severity="warning",
            message=f"{cell.requests_failed} of {(cell.requests_completed or 0) + cell.requests_failed} requests failed"
            + ("" if cell.concurrency is None else f" at {cell.concurrency} streams")
            + f": {_reasons(cell, measured)}. None was sent again; they count in no sum, and the wall time holds the "
            "time they took.",
            fix="See the reasons in requests.jsonl, column `error`.",
        )
        for cell in cells
        if cell.category is None and cell.repeat is None and cell.requests_failed
    ]


def _reasons(cell: Measurement, measured: Measured) -> str:
    """Return how often requests failed in which way, the most frequent first."""
    kinds = Counter(answer.failure for answer in failed_answers(cell, measured))
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


def failed_answers(cell: Measurement, measured: Measured) -> list[Answer]:
    """Return the failed requests of a pooled cell."""
    of_load = [item for item in measured.kept if item.load.concurrency == cell.concurrency]
    return [answer for item in of_load for answer in item.result.answers if answer.error is not None]
