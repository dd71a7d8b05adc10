"""Acceptance from the server's own counters, for the routes whose answers say nothing of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from tracker.domain.measurement import Measurement, Reported
from tracker.load.counters import ServerCounters
from tracker.workflows.bench_measured import PassRecord

# More than this between the server's own count and the answers' means foreign traffic, or answers miscounted.
TOLERANCE_FRACTION = 0.01


def agree(item: PassRecord) -> bool | None:
    """Return whether the server counted the tokens that the answers hold; None where that cannot be compared.

    A request that failed was perhaps half answered: its tokens are in the server's count only.
    """
    tokens = None if item.counters is None else item.counters.output_tokens
    if tokens is None or not item.whole or any(answer.error is not None for answer in item.result.answers):
        return None
    return abs(tokens - item.output_tokens) <= TOLERANCE_FRACTION * max(item.output_tokens, 1)


def with_counters(cell: Measurement, passes: Sequence[PassRecord]) -> Measurement:
    """Return the cell with the drafts that the server counted, where the answers do not tell them.

    The counters know neither requests nor categories: they serve the cells over all prompts, and only where nobody
    else used the server.
    """
    if cell.category is not None or cell.verify_steps is not None:
        return cell
    counted = [
        item.counters
        for item in passes
        if item.load.concurrency == cell.concurrency and cell.repeat in (None, item.repeat)
        if agree(item) and item.counters is not None
    ]
    repeats = {item.repeat for item in passes if item.load.concurrency == cell.concurrency}
    if not counted or (cell.repeat is None and len(counted) < len(repeats)):
        return cell
    steps = _sum(item.verify_steps for item in counted)
    if not steps:
        return cell
    accepted = _sum(item.accepted_drafts for item in counted)
    return dataclasses.replace(
        cell,
        verify_steps=steps,
        accepted_drafts=accepted,
        proposed_drafts=_sum(item.proposed_drafts for item in counted),
        accepted_histogram=_histogram(counted),
        reported_accept_length=cell.reported_accept_length or (_length(cell, steps) if accepted is None else None),
    )


def _length(cell: Measurement, steps: int) -> Reported | None:
    """Return tokens per step where only steps are counted: each answer's first token comes from the prefill."""
    if cell.output_tokens is None or cell.requests_completed is None:
        return None
    return Reported(value=(cell.output_tokens - cell.requests_completed) / steps)


def _histogram(counted: Sequence[ServerCounters]) -> tuple[int, ...] | None:
    parts = [item.accepted_histogram for item in counted]
    if any(part is None for part in parts):
        return None
    return tuple(sum(column) for column in zip_longest(*(part or () for part in parts), fillvalue=0))


def _sum(values: Iterable[int | None]) -> int | None:
    """Return the sum; None when a part is not known."""
    known = list(values)
    return None if any(value is None for value in known) else sum(value or 0 for value in known)
