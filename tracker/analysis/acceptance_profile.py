"""Acceptance of the best drafter by draft position, by category, and against its vocabulary."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from tracker.analysis.acceptance import (
    chain_length,
    constant_acceptance,
    harmonic_length,
    length_from_conditional,
    rejections_explained,
    vocabulary_ceiling,
)
from tracker.analysis.costs import length_estimate
from tracker.analysis.observations import Observation
from tracker.analysis.priors import Priors
from tracker.analysis.readings import by_prompt, length_log_se, ratio_log_se
from tracker.analysis.results import AcceptanceProfile, CategoryAcceptance, PositionAcceptance, VocabularyCeiling
from tracker.analysis.scaling_points import training_of
from tracker.analysis.uncertainty import Spread, around
from tracker.analysis.words import listed, size
from tracker.domain.estimate import Estimate
from tracker.domain.measurement import RequestRow
from tracker.domain.record import StoredRun
from tracker.domain.training import Training

# Loads are pooled while their accept lengths agree within this share.
_SAME_LENGTH_FRACTION = 0.05

Clusters = Sequence[tuple[float, float]]


def profile(
    observations: Sequence[Observation],
    best: Observation | None,
    priors: Priors,
    trainings: Sequence[StoredRun] = (),
) -> AcceptanceProfile:
    """Return the acceptance profile of the best candidate, its loads pooled while accept length agrees between them."""
    if best is None:
        return AcceptanceProfile(reason="no usable speculative run")
    loads = _pooled_loads(observations, best)
    rows = [row for item in loads for row in item.rows]
    positions = _positions(loads, rows)
    categories = _categories(loads, rows)
    missing = [name for name, found in (("by position", positions), ("by category", categories)) if not found]
    return AcceptanceProfile(
        run_id=best.run_id,
        configuration=best.configuration,
        per_position=positions,
        per_category=categories,
        vocabulary=_vocabulary(best, positions, priors),
        reason=f"Acceptance {' and '.join(missing)} was not recorded." if missing else None,
        mix_accept_length=_mix(categories),
        training_note=_training_note(best, training_of(best.record, trainings)),
    )


def _mix(categories: Sequence[CategoryAcceptance]) -> float | None:
    pairs = [
        (item.accept_length.value, item.token_share)
        for item in categories
        if item.accept_length.value is not None and item.token_share is not None
    ]
    if not pairs or len(pairs) < len(categories):
        return None
    return harmonic_length([length for length, _ in pairs], [share for _, share in pairs])


def _training_note(best: Observation, training: Training | None) -> str | None:
    """Return the trainer's own metric beside the served accept length: it informs and replaces nothing."""
    if training is None or best.length is None:
        return None
    served = f"{best.length.value:.2f} tokens a step were served. Only what was served is in any fit."
    accuracy = training.validation_position_accuracy
    if accuracy:
        # Positions the server never drafts say nothing about what it serves.
        accuracy = accuracy[: best.configuration.num_steps]
        told = listed([f"{rate:.2f}" for rate in accuracy])
        implied = length_from_conditional(accuracy)
        return f"The trainer's accuracy by position, teacher-forced, is {told}: {implied:.2f} tokens a step; {served}"
    reported = [point for point in training.history if "acc" in point.name.lower()]
    if not reported:
        return None
    last = max(reported, key=lambda point: (point.step, point.name))
    return f"The trainer reports {last.name} {last.value:.3f} at step {size(last.step)}; {served}"


def _pooled_loads(observations: Sequence[Observation], best: Observation) -> list[Observation]:
    mine = [item for item in observations if item.run_id == best.run_id and item.length is not None]
    lengths = [item.length.value for item in mine if item.length is not None]
    agree = bool(lengths) and max(lengths) <= min(lengths) * (1 + _SAME_LENGTH_FRACTION)
    return mine if agree else [best]


def _positions(loads: Sequence[Observation], rows: Sequence[RequestRow]) -> tuple[PositionAcceptance, ...]:
    histograms = [item.cell.accepted_histogram for item in loads if item.cell.accepted_histogram]
    if not histograms:
        return ()
    total = _added(histograms)
    clusters = [_added(found) for found in _histograms_by_prompt(rows)]
    result = []
    for position in range(1, len(total)):
        reached = [(float(sum(part[position:])), float(sum(part))) for part in clusters]
        survived = [(float(sum(part[position:])), float(sum(part[position - 1 :]))) for part in clusters]
        result.append(
            PositionAcceptance(
                position=position,
                unconditional=_share(sum(total[position:]), sum(total), reached),
                conditional=_share(sum(total[position:]), sum(total[position - 1 :]), survived),
            )
        )
    return tuple(result)


def _histograms_by_prompt(rows: Sequence[RequestRow]) -> list[list[tuple[int, ...]]]:
    groups = [[row.accepted_histogram for row in group] for group in by_prompt(rows).values()]
    return [known for known in ([part for part in group if part] for group in groups) if known]


def _added(histograms: Iterable[Sequence[int]]) -> list[int]:
    total: list[int] = []
    for histogram in histograms:
        total += [0] * (len(histogram) - len(total))
        for index, count in enumerate(histogram):
            total[index] += count
    return total


