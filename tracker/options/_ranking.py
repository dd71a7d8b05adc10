"""Ranking, horizons and sensitivity of priced options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import HorizonChoice, HorizonFlip, OptionAssessment
from tracker.analysis.uncertainty import FloatArray
from tracker.analysis.value import evpi, expected_regret, net_gpu_hours
from tracker.analysis.words import count

_HOUR = 1 / 24
_SHOWN = tuple(field.name for field in fields(OptionAssessment))


def ranked(options: Sequence[Valued]) -> list[Valued]:
    """Return options by mean net value with their ranks, unvalued last in the order given."""
    valued = [option for option in options if option.net_gpu_hours.value is not None]
    valued.sort(key=lambda option: (-_mean(option), option.key))
    rest = [option for option in options if option.net_gpu_hours.value is None]
    return [replace(option, rank=index) for index, option in enumerate(valued, start=1)] + rest


def with_regret(options: Sequence[Valued], horizon_gpu_hours: float | None) -> list[Valued]:
    """Return options with the mean GPU-hours lost by choosing each instead of what turns out best in every draw."""
    priced = [option for option in options if option.saved_fraction is not None and option.cost_gpu_hours is not None]
    values = None if horizon_gpu_hours is None else utilities(priced, horizon_gpu_hours)
    if values is None:
        return list(options)
    lost = {option.key: float(part) for option, part in zip(priced, expected_regret(values), strict=True)}
    return [replace(option, regret_gpu_hours=lost.get(option.key)) for option in options]


def flips(evidence: Evidence, options: Sequence[Valued]) -> tuple[HorizonFlip, ...]:
    """Return the lengths of use at which the best option changes, up to the longest one considered.

    Mean net value is a line in the length of use: saved share times GPU-hours, less the cost. The best option is the
    upper envelope of these lines, and its corners are exact.
    """
    gpus = evidence.campaign.costs.gpus
    lines = [
        (24 * gpus * float(np.mean(option.saved_fraction)), option.cost_gpu_hours, option)
        for option in options
        if gpus is not None and option.saved_fraction is not None and option.cost_gpu_hours is not None
    ]
    if not lines:
        return ()
    own = evidence.campaign.costs.horizon_days
    longest = max(*evidence.priors.horizons_days, 0.0 if own is None else own)
    found: list[HorizonFlip] = []
    now, best = 0.0, min(lines, key=lambda line: (line[1], -line[0], line[2].key))
    while True:
        ahead = [
            ((line[1] - best[1]) / (line[0] - best[0]), -line[0], line[2].key, line)
            for line in lines
            if line[0] > best[0]
        ]
        if not ahead:
            break
        day, _, _, following = min(ahead)
        if day > longest:
            break
        if day > now:
            found.append(_flip(day, best[2], following[2]))
        now, best = max(now, day), following
    return tuple(found)


def _flip(day: float, before: Valued, after: Valued) -> HorizonFlip:
    message = f"Below {_length(day)} of use {quoted(before.title)} is worth most, above it {quoted(after.title)}."
    if day < _HOUR:
        message = f"From the first hour of use {quoted(after.title)} is worth more than {quoted(before.title)}."
    return HorizonFlip(days=day, from_key=before.key, to_key=after.key, message=message)


def _length(days: float) -> str:
    if days < 1:
        return count(round(24 * days), "hour")
    return f"{days:.1f} days" if days < 10 else f"{days:.0f} days"


def quoted(title: str) -> str:
    """Return a title as part of a sentence."""
    return f'"{title}"'


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
