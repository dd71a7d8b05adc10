"""Results as plain JSON objects, key by key as the contract names them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracker.analysis.results import (
    AcceptanceProfile,
    BreakEven,
    ChainBar,
    ConfigurationCost,
    CostPart,
    HorizonChoice,
    HorizonFlip,
    LoadNoise,
    NextExperiment,
    Note,
    OptionAssessment,
    PriorSensitivity,
    RootCause,
    SharedFinding,
    SpreadPart,
    StepChange,
    StepTimeFit,
)
from tracker.domain.estimate import Estimate
from tracker.report.past import Calibration, Decided, Outcome


def estimate(value: Estimate) -> dict[str, Any]:
    """Return value, low and high, and why one of them is missing."""
    return {"value": value.value, "low": value.low, "high": value.high, "reason": value.reason}


def break_even(bar: BreakEven | None) -> dict[str, Any]:
    """Return a break-even; every part null where there is none."""
    names = ("value", "low", "high", "rounding_low", "rounding_high")
    found: dict[str, Any] = {name: None if bar is None else getattr(bar, name) for name in names}
    return {**found, "parts": [] if bar is None else spread(bar.parts)}


def spread(parts: Sequence[SpreadPart]) -> list[dict[str, Any]]:
    """Return what an interval is made of; degrees of freedom null where they are infinite."""
    return [{"name": part.name, "sd": part.sd, "df": part.df} for part in parts]


def noise(item: LoadNoise) -> dict[str, Any]:
    """Return the noise between servers at one load."""
    return {"concurrency": item.concurrency, "sd": item.sd, "df": item.df, "source": item.source}


def note(item: Note) -> dict[str, Any]:
    """Return one note."""
    return {"topic": item.topic, "message": item.message, "run_ids": list(item.run_ids)}


def finding(shared: SharedFinding) -> dict[str, Any]:
    """Return one finding with its runs."""
    item = shared.finding
    return {
        "code": item.code,
        "severity": item.severity,
        "confidence": item.confidence,
        "run_ids": list(shared.run_ids),
        "message": item.message,
        "fix": item.fix,
    }


def root_cause(cause: RootCause | None) -> dict[str, Any] | None:
    """Return the root cause; null where there is none."""
    if cause is None:
        return None
    return {
        "code": cause.finding.code,
        "run_ids": list(cause.run_ids),
        "fixed": cause.fixed,
        "fixed_run_id": cause.fixed_run_id,
        "flag_before": cause.finding.flag_before,
        "flag_after": cause.finding.flag_after,
        "accept_length_before": estimate(cause.accept_length_before),
        "accept_length_after": estimate(cause.accept_length_after),
    }


def cost(item: ConfigurationCost) -> dict[str, Any]:
    """Return the pooled break-even of one configuration at one concurrency."""
    return {
        "configuration": item.configuration.label,
        "concurrency": item.concurrency,
        "break_even": break_even(item.break_even),
        "step_time_ms": estimate(item.step_time_ms),
        "baseline_step_time_ms": estimate(item.baseline_step_time_ms),
        "run_ids": list(item.run_ids),
        "between_run_fraction": item.between_run_fraction,
        "best_accept_length": estimate(item.best_accept_length),
        "reachable": item.reachable,
        "reachable_note": item.reachable_note,
        "required": dict(item.required),
        "required_reachable": dict(item.required_reachable),
        "prefill": None
        if item.prefill is None
        else {
            "break_even": item.prefill.break_even,
            "baseline_prefill_fraction": item.prefill.baseline_prefill_fraction,
            "required": dict(item.prefill.required),
        },
        "attribution_run_id": item.attribution_run_id,
        "attribution_ratio": item.attribution_ratio,
    }


def chain_bar(item: ChainBar) -> dict[str, Any]:
    """Return what a drafter must yield with a chain of one length at one load, measured or predicted."""
    return {
        "num_steps": item.num_steps,
        "concurrency": item.concurrency,
        "flags_like": item.like.label,
        "measured": item.measured,
        "break_even": break_even(item.break_even),
        "reachable": item.reachable,
        "acceptance": item.acceptance,
        "required": dict(item.required),
        "baseline_tok_s": item.baseline_tok_s,
        "basis": item.basis,
        "run_ids": list(item.run_ids),
    }


def step_time(fit: StepTimeFit) -> dict[str, Any]:
    """Return the decomposition of the step time."""
    return {
        "status": fit.status,
        "rank": fit.rank,
        "concurrency": fit.concurrency,
        "fixed_ms": estimate(fit.fixed_ms),
        "per_verified_token_ms": estimate(fit.per_verified_token_ms),
        "per_draft_step_ms": estimate(fit.per_draft_step_ms),
        "combined_ms": estimate(fit.combined_ms),
        "baseline_ms": fit.baseline_ms,
        "example": None if fit.example is None else fit.example.label,
        "example_step_ms": fit.example_step_ms,
        "assumed_num_steps": fit.assumed_num_steps,
        "alternatives": [
            {"assumed_num_steps": steps, "fixed_ms": {"value": fixed, "low": low, "high": high}}
            for steps, fixed, low, high in fit.alternatives
        ],
        "reason": fit.reason,
        "cure": fit.cure,
        "run_ids": list(fit.run_ids),
    }


def acceptance(profile: AcceptanceProfile) -> dict[str, Any]:
    """Return acceptance by position, category and vocabulary."""
    ceiling = profile.vocabulary
    return {
        "run_id": profile.run_id,
        "configuration": None if profile.configuration is None else profile.configuration.label,
        "per_position": [
            {
                "position": item.position,
                "unconditional": estimate(item.unconditional),
                "conditional": estimate(item.conditional),
            }
            for item in profile.per_position
        ],
        "per_category": [
            {
                "category": item.category,
                "accept_length": estimate(item.accept_length),
                "requests": item.requests,
                "token_share": item.token_share,
            }
            for item in profile.per_category
        ],
        "mix_accept_length": profile.mix_accept_length,
        "training_note": profile.training_note,
        "vocabulary_ceiling": None if ceiling is None else ceiling.max_accept_length,
        "rejections_explained": None if ceiling is None else ceiling.rejections_explained_fraction,
        "vocabulary": None
        if ceiling is None
        else {
            "coverage_fraction": ceiling.coverage_fraction,
            "max_gain_tokens": ceiling.max_gain_tokens,
            "is_lever": ceiling.is_lever,
        },
        "reason": profile.reason,
    }


def option(item: OptionAssessment) -> dict[str, Any]:
    """Return one option."""
    return {
        "key": item.key,
        "title": item.title,
        "configuration": item.configuration,
        "concurrency": item.concurrency,
        "p_beats_baseline": item.p_beats_baseline,
        "expected_tok_s": estimate(item.expected_tok_s),
        "cost_gpu_hours": item.cost_gpu_hours,
        "cost_days": item.cost_days,
        "cost_money": item.cost_money,
        "net_gpu_hours": estimate(item.net_gpu_hours),
        "pay_back_days": item.pay_back_days,
        "rank": item.rank,
        "evidence": item.evidence,
        "would_change": item.would_change,
        "unvalued_reason": item.unvalued_reason,
        "p_net_positive": item.p_net_positive,
        "regret_gpu_hours": item.regret_gpu_hours,
        "cost_split": [cost_part(part) for part in item.cost_split],
    }


def cost_part(part: CostPart) -> dict[str, Any]:
    """Return one phase of a cost."""
    names = ("phase", "gpu_hours", "days", "money", "source")
    return {name: getattr(part, name) for name in names}


def experiment(item: NextExperiment | None) -> dict[str, Any] | None:
    """Return the next experiment; null where none is worth it."""
    if item is None:
        return None
    return {
        "title": item.title,
        "why": item.why,
        "flags": list(item.flags),
        "cost_gpu_hours": item.cost_gpu_hours,
        "net_value_gpu_hours": item.net_value_gpu_hours,
        "p_success": item.p_success,
        "p_beats_best": item.p_beats_best,
        "p_is_judgement": item.p_is_judgement,
        "do_not_test": list(item.do_not_test),
    }


def horizon(choice: HorizonChoice) -> dict[str, Any]:
    """Return the best option for one length of use."""
    return {
        "days": choice.days,
        "option_key": choice.option_key,
        "title": choice.title,
        "net_gpu_hours": choice.net_gpu_hours,
    }


def flip(item: HorizonFlip) -> dict[str, Any]:
    """Return one length of use at which the first rank changes."""
    names = ("days", "from_key", "to_key", "message")
    return {name: getattr(item, name) for name in names}


def sensitivity(item: PriorSensitivity) -> dict[str, Any]:
    """Return the best option under another prior."""
    return {
        "label": item.label,
        "option_key": item.option_key,
        "title": item.title,
        "changes": item.changes,
        "samples": item.samples,
        "accept_length": estimate(item.stated),
        "accept_length_reweighted": estimate(item.reweighted),
        "accept_length_held": estimate(item.held),
        "likelihood_ratio": item.likelihood_ratio,
        "contradicted": item.contradicted,
    }


def step_change(change: StepChange) -> dict[str, Any]:
    """Return one jump of a series over time."""
    return {
        "series": change.series,
        "quantity": change.quantity,
        "concurrency": change.concurrency,
        "before": change.before,
        "after": change.after,
        "run_ids_before": list(change.run_ids_before),
        "run_ids_after": list(change.run_ids_after),
        "annotation": change.annotation,
        "alarm": change.alarm,
        "message": change.message,
    }


def outcome(item: Outcome) -> dict[str, Any]:
    """Return what an earlier memo expected, and what was measured."""
    expected = item.expected
    return {
        "key": expected.key,
        "title": expected.title,
        "made_at": None if expected.made_at is None else expected.made_at.isoformat(),
        "unit": expected.unit,
        "expected": {"value": expected.value, "low": expected.low, "high": expected.high},
        "p_beats_baseline": expected.p_beats_baseline,
        "run_id": item.run_id,
        "measured": item.measured,
        "inside": item.inside,
        "faster": item.faster,
    }


def decided(item: Decided) -> dict[str, Any]:
    """Return a decision with what came of it."""
    at = None if item.at is None else item.at.isoformat()
    return {"decided_at": at, "by": item.by, "note": item.note, "outcome": outcome(item.outcome)}


def calibration(found: Calibration) -> dict[str, Any]:
    """Return how far earlier forecasts held; rates null while nothing was checked."""
    hits, count = found.hits
    brier = found.brier
    return {
        "intervals_checked": count,
        "intervals_held": hits,
        "hit_rate": hits / count if count else None,
        "brier_score": None if brier is None else brier[0],
        "chances_checked": 0 if brier is None else brier[1],
        "items": [outcome(item) for item in found.checked],
    }
