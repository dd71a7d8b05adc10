"""What aiperf's JSON, JSON Lines and CSV exports share: metrics by tag with a unit and statistics.

aiperf's `inter_token_latency` is (latency - time to first token) / (tokens - 1), which others call time per output
token; its `inter_chunk_latency` is what they call inter-token latency. Acceptance rates are in per cent. The acceptance
length that weighs tokens comes from the totals; the mean over requests is kept under its own name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from tracker.domain.measurement import Latency, Measurement, Reported
from tracker.importers import _jsonl

_TO_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "sec": 1e3, "seconds": 1e3}
_EXTRA = (
    "request_throughput",
    "output_token_throughput_per_user",
    "total_token_throughput",
    "goodput",
    "spec_decode_acceptance_length",
    "spec_decode_draft_acceptance_rate",
    "spec_decode_accepted_per_verified",
)
_RATE = "spec_decode_overall_draft_acceptance_rate"
_FRACTIONS = frozenset({"ratio", "fraction"})
_LATENCIES = {
    "ttft_ms": "time_to_first_token",
    "tpot_ms": "inter_token_latency",
    "itl_ms": "inter_chunk_latency",
    "e2e_latency_ms": "request_latency",
}
_STATISTICS = {"mean_ms": "avg", "median_ms": "p50", "p90_ms": "p90", "p99_ms": "p99"}


class Metrics:
    """Metrics by tag, each `{"unit", "avg", "p50", ...}`."""

    def __init__(self, data: Mapping[str, Any], where: str) -> None:
        """Wrap the object that holds the metrics."""
        self._fields = _jsonl.Fields(data=data, where=where)

    def statistic(self, tag: str, name: str = "avg") -> float | None:
        """Return one statistic of a metric; None when it is not there.

        Raises:
            InputError: It is no number.
        """
        value = self._fields.data.get(tag)
        return self._fields.inner(tag).number(name) if isinstance(value, dict) else None

    def count(self, tag: str) -> int | None:
        """Return a total as a whole number; None when it is not there."""
        value = self.statistic(tag)
        return None if value is None or value >= _jsonl.MAX_COUNT else round(value)

    def total(self, tag: str) -> int | None:
        """Return the sum of a metric over requests, from its sum or its mean and count."""
        total = self.statistic(tag, "sum")
        if total is None:
            mean, count = self.statistic(tag), self.statistic(tag, "count")
            total = None if mean is None or count is None else mean * count
        return None if total is None or total >= _jsonl.MAX_COUNT else round(total)

    def latency(self, tag: str) -> Latency | None:
        """Return a latency in milliseconds; None when it is not there or in no unit of time."""
        value = self._fields.data.get(tag)
        unit = value.get("unit") if isinstance(value, dict) else None
        scale = _TO_MS.get(unit) if isinstance(unit, str) else None
        if scale is None:
            return None
        found = {key: self.statistic(tag, name) for key, name in _STATISTICS.items()}
        known = {key: number * scale for key, number in found.items() if number is not None}
        return Latency(**known) if known else None

    def rate_scale(self, tag: str) -> float:
        """Return the factor that makes a rate a fraction: aiperf writes per cent unless its unit says otherwise."""
        value = self._fields.data.get(tag)
        return 1.0 if isinstance(value, dict) and value.get("unit") in _FRACTIONS else 0.01

    def seconds(self, tag: str) -> float | None:
        """Return a duration in seconds."""
        latency = self.latency(tag)
        return None if latency is None or latency.mean_ms is None else latency.mean_ms / 1000


def measurement(
    metrics: Metrics, *, concurrency: int | None, histogram: tuple[int, ...] | None, repeat: int | None = None
) -> Measurement:
    """Return the cell of one export."""
    throughput = metrics.statistic("output_token_throughput")
    length = metrics.statistic("spec_decode_token_weighted_acceptance_length")
    rate = metrics.statistic(_RATE)
    extra = {tag: metrics.statistic(tag) for tag in _EXTRA}
    return Measurement(
        concurrency=concurrency,
        repeat=repeat,
        requests_completed=metrics.count("request_count"),
        requests_failed=metrics.count("error_request_count"),
        input_tokens=metrics.total("input_sequence_length"),
        output_tokens=metrics.total("output_sequence_length"),
        wall_s=metrics.seconds("benchmark_duration"),
        verify_steps=metrics.count("total_spec_decode_steps"),
        accepted_drafts=metrics.count("total_accepted_draft_tokens"),
        proposed_drafts=metrics.count("total_draft_tokens"),
        accepted_histogram=histogram,
        reported_throughput_tok_s=None if throughput is None else Reported(value=throughput),
        reported_accept_length=None if length is None else Reported(value=length),
        reported_accept_rate=None if rate is None else Reported(value=rate * metrics.rate_scale(_RATE)),
        accept_rate_convention=None if rate is None else "accepted_over_proposed",
        extra={tag: value for tag, value in extra.items() if value is not None and math.isfinite(value)},
        **{name: metrics.latency(tag) for name, tag in _LATENCIES.items()},  # type: ignore[arg-type]
    )


def setting(config: Any, name: str) -> int | float | str | None:
    """Return the value of one setting wherever the configuration nests it; None when it is not there once."""
    found = {value for value in _values(config, name, 0) if isinstance(value, int | float | str)}
    return found.pop() if len(found) == 1 else None


def _values(config: Any, name: str, depth: int) -> Iterator[Any]:
    if depth > _jsonl.MAX_DEPTH:
        return
    if isinstance(config, dict):
        for key, value in config.items():
            # Sweeps name settings by their path: `phases.profiling.concurrency`.
            if key == name or (isinstance(key, str) and key.endswith(f".{name}")):
                if value is not None and not isinstance(value, bool | dict | list):
                    yield value
            else:
                yield from _values(value, name, depth + 1)
    elif isinstance(config, list):
        for value in config:
            yield from _values(value, name, depth + 1)


def streams(config: Any) -> int | None:
    """Return the concurrency that a configuration names; None when it names none or several."""
    value = setting(config, "concurrency")
    return value if isinstance(value, int) and 0 < value < _jsonl.MAX_COUNT else None
