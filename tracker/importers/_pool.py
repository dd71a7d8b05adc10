"""Repeats of one measured cell, pooled: counts and times are summed, never averaged."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tracker.domain.measurement import Latency, Measurement, Reported

_SUMS = (
    "requests_completed",
    "requests_failed",
    "input_tokens",
    "output_tokens",
    "wall_s",
    "verify_steps",
    "accepted_drafts",
    "proposed_drafts",
)
_LATENCIES = ("ttft_ms", "tpot_ms", "itl_ms", "e2e_latency_ms")


def repeats(cells: Sequence[Measurement]) -> tuple[Measurement, ...]:
    """Return the pooled cell and, where there are several, each repeat under its index.

    Sums need every repeat to carry the count. Percentiles cannot be pooled and are left out; a printed throughput or
    accept length is averaged only where no counts are at hand, with the repeats kept beside it.
    """
    if len(cells) == 1:
        return (cells[0],)
    changes: dict[str, object] = {name: _sum([getattr(cell, name) for cell in cells]) for name in _SUMS}
    changes |= {name: _latency([getattr(cell, name) for cell in cells]) for name in _LATENCIES}
    changes["reported_throughput_tok_s"] = _mean([cell.reported_throughput_tok_s for cell in cells])
    changes["reported_accept_length"] = _mean([cell.reported_accept_length for cell in cells])
    changes["reported_accept_rate"] = _mean([cell.reported_accept_rate for cell in cells])
    changes["accepted_histogram"] = _histogram([cell.accepted_histogram for cell in cells])
    pooled = Measurement(
        concurrency=cells[0].concurrency,
        category=cells[0].category,
        accept_rate_convention=cells[0].accept_rate_convention,
        **changes,  # type: ignore[arg-type]
    )
    return (pooled, *(dataclasses.replace(cell, repeat=index) for index, cell in enumerate(cells)))


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _mean(values: Sequence[Reported | None]) -> Reported | None:
    known = [value for value in values if value is not None]
    if not known or len(known) != len(values):
        return None
    widths = [value.half_width for value in known if value.half_width is not None]
    mean = sum(value.value for value in known) / len(known)
    return Reported(value=mean, half_width=max(widths) if len(widths) == len(known) else None)


def _latency(values: Sequence[Latency | None]) -> Latency | None:
    """Return the mean of means: the repeats hold equally many requests as a rule; percentiles do not pool."""
    means = [value.mean_ms for value in values if value is not None and value.mean_ms is not None]
    return Latency(mean_ms=sum(means) / len(means)) if means and len(means) == len(values) else None


def _histogram(values: Sequence[tuple[int, ...] | None]) -> tuple[int, ...] | None:
    known = [value for value in values if value is not None]
    if not known or len(known) != len(values):
        return None
    width = max(len(value) for value in known)
    return tuple(sum(value[index] for value in known if index < len(value)) for index in range(width))
