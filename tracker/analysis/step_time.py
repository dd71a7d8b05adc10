"""Step time split into fixed overhead, verification and drafting: T = T_base + f + v (n - 1) + d s, all at least 0."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracker.analysis.baselines import Reference
from tracker.analysis.decomposition import (
    Decomposition,
    StepRow,
    decompose,
    design_of,
    independent_columns,
    name_parts,
    solve,
)
from tracker.analysis.observations import Observation
from tracker.analysis.priors import Priors
from tracker.analysis.results import Configuration, StepTimeFit
from tracker.analysis.results.fits import StepTimeStatus
from tracker.analysis.uncertainty import HIGH_QUANTILE, LOW_QUANTILE
from tracker.analysis.words import percent
from tracker.domain.estimate import Estimate

_DRAWS = 400
# Residuals beyond this many standard errors say that the model is wrong, not the noise.
_WORST_RESIDUAL = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Runs of one configuration."""

    configuration: Configuration
    """The configuration."""
    row: StepRow
    """Pooled step time."""
    run_ids: tuple[str, ...]
    """Runs behind it."""


def fit(
    observations: Sequence[Observation],
    reference: Reference | None,
    best: Observation | None,
    *,
    priors: Priors,
    seed: int,
) -> StepTimeFit:
    """Return the decomposition at the load of `best`, over configurations that share its other flags."""
    load = None if best is None else best.concurrency
    if best is None or reference is None or reference.baseline.step_ms is None or best.step_ms is None:
        return StepTimeFit(status="refused", rank=0, concurrency=load, reason="no step times of baseline and candidate")
    groups, assumed = _groups(observations, best, reference, priors, priors.assumed_num_steps)
    ids = tuple(dict.fromkeys([run_id for group in groups for run_id in group.run_ids] + [reference.baseline.run_id]))
    base = reference.baseline.step_ms.value
    rows = [group.row for group in groups]
    if not rows:
        return StepTimeFit(
            status="refused",
            rank=0,
            concurrency=load,
            baseline_ms=base,
            example=best.configuration,
            example_step_ms=best.step_ms.value,
            reason="No configuration says how many tokens it drafts.",
            cure="Log the server's flags with the run: --server, --argv or --server-cmd.",
            run_ids=ids,
        )
    found = decompose(rows, base)
    refusal = _refusal(groups, found, reference, base)
    if refusal is not None:
        return StepTimeFit(
            status="refused",
            rank=found.rank,
            concurrency=load,
            baseline_ms=base,
            example=best.configuration,
            example_step_ms=best.step_ms.value,
            assumed_num_steps=priors.assumed_num_steps if assumed else None,
            reason=refusal[0],
            cure=refusal[1],
            run_ids=ids,
        )
    draws = _draw(rows, base, reference, seed)
    status: StepTimeStatus = "fitted" if found.rank == 3 else "combined"
    reason, cure = (None, None) if found.rank == 3 else _deficient(found)
    return StepTimeFit(
        status=status,
        rank=found.rank,
        concurrency=load,
        fixed_ms=_estimate(found.fixed_ms, [part.fixed_ms for part in draws]),
        per_verified_token_ms=_estimate(found.per_verified_token_ms, [part.per_verified_token_ms for part in draws]),
        per_draft_step_ms=_estimate(found.per_draft_step_ms, [part.per_draft_step_ms for part in draws]),
        combined_ms=_estimate(found.combined_ms, [part.combined_ms for part in draws]),
        baseline_ms=base,
        example=best.configuration,
        example_step_ms=best.step_ms.value,
        assumed_num_steps=priors.assumed_num_steps if assumed else None,
        alternatives=_alternatives(observations, best, reference, priors, seed) if assumed and found.rank == 3 else (),
        reason=reason if reason is not None else _saturated(groups),
        cure=cure,
        run_ids=ids,
    )


def _groups(
    observations: Sequence[Observation], best: Observation, reference: Reference, priors: Priors, steps: int
) -> tuple[list[_Group], bool]:
    members: dict[str, list[Observation]] = defaultdict(list)
    for item in observations:
        mine, theirs = item.configuration, best.configuration
        alike = (mine.algorithm, mine.cuda_graph, mine.other_flags) == (
            theirs.algorithm,
            theirs.cuda_graph,
            theirs.other_flags,
        )
        if item.speculative and item.times_steps and item.concurrency == best.concurrency and alike:
            members[mine.label].append(item)
    groups, assumed = [], False
    for found in members.values():
        configuration = found[0].configuration
        known = configuration.num_steps
        draft = configuration.num_draft_tokens
        if draft is None and configuration.eagle_topk == 1 and known is not None:
            draft = known + 1
        if draft is None:
            continue
        assumed = assumed or known is None
        logs = [math.log(item.step_ms.value) for item in found if item.step_ms is not None]
        rounding = max(math.log(high / low) for low, high in (item.step_ms.bounds for item in found if item.step_ms))
        noise = math.hypot(reference.noise.sd / math.sqrt(len(found)), rounding / math.sqrt(12))
        row = StepRow(
            num_steps=steps if known is None else known,
            num_draft_tokens=draft,
            step_ms=math.exp(math.fsum(logs) / len(logs)),
            log_sd=noise,
        )
        groups.append(_Group(configuration=configuration, row=row, run_ids=tuple(item.run_id for item in found)))
    return groups, assumed


