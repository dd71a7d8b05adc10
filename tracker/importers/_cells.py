"""Measurements from request rows: pooled per concurrency, per repeat and per category. Counts are summed."""

from __future__ import annotations

import hashlib
import operator
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tracker.domain.finding import Finding
from tracker.domain.measurement import Latency, Measurement, RequestRow
from tracker.domain.workload import Workload
from tracker.importers import _identities


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One timed pass over the prompts."""

    concurrency: int | None
    """Streams in flight."""
    repeat: int
    """Repeat index."""
    wall_s: float
    """Wall time of the pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """What the rows add up to."""

    measurements: tuple[Measurement, ...]
    """Pooled cell per concurrency first, then per repeat and per category."""
    findings: tuple[Finding, ...]
    """Counts that are not complete."""


_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "verify_steps",
    "accepted_drafts",
    "proposed_drafts",
)
_counts_of = operator.attrgetter(*_COUNTS)


@dataclass(slots=True)
class _Sums:
    """Running sums over the rows of one cell; the counts that a row lacks are counted apart."""

    completed: int = 0
    failed: int = 0
    without_key: int = 0
    keys: set[str] = field(default_factory=set)
    totals: list[int] = field(default_factory=lambda: [0] * len(_COUNTS))
    carriers: list[int] = field(default_factory=lambda: [0] * len(_COUNTS))
    histogram: list[int] = field(default_factory=list)
    histograms: int = 0
    length_sum: float = 0.0
    lengths: int = 0
    latencies_s: array[float] = field(default_factory=lambda: array("d"))
    ttfts_s: array[float] = field(default_factory=lambda: array("d"))
    tpots_s: array[float] = field(default_factory=lambda: array("d"))

    def add(self, row: RequestRow) -> None:
        """Add one row."""
        if row.error is not None:
            self.failed += 1
            return
        self.completed += 1
        if row.prompt_key is None:
            self.without_key += 1
        else:
            self.keys.add(row.prompt_key)
        totals, carriers = self.totals, self.carriers
        for index, value in enumerate(_counts_of(row)):
            if value is not None:
                totals[index] += value
                carriers[index] += 1
        if row.verify_steps:
            drafts, tokens = row.accepted_drafts, row.output_tokens
            if drafts is not None:
                self.length_sum += 1 + drafts / row.verify_steps
                self.lengths += 1
            elif tokens is not None:
                self.length_sum += tokens / row.verify_steps
                self.lengths += 1
        if row.accepted_histogram is not None:
            self.histograms += 1
            _add_elementwise(self.histogram, row.accepted_histogram)
        self._add_times(row)

    def _add_times(self, row: RequestRow) -> None:
        if row.latency_s is not None:
            self.latencies_s.append(row.latency_s)
        if row.ttft_s is not None:
            self.ttfts_s.append(row.ttft_s)
            if row.latency_s is not None and row.output_tokens is not None and row.output_tokens > 1:
                self.tpots_s.append((row.latency_s - row.ttft_s) / (row.output_tokens - 1))

    def merge(self, other: _Sums) -> None:
        """Add another cell's sums."""
        self.completed += other.completed
        self.failed += other.failed
        self.without_key += other.without_key
        self.keys |= other.keys
        _add_elementwise(self.totals, other.totals)
        _add_elementwise(self.carriers, other.carriers)
        self.histograms += other.histograms
        self.length_sum += other.length_sum
        self.lengths += other.lengths
        _add_elementwise(self.histogram, other.histogram)
        self.latencies_s += other.latencies_s
        self.ttfts_s += other.ttfts_s
        self.tpots_s += other.tpots_s

    def total(self, name: str) -> int | None:
        """Return a sum; None unless every completed row carries the count, for a partial sum means nothing."""
        index = _COUNTS.index(name)
        return self.totals[index] if self.completed and self.carriers[index] == self.completed else None

    def partial(self) -> dict[str, int]:
        """Return the counts that some completed rows carry and others lack, with how many lack them."""
        carried = zip(_COUNTS, self.carriers, strict=True)
        return {name: self.completed - count for name, count in carried if 0 < count < self.completed}


_Key = tuple[int | None, int, str | None]


def build(rows: Iterable[RequestRow], passes: Sequence[Pass] = ()) -> Cells:
    """Return the cells of these rows, in time linear in their number.

    A category's wall time is known at one stream only: there requests follow one another, and the pass is shared out
    in proportion to the server's latency. At higher concurrency categories overlap and have no wall time of their own.
    """
    finest: dict[_Key, _Sums] = {}
    for row in rows:
        key = (row.concurrency, row.repeat, row.category)
        sums = finest.get(key)
        if sums is None:
            sums = finest[key] = _Sums()
        sums.add(row)
    walls = _walls(passes)
    pooled: list[Measurement] = []
    parts: list[Measurement] = []
    findings: list[Finding] = []
    for concurrency in _ordered({key[0] for key in finest}):
        of_concurrency = {key: sums for key, sums in finest.items() if key[0] == concurrency}
        whole, details = _one_concurrency(concurrency, of_concurrency, walls)
        pooled.append(whole.cell)
        parts += details
        findings += _incomplete(whole.sums, whole.cell)
    return Cells(measurements=(*pooled, *parts), findings=_identities.merge(findings))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Whole:
    cell: Measurement
    sums: _Sums


