"""From a benchmark's answers to the run that is logged."""

from __future__ import annotations

import dataclasses
from typing import Any

from tracker.domain.measurement import Measurement
from tracker.domain.record import Role
from tracker.errors import InputError
from tracker.importers import _cells, _identities
from tracker.importers.base import ImportedRun
from tracker.load.answers import TIMED_OUT
from tracker.load.client import transport_name
from tracker.workflows.bench_counters import with_counters
from tracker.workflows.bench_findings import failed_answers, failed_requests, findings
from tracker.workflows.bench_measured import Measured
from tracker.workflows.bench_plan import BenchPlan


def to_run(
    measured: Measured, plan: BenchPlan, *, name: str | None, role: Role | None = None, **told: Any
) -> ImportedRun:
    """Return the run that these answers make: counts summed, failures counted, nothing filled in.

    Args:
        measured: What the benchmark brought.
        plan: What was asked.
        name: Name of the run.
        role: baseline or candidate, where it is known.
        **told: Further fields of the run (`argv`, `training`, ...).

    Raises:
        InputError: Not one request was answered; says how the first failed.
    """
    rows = measured.rows()
    if not any(row.error is None for row in rows):
        first = next((row.error for row in rows if row.error is not None), measured.ended_early or "none was sent")
        hint = "Give it more time." if measured.interrupted else "Look at the server's log; is it still up?"
        raise InputError(f"no request was answered: {first}", hint=hint)
    passes = [
        _cells.Pass(concurrency=item.load.concurrency, repeat=item.repeat, wall_s=item.result.wall_s)
        for item in measured.kept
        if item.whole
    ]
    cells = _cells.build(rows, passes)
    plain = tuple(_with_client(cell, measured) for cell in cells.measurements)
    measurements = tuple(with_counters(cell, measured.kept) for cell in plain)
    identities = [finding for cell in measurements for finding in _identities.check(_without_sampled_pace(cell, plan))]
    return ImportedRun(
        name=name,
        role=role,
        measured_at=measured.started_at,
        measurements=measurements,
        requests=rows,
        workload=plan.workload(),
        findings=(
            *cells.findings,
            *_identities.merge([*identities, *findings(measured, plan)]),
            *failed_requests(cells.measurements, measured),
        ),
        missing=measured.ended_early,
        tags={
            **told.pop("tags", {}), "bench.route": measured.route, "bench.client": transport_name(),
            **({"bench.acceptance": "server counters"} if measurements != plain else {}),
            **({"bench.cache_flushed": str(measured.flushed).lower()} if measured.flushed is not None else {}),
        },
        **told,
    )  # fmt: skip


def _without_sampled_pace(cell: Measurement, plan: BenchPlan) -> Measurement:
    """Return the cell for its identities: the time per token of a sample says nothing about all tokens' throughput."""
    return cell if plan.streamed_fraction >= 1 else dataclasses.replace(cell, tpot_ms=None)


def _with_client(cell: Measurement, measured: Measured) -> Measurement:
    """Return a pooled cell with the steady part's throughput and the client's own load beside the counts."""
    if cell.category is not None or cell.repeat is not None:
        return cell
    of_load = [item.result for item in measured.kept if item.whole and item.load.concurrency == cell.concurrency]
    if not of_load:
        return cell
    extra = dict(cell.extra)
    late = sum((answer.error or "").startswith(TIMED_OUT) for answer in failed_answers(cell, measured))
    if late:
        extra["requests_timed_out"] = float(late)
    if cell.concurrency is None and cell.wall_s:
        extra["answers_per_s"] = (cell.requests_completed or 0) / cell.wall_s
    extra["client_cpu_fraction"] = max(item.health.cpu_fraction for item in of_load)
    delays = [item.health.delay_ms_p99 for item in of_load if item.health.delay_ms_p99 is not None]
    if delays:
        extra["client_delay_ms_p99"] = max(delays)
    steady = [(item.steady_output_tokens, item.steady_s) for item in of_load]
    known = [(tokens, seconds) for tokens, seconds in steady if tokens is not None and seconds]
    if known and len(known) == len(steady):
        extra["steady_output_throughput_tok_s"] = sum(part[0] for part in known) / sum(part[1] for part in known)
    streamed = sum(answer.first_token_s is not None for item in of_load for answer in item.answers)
    if streamed:
        extra["streamed_requests"] = float(streamed)
    return dataclasses.replace(cell, extra=extra)