def _refusal(
    groups: Sequence[_Group], found: Decomposition, reference: Reference, base: float
) -> tuple[str, str] | None:
    if found.rank < 2:
        return (
            "One configuration says only how long a whole step takes.",
            "Measure a second configuration with another number of draft tokens.",
        )
    for less in groups:
        for more in groups:
            fewer = less.row.num_steps <= more.row.num_steps and less.row.num_draft_tokens <= more.row.num_draft_tokens
            excess = math.log(less.row.step_ms / more.row.step_ms)
            if less is not more and fewer and excess > reference.noise.sd:
                return _inverted(less, more, reference.noise.sd)
    rows = [group.row for group in groups]
    worst = max(
        abs(math.log(row.step_ms / max(predicted, 1e-9))) / row.log_sd
        for row, predicted in zip(rows, found.predicted_ms, strict=True)
    )
    if worst > _WORST_RESIDUAL:
        return (
            f"The split leaves residuals of {worst:.1f} standard errors: step time here is not a sum of the "
            "three parts.",
            "Repeat each configuration on a freshly started server, the baseline in between.",
        )
    return None


def _inverted(less: _Group, more: _Group, noise: float) -> tuple[str, str]:
    first, second = less.row, more.row
    if first.num_steps < second.num_steps:
        what = f"{first.num_steps} draft steps cost more than {second.num_steps}"
    else:
        what = f"{first.num_draft_tokens} draft tokens cost more than {second.num_draft_tokens}"
    return (
        f"{what} ({first.step_ms:.1f} against {second.step_ms:.1f} ms a step), which no split into drafting and "
        "checking "
        f"can explain; servers of one configuration differ by {percent(noise)} here.",
        "Repeat each configuration on a freshly started server with nothing else on the GPU, the baseline in between.",
    )


def _deficient(found: Decomposition) -> tuple[str, str]:
    if found.combined_ms is not None:
        return (
            "All runs draft in chains, where every draft step adds one token to check: only the sum of both "
            "costs is known.",
            "One run with top-k above 1, or with the same steps and another number of draft tokens.",
        )
    if found.per_draft_step_ms is None:
        return (
            "All runs draft equally many steps: fixed overhead and drafting cannot be told apart.",
            "One run with another number of draft steps and the same number of draft tokens.",
        )
    return (
        "All runs check equally many tokens: fixed overhead and checking cannot be told apart.",
        "One run with another number of draft tokens and the same steps.",
    )


def _saturated(groups: Sequence[_Group]) -> str | None:
    if len(groups) > 3:
        return None
    return "Three configurations, three unknowns: no residual is left to check the split with."


def _draw(rows: Sequence[StepRow], base: float, reference: Reference, seed: int) -> list[Decomposition]:
    shifts = np.random.default_rng(seed).standard_normal((_DRAWS, len(rows) + 1))
    base_sd = max(reference.noise.sd, reference.drift.sd)
    design = design_of(rows)
    columns = independent_columns(design)
    found = []
    for shift in shifts:
        moved = [
            replace(row, step_ms=row.step_ms * math.exp(row.log_sd * part))
            for row, part in zip(rows, shift[:-1], strict=True)
        ]
        moved_base = base * math.exp(base_sd * shift[-1])
        found.append(
            name_parts(design, columns, solve(design[:, columns], moved, moved_base), moved_base, len(columns))
        )
    return found


def _estimate(value: float | None, draws: Sequence[float | None]) -> Estimate:
    if value is None:
        return Estimate(reason="cannot be told apart")
    known = np.array([part for part in draws if part is not None])
    low, high = (float(part) for part in np.quantile(known, (LOW_QUANTILE, HIGH_QUANTILE)))
    return Estimate(value=value, low=min(low, value), high=max(high, value))


def _alternatives(
    observations: Sequence[Observation], best: Observation, reference: Reference, priors: Priors, seed: int
) -> tuple[tuple[int, float, float, float], ...]:
    base = reference.baseline.step_ms
    result = []
    for steps in priors.alternative_num_steps:
        groups, _ = _groups(observations, best, reference, priors, steps)
        rows = [group.row for group in groups]
        if base is None:
            continue
        found = decompose(rows, base.value)
        if found.fixed_ms is None:
            continue
        estimate = _estimate(found.fixed_ms, [part.fixed_ms for part in _draw(rows, base.value, reference, seed)])
        if estimate.value is not None and estimate.low is not None and estimate.high is not None:
            result.append((steps, estimate.value, estimate.low, estimate.high))
    return tuple(result)