def _one_concurrency(
    concurrency: int | None, finest: Mapping[_Key, _Sums], walls: Mapping[tuple[int | None, int], float]
) -> tuple[_Whole, list[Measurement]]:
    """Return the pooled cell of one concurrency, and its cells per repeat and per category."""
    repeats = sorted({key[1] for key in finest})
    categories = sorted({key[2] for key in finest if key[2] is not None})
    wall_s = _sum_known([walls.get((concurrency, repeat)) for repeat in repeats])
    sums = _merged(finest.values())
    whole = _measurement(sums, concurrency=concurrency, wall_s=wall_s)
    parts = []
    if len(repeats) > 1:
        for repeat in repeats:
            part = _merged(item for key, item in finest.items() if key[1] == repeat)
            parts.append(
                _measurement(part, concurrency=concurrency, repeat=repeat, wall_s=walls.get((concurrency, repeat)))
            )
    for category in categories:
        part = _merged(item for key, item in finest.items() if key[2] == category)
        share = _category_wall_s(part, sums, wall_s) if concurrency == 1 else None
        parts.append(_measurement(part, concurrency=concurrency, category=category, wall_s=share))
    return _Whole(cell=whole, sums=sums), parts


def _category_wall_s(part: _Sums, whole: _Sums, wall_s: float | None) -> float | None:
    """Return the category's share of a pass at one stream."""
    if wall_s is None or part.failed or whole.failed or len(whole.latencies_s) < whole.completed:
        return None
    busy_s = sum(whole.latencies_s)
    return wall_s * sum(part.latencies_s) / busy_s if busy_s else None


def _merged(sums: Iterable[_Sums]) -> _Sums:
    parts = list(sums)
    if len(parts) == 1:
        return parts[0]
    total = _Sums()
    for item in parts:
        total.merge(item)
    return total


def _measurement(
    sums: _Sums,
    *,
    concurrency: int | None,
    wall_s: float | None,
    repeat: int | None = None,
    category: str | None = None,
) -> Measurement:
    """Return the cell these sums make."""
    whole_histogram = bool(sums.histograms) and sums.histograms == sums.completed
    timed = bool(sums.latencies_s) and len(sums.latencies_s) == sums.completed
    return Measurement(
        concurrency=concurrency,
        repeat=repeat,
        category=category,
        requests_completed=sums.completed,
        requests_failed=sums.failed,
        prompts=len(sums.keys) if sums.keys and not sums.without_key else None,
        input_tokens=sums.total("input_tokens"),
        output_tokens=sums.total("output_tokens"),
        cached_input_tokens=sums.total("cached_input_tokens"),
        verify_steps=sums.total("verify_steps"),
        accepted_drafts=sums.total("accepted_drafts"),
        proposed_drafts=sums.total("proposed_drafts"),
        wall_s=wall_s,
        busy_s=float(sum(sums.latencies_s)) if timed else None,
        accepted_histogram=tuple(sums.histogram) if whole_histogram else None,
        ttft_ms=latency_ms(sums.ttfts_s),
        tpot_ms=latency_ms(sums.tpots_s),
        e2e_latency_ms=latency_ms(sums.latencies_s),
        # What SpecForge's runner and aiperf print beside the pooled value, and never the same as it (C52).
        extra={"accept_length_mean_over_requests": sums.length_sum / sums.lengths} if sums.lengths else {},
    )


def latency_ms(seconds: Sequence[float]) -> Latency | None:
    """Return mean and percentiles (linear interpolation) in milliseconds; None without values."""
    if not seconds:
        return None
    values = np.asarray(seconds, dtype=float) * 1000
    median, p90, p99 = (float(part) for part in np.percentile(values, (50, 90, 99)))
    return Latency(mean_ms=float(values.mean()), median_ms=median, p90_ms=p90, p99_ms=p99)


def workload(rows: Sequence[RequestRow]) -> Workload:
    """Return what the rows say about the workload."""
    keys = {row.prompt_key for row in rows if row.prompt_key is not None}
    keyed = bool(keys) and all(row.prompt_key is not None for row in rows)
    return Workload(
        prompts=len(keys) if keyed else None,
        prompt_set_digest=hashlib.sha256("\n".join(sorted(keys)).encode()).hexdigest() if keyed else None,
        categories=tuple(sorted({row.category for row in rows if row.category is not None})),
        input_tokens_mean=_mean([row.input_tokens for row in rows]),
        output_tokens_mean=_mean([row.output_tokens for row in rows if row.error is None]),
        concurrencies=tuple(sorted({row.concurrency for row in rows if row.concurrency is not None})),
    )


def _mean(values: Sequence[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _walls(passes: Sequence[Pass]) -> dict[tuple[int | None, int], float]:
    """Return wall seconds by concurrency and repeat; several passes of one repeat add up."""
    walls: dict[tuple[int | None, int], float] = {}
    for item in passes:
        key = (item.concurrency, item.repeat)
        walls[key] = walls.get(key, 0.0) + item.wall_s
    return walls


def _sum_known(values: Sequence[float | None]) -> float | None:
    """Return the sum, or None when a part is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _ordered(concurrencies: set[int | None]) -> list[int | None]:
    return sorted(concurrencies, key=lambda value: -1 if value is None else value)


def _add_elementwise(total: list[int], counts: Sequence[int]) -> None:
    """Add counts to a running histogram; lengths may differ because servers leave out trailing zeros."""
    if len(total) < len(counts):
        total.extend([0] * (len(counts) - len(total)))
    for index, count in enumerate(counts):
        total[index] += count


def _incomplete(sums: _Sums, cell: Measurement) -> list[Finding]:
    """Return a finding for each count that some answers lack: its sum would mislead, so it is left out."""
    return [
        Finding(
            code="COUNTS_INCOMPLETE",
            severity="warning",
            message=f"{lacking} of {sums.completed} answers carry no {name}{_identities.where(cell)}; "
            "the sum is left out.",
        )
        for name, lacking in sums.partial().items()
        # A prefix-cache count is absent where the cache is off for a request.
        if name != "cached_input_tokens"
    ]
