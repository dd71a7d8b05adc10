"""The evidence table: every run at every load, worst included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracker.analysis.baselines import Reference
from tracker.analysis.break_even import measure, reachability
from tracker.analysis.costs import length_estimate, step_estimate
from tracker.analysis.noise import repeat_components
from tracker.analysis.observations import Observation, failures
from tracker.analysis.pairing import Comparison
from tracker.analysis.priors import Priors
from tracker.analysis.readings import accept_rate
from tracker.analysis.results import Point, Window
from tracker.analysis.scaling_points import training_of
from tracker.analysis.selection import is_news
from tracker.analysis.uncertainty import Component, around, combine, rounding_component
from tracker.domain.campaign import Campaign
from tracker.domain.estimate import Estimate
from tracker.domain.record import StoredRun


def evidence_points(
    observations: Sequence[Observation],
    references: Mapping[int | None, Reference],
    compared: Mapping[tuple[str, int | None], Comparison],
    *,
    campaign: Campaign,
    window: Window,
    trainings: Sequence[StoredRun],
    priors: Priors,
) -> tuple[Point, ...]:
    """Return all rows: by load, baselines before candidates, best first, excluded rows last."""
    points = [
        _point(
            item,
            references.get(item.concurrency),
            compared.get((item.run_id, item.concurrency)),
            campaign=campaign,
            window=window,
            trainings=trainings,
            priors=priors,
        )
        for item in observations
    ]
    return tuple(sorted(points, key=_order))


def _point(
    item: Observation,
    reference: Reference | None,
    comparison: Comparison | None,
    *,
    campaign: Campaign,
    window: Window,
    trainings: Sequence[StoredRun],
    priors: Priors,
) -> Point:
    record = item.record
    bar = None
    if reference is not None and item.speculative and item.times_steps:
        bar = measure([item], reference.baseline, noise=reference.noise, drift=reference.drift)
    reachable, note = (None, None) if bar is None else reachability(bar, item.configuration)
    training = training_of(record, trainings)
    length = item.length
    return Point(
        run_id=item.run_id,
        name=record.name,
        role="candidate" if item.speculative else "baseline",
        configuration=item.configuration,
        concurrency=item.concurrency,
        drafter=None if record.drafter is None else record.drafter.name,
        samples=None if training is None else training.samples,
        throughput_tok_s=_throughput(item, reference),
        accept_length=length_estimate(item, priors),
        accept_length_rounding=None if length is None or length.low is None else length.bounds,
        accept_rate=None if item.step_time_only or not item.speculative else accept_rate(item.cell, record.speculation),
        step_time_ms=step_estimate(item, reference),
        step_time_rounding_ms=None if item.step_ms is None or item.step_ms.low is None else item.step_ms.bounds,
        speedup=_speedup(item, reference, comparison),
        break_even=bar,
        needs_fraction=None if bar is None or length is None else bar.value / length.value - 1,
        reachable=reachable,
        reachable_note=note,
        record_id=record.record_id,
        prompts=item.prompts,
        requests=item.cell.requests_completed,
        wall_s=item.cell.wall_s,
        is_news=is_news(item.run, window),
        measured_at=record.provenance.measured_at,
        deployed=campaign.deployed_run is not None and campaign.deployed_run in (record.name, item.run_id),
        step_time_only=item.step_time_only,
        excluded_reason=item.excluded_reason,
        output_tokens=item.cell.output_tokens,
        verify_steps=item.cell.verify_steps,
        accepted_drafts=item.cell.accepted_drafts,
        busy_s=item.cell.busy_s,
        prefill_s=item.prefill_s,
    )


def _throughput(item: Observation, reference: Reference | None) -> Estimate:
    if item.throughput is None:
        return Estimate(reason="no throughput reported")
    if reference is None:
        return Estimate(value=item.throughput.value, reason="no baseline at this load, so no estimate of its noise")
    parts = [Component(name="noise between runs", sd=reference.noise.sd, df=reference.noise.df)]
    if item.throughput.low is not None:
        parts.append(rounding_component(*item.throughput.bounds))
    parts += repeat_components(item, reference.noise)
    return around(item.throughput.value, combine(parts))


def _speedup(item: Observation, reference: Reference | None, comparison: Comparison | None) -> Estimate:
    if comparison is not None:
        return around(comparison.speedup, comparison.spread)
    if reference is not None and item is reference.baseline:
        return Estimate(value=1.0, low=1.0, high=1.0, reason="the baseline itself")
    if item.step_time_only:
        return Estimate(reason="acceptance was simulated: step time only")
    if reference is None:
        return Estimate(reason="no baseline at this load")
    if item.throughput is None:
        return Estimate(reason="no throughput reported")
    return Estimate(reason=failures(item.cell) or "it answered other prompts than the baseline")


def _order(point: Point) -> tuple[bool, int, bool, float, str]:
    load = -1 if point.concurrency is None else point.concurrency
    speed = point.throughput_tok_s.value
    return (
        point.excluded_reason is not None,
        load,
        point.configuration.speculative,
        0.0 if speed is None else -speed,
        point.record_id,
    )
