"""Metric histories of bounded length."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tracker.domain.training import MetricPoint

# A training logs a value every few steps; a metric history of more points than this is thinned for the record.
MAX_POINTS_A_METRIC = 2000


def thinned(series: list[MetricPoint]) -> list[MetricPoint]:
    """Return a history of bounded length that keeps the last point."""
    stride = math.ceil(len(series) / MAX_POINTS_A_METRIC)
    return series[(len(series) - 1) % stride :: stride] if series else []


def of(points: Iterable[MetricPoint]) -> tuple[MetricPoint, ...]:
    """Return the points grouped by metric, each metric thinned and in order of its steps."""
    series: dict[str, list[MetricPoint]] = {}
    for point in points:
        series.setdefault(point.name, []).append(point)
    return tuple(
        point for name in sorted(series) for point in thinned(sorted(series[name], key=lambda item: item.step))
    )