def _share(hits: int, trials: int, clusters: Clusters) -> Estimate:
    if trials == 0:
        return Estimate(reason="no draft got this far")
    value = hits / trials
    relative = ratio_log_se(clusters)
    # Without prompts to cluster by, verify steps are taken as independent.
    error = math.sqrt(value * (1 - value) / trials) if relative is None else relative * value
    half = Spread(sd=error, df=math.inf if relative is None else len(clusters) - 1).half_width
    return Estimate(value=value, low=max(0.0, value - half), high=min(1.0, value + half))


def _categories(loads: Sequence[Observation], rows: Sequence[RequestRow]) -> tuple[CategoryAcceptance, ...]:
    grouped: dict[str, list[RequestRow]] = defaultdict(list)
    for row in rows:
        if row.category is not None and row.verify_steps is not None and row.accepted_drafts is not None:
            grouped[row.category].append(row)
    if not grouped:
        return _categories_from_cells(loads)
    found = []
    whole = sum(_tokens(members) for members in grouped.values())
    for name, members in grouped.items():
        sums = [_sums(group) for group in by_prompt(members).values()] or [_sums([row]) for row in members]
        tokens, steps = math.fsum(first for first, _ in sums), math.fsum(second for _, second in sums)
        if steps <= 0:
            continue
        relative = ratio_log_se(sums)
        value = tokens / steps
        length = (
            Estimate(value=value, reason="one prompt has no spread")
            if relative is None
            else around(value, Spread(sd=relative, df=len(sums) - 1))
        )
        share = _tokens(members) / whole if whole else None
        found.append(CategoryAcceptance(category=name, accept_length=length, requests=len(members), token_share=share))
    return _best_first(found)


def _tokens(rows: Sequence[RequestRow]) -> int:
    return sum(row.output_tokens for row in rows if row.output_tokens is not None)


def _sums(rows: Sequence[RequestRow]) -> tuple[float, float]:
    pairs = [
        (row.accepted_drafts, row.verify_steps)
        for row in rows
        if row.accepted_drafts is not None and row.verify_steps is not None
    ]
    steps = math.fsum(verified for _, verified in pairs)
    return steps + math.fsum(accepted for accepted, _ in pairs), steps


def _categories_from_cells(loads: Sequence[Observation]) -> tuple[CategoryAcceptance, ...]:
    found = []
    for item in loads[:1]:
        whole = sum(
            cell.output_tokens
            for cell in item.record.measurements
            if cell.category is not None
            and cell.repeat is None
            and cell.concurrency == item.concurrency
            and cell.output_tokens is not None
        )
        for cell in item.record.measurements:
            length = cell.accept_length
            if (
                cell.category is None
                or cell.repeat is not None
                or cell.concurrency != item.concurrency
                or length is None
            ):
                continue
            relative = length_log_se(cell)
            estimate = (
                Estimate(value=length, reason="no spread recorded")
                if relative is None
                else around(length, Spread(sd=relative, df=math.inf))
            )
            answered = 0 if cell.requests_completed is None else cell.requests_completed
            share = cell.output_tokens / whole if whole and cell.output_tokens is not None else None
            found.append(
                CategoryAcceptance(category=cell.category, accept_length=estimate, requests=answered, token_share=share)
            )
    return _best_first(found)


def _best_first(found: Iterable[CategoryAcceptance]) -> tuple[CategoryAcceptance, ...]:
    def key(item: CategoryAcceptance) -> tuple[float, str]:
        value = item.accept_length.value
        return (0.0 if value is None else -value, item.category)

    return tuple(sorted(found, key=key))


def _vocabulary(best: Observation, positions: Sequence[PositionAcceptance], priors: Priors) -> VocabularyCeiling | None:
    drafter = best.record.drafter
    coverage = None if drafter is None else drafter.vocabulary_coverage_fraction
    if coverage is None or best.length is None or not 0 < coverage <= 1:
        return None
    recorded = best.configuration.num_steps
    steps = priors.assumed_num_steps if recorded is None else recorded
    low = length_estimate(best, priors).low
    if low is not None and vocabulary_ceiling(coverage, steps) < low <= steps + 1:
        return None
    rates = [item.conditional.value for item in positions if item.conditional.value is not None]
    if len(rates) == steps:
        first = rates[0]
        gain = length_from_conditional([min(1.0, rate / coverage) for rate in rates]) - length_from_conditional(rates)
    elif best.length.value <= steps + 1:
        first = constant_acceptance(best.length.value, steps)
        gain = chain_length(min(1.0, first / coverage), steps) - best.length.value
    else:
        return None
    explained = rejections_explained(coverage, first)
    return VocabularyCeiling(
        coverage_fraction=coverage,
        max_accept_length=vocabulary_ceiling(coverage, steps),
        rejections_explained_fraction=explained,
        max_gain_tokens=gain,
        is_lever=explained is not None and explained > priors.vocabulary_lever_fraction,
        assumed_num_steps=steps if recorded is None else None,
    )
