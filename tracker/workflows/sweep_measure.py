"""Measuring one server of a sweep load by load, so that a hopeless one can be stopped in between."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from tracker.workflows.bench_measure import OnProgress, Progress, measure
from tracker.workflows.bench_measured import Measured
from tracker.workflows.bench_plan import BenchPlan
from tracker.workflows.sweep_history import Speed

Hopeless = Callable[[list[tuple[int, Speed]]], str | None]


def measure_until(
    url: str, plan: BenchPlan, *, hopeless: Hopeless, on_progress: OnProgress
) -> tuple[Measured, str | None]:
    """Return what the plan's passes brought, and why they were stopped early; None when they were not.

    The passes are those of `measure`, in the same order; `hopeless` is asked after each load of the first repeat.

    Raises:
        ServerError: Nothing answers at the address.
    """
    measured: Measured | None = None
    for number, load in enumerate(plan.loads, start=1):
        before = 0 if measured is None else sum(len(item.result.answers) for item in measured.passes)
        part = dataclasses.replace(
            plan, loads=(load,), repeats=1, warmup_requests=plan.warmup_requests if measured is None else 0
        )
        measured = measure(url, part, into=measured, on_progress=_shifted(plan, before, on_progress))
        if measured.ended_early is not None:
            return measured, None
        if number < len(plan.loads) or plan.repeats > 1:
            reason = hopeless(speeds(measured))
            if reason is not None:
                return measured, reason
    if measured is None:
        raise ValueError("a plan without loads measures nothing")
    if plan.repeats > 1:
        rest = dataclasses.replace(plan, repeats=plan.repeats - 1, warmup_requests=0)
        shifted = _shifted(plan, plan.requests_per_repeat, on_progress)
        measured = measure(url, rest, first_repeat=1, into=measured, on_progress=shifted)
    return measured, None


def speeds(measured: Measured) -> list[tuple[int, Speed]]:
    """Return streams and speed of each whole pass in which every request was answered and counted."""
    found = []
    for item in measured.passes:
        counts = [answer.counts for answer in item.result.answers if answer.counts is not None]
        whole = item.whole and len(counts) == len(item.result.answers) and item.result.wall_s > 0
        tokens = sum(count.output_tokens or 0 for count in counts)
        steps = sum(count.verify_steps or 0 for count in counts)
        accepted = sum(count.accepted_drafts or 0 for count in counts)
        if steps == 0 and item.counters is not None and item.counters.output_tokens == tokens:
            # vLLM's answers do not tell; its counters do, where they count these answers alone.
            steps, accepted = item.counters.verify_steps or 0, item.counters.accepted_drafts or 0
        if whole and item.load.concurrency is not None and tokens:
            length = None if steps == 0 else 1 + accepted / steps
            found.append((item.load.concurrency, Speed(tok_s=tokens / item.result.wall_s, accept_length=length)))
    return found


def _shifted(plan: BenchPlan, before: int, on_progress: OnProgress) -> OnProgress:
    """Show a part's progress as that of the whole."""
    planned = plan.repeats * plan.requests_per_repeat

    def shown(progress: Progress) -> None:
        done = before + progress.done
        elapsed_s = progress.elapsed_s * done / max(1, progress.done)
        on_progress(dataclasses.replace(progress, done=done, planned=planned, elapsed_s=elapsed_s))

    return shown
