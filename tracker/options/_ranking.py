"""Ranking, horizons and sensitivity of priced options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import HorizonChoice, OptionAssessment
from tracker.analysis.uncertainty import FloatArray
from tracker.analysis.value import evpi, net_gpu_hours

_SHOWN = tuple(field.name for field in fields(OptionAssessment))


def ranked(options: Sequence[Valued]) -> list[Valued]:
    """Return options by mean net value with their ranks, unvalued last in the order given."""
    valued = [option for option in options if option.net_gpu_hours.value is not None]
    valued.sort(key=lambda option: (-_mean(option), option.key))
    rest = [option for option in options if option.net_gpu_hours.value is None]
    return [replace(option, rank=index) for index, option in enumerate(valued, start=1)] + rest


def shown(option: Valued) -> OptionAssessment:
    """Return an option without its draws."""
    return OptionAssessment(**{name: getattr(option, name) for name in _SHOWN})


def utilities(options: Sequence[Valued], horizon_gpu_hours: float) -> FloatArray | None:
    """Return net values of all priced options, shape (n_options, n_draws); None without any."""
    rows = [
        net_gpu_hours(option.saved_fraction, horizon_gpu_hours=horizon_gpu_hours, cost_gpu_hours=option.cost_gpu_hours)
        for option in options
        if option.saved_fraction is not None and option.cost_gpu_hours is not None
    ]
    return np.stack(rows) if rows else None


def perfect_information(options: Sequence[Valued], horizon_gpu_hours: float | None) -> float | None:
    """Return EVPI over priced options; None when fewer than two are priced."""
    if horizon_gpu_hours is None:
        return None
    values = utilities(options, horizon_gpu_hours)
    return None if values is None or len(values) < 2 else max(0.0, evpi(values))


def horizons(evidence: Evidence, options: Sequence[Valued]) -> tuple[HorizonChoice, ...]:
    """Return the best option for each length of use; empty where the GPUs are not stated."""
    gpus = evidence.campaign.costs.gpus
    priced = [option for option in options if option.saved_fraction is not None and option.cost_gpu_hours is not None]
    if gpus is None or not priced:
        return ()
    own = evidence.campaign.costs.horizon_days
    days = sorted({*evidence.priors.horizons_days, *(() if own is None else (own,))})
    found = []
    for length in days:
        values = utilities(priced, 24 * gpus * length)
        if values is None:
            continue
        means = values.mean(axis=1)
        best = int(means.argmax())
        found.append(
            HorizonChoice(
                days=length,
                option_key=priced[best].key,
                title=priced[best].title,
                net_gpu_hours=float(means[best]),
            )
        )
    return tuple(found)


def _mean(option: Valued) -> float:
    value = option.net_gpu_hours.value
    if value is None:
        raise ValueError(f"{option.key} has no value")
    return value
