"""Accept lengths as they can be: a verify step always yields its bonus token, so none lies below 1."""

from __future__ import annotations

import dataclasses

from tracker.analysis.results import CampaignAnalysis, Point
from tracker.domain.estimate import Estimate

LEAST = 1.0


def physical(analysis: CampaignAnalysis) -> CampaignAnalysis:
    """Return the analysis with every accept length and its interval cut off at 1, for display and memo.json."""
    cause = analysis.root_cause
    if cause is not None:
        cause = dataclasses.replace(
            cause,
            accept_length_before=_cut(cause.accept_length_before),
            accept_length_after=_cut(cause.accept_length_after),
        )
    categories = tuple(
        dataclasses.replace(item, accept_length=_cut(item.accept_length)) for item in analysis.acceptance.per_category
    )
    sizes = tuple(dataclasses.replace(item, accept_length=_cut(item.accept_length)) for item in analysis.scaling.points)
    return dataclasses.replace(
        analysis,
        points=tuple(_point(point) for point in analysis.points),
        root_cause=cause,
        acceptance=dataclasses.replace(analysis.acceptance, per_category=categories),
        scaling=dataclasses.replace(analysis.scaling, points=sizes),
    )


def _point(point: Point) -> Point:
    ends = point.accept_length_rounding
    rounding = None if ends is None else (max(LEAST, ends[0]), max(LEAST, ends[1]))
    length = _cut(point.accept_length)
    if length is point.accept_length and rounding == ends:
        return point
    return dataclasses.replace(point, accept_length=length, accept_length_rounding=rounding)


def _cut(estimate: Estimate) -> Estimate:
    parts = (estimate.value, estimate.low, estimate.high)
    if all(part is None or part >= LEAST for part in parts):
        return estimate
    value, low, high = (None if part is None else max(LEAST, part) for part in parts)
    return dataclasses.replace(estimate, value=value, low=low, high=high)
