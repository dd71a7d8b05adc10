"""The scaling fit as plain JSON objects, key by key as the contract names them."""

from __future__ import annotations

from typing import Any

from tracker.analysis.results import HoldOut, SamplesNeeded, ScalingFit, ScalingPoint, TargetSamples
from tracker.report._json_parts import break_even, estimate


def scaling_point(point: ScalingPoint) -> dict[str, Any]:
    """Return one training size."""
    paid = point.cost
    names = ("generation_gpu_hours", "extraction_gpu_hours", "training_gpu_hours")
    return {
        "samples": point.samples,
        "accept_length": estimate(point.accept_length),
        "run_id": point.run_id,
        "optimizer_steps": point.optimizer_steps,
        "epochs": point.epochs,
        "repeated_fraction": point.repeated_fraction,
        "cost": None if paid is None else {name: getattr(paid, name) for name in names},
    }


def samples_needed(needed: SamplesNeeded | None) -> dict[str, Any] | None:
    """Return training samples with their open ends; null where they were not computed."""
    names = ("low", "median", "high", "p_never", "max_samples")
    return None if needed is None else {name: getattr(needed, name) for name in names}


def target(item: TargetSamples) -> dict[str, Any]:
    """Return what one speed-up takes in accept length and training samples."""
    return {
        "speedup": item.speedup,
        "accept_length": item.accept_length,
        "reachable": item.reachable,
        "samples": samples_needed(item.needed),
        "note": item.note,
    }


def hold_out(held: HoldOut | None) -> dict[str, Any] | None:
    """Return the largest size as predicted from the others; null below two sizes."""
    names = ("samples", "measured", "low", "median", "high", "pit")
    return None if held is None else {name: getattr(held, name) for name in names}


def scaling(fit: ScalingFit) -> dict[str, Any]:
    """Return the scaling fit, or its refusal."""
    needed = fit.samples_to_break_even
    return {
        "status": fit.status,
        "reason": fit.reason,
        "cure": fit.cure,
        "configuration": None if fit.configuration is None else fit.configuration.label,
        "concurrency": fit.concurrency,
        "sizes": [scaling_point(point) for point in fit.points],
        "forecast": [
            {
                "samples": point.samples,
                "low": point.low,
                "quartile_low": point.quartile_low,
                "median": point.median,
                "quartile_high": point.quartile_high,
                "high": point.high,
                "p_break_even": point.p_break_even,
                "speculative": point.speculative,
            }
            for point in fit.forecast
        ],
        "samples_to_break_even": samples_needed(needed),
        "break_even": break_even(fit.break_even),
        "ceiling": fit.ceiling,
        "data_share": fit.data_share,
        "effective_sample_size": fit.effective_sample_size,
        "worst_residual_se": fit.worst_residual_se,
        "targets": [target(item) for item in fit.targets],
        "hold_out": hold_out(fit.hold_out),
        "unserved": list(fit.unserved),
        "beside": [scaling_point(point) for point in fit.beside],
        "budget_note": fit.budget_note,
    }
