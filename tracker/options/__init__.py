"""Decision options: one file each, found by discovery, priced alike and ranked."""

from __future__ import annotations

from dataclasses import fields

from tracker.analysis.decision import Evidence, Valued, gather
from tracker.analysis.results import DecisionSet, OptionAssessment, PriorSensitivity
from tracker.options._experiments import considered_experiments, next_experiment
from tracker.options._ranking import flips, horizons, perfect_information, ranked, shown, with_regret
from tracker.plugins import discover

__all__ = ["decide"]

_SLOPES = ((0.5, "slope prior halved"), (2.0, "slope prior doubled"))


def decide(evidence: Evidence) -> DecisionSet:
    """Return all options of a campaign, ranked by mean net value, with what would change the ranking."""
    hours = evidence.campaign.costs.horizon_gpu_hours
    options = with_regret(_assess(evidence), hours)
    considered = considered_experiments(evidence, options)
    return DecisionSet(
        options=tuple(shown(option) for option in options),
        next_experiment=next_experiment(considered),
        horizons=horizons(evidence, options),
        sensitivity=_sensitivity(evidence, options),
        evpi_gpu_hours=perfect_information(options, hours),
        flips=flips(evidence, options),
        experiments=considered,
    )


def _assess(evidence: Evidence) -> list[Valued]:
    found: list[Valued] = []
    for option in discover("tracker.options", "OPTION").values():
        found += [_as_valued(assessment) for assessment in option.assess(evidence)]
    return ranked(found)


def _as_valued(assessment: OptionAssessment) -> Valued:
    """Return an assessment that may carry draws; a plug-in that yields none is shown, not valued."""
    if isinstance(assessment, Valued):
        return assessment
    return Valued(**{field.name: getattr(assessment, field.name) for field in fields(OptionAssessment)})


def _sensitivity(evidence: Evidence, options: list[Valued]) -> tuple[PriorSensitivity, ...]:
    """Return the best option under a slope prior half and twice as steep; empty where nothing rests on it."""
    best = next((option for option in options if option.rank == 1), None)
    if best is None or not evidence.sizes:
        return ()
    found = []
    for factor, label in _SLOPES:
        other = gather(evidence.analysis, priors=evidence.priors.scale_slope(factor), seed=evidence.seed)
        first = next((option for option in _assess(other) if option.rank == 1), None)
        if first is not None:
            found.append(
                PriorSensitivity(label=label, option_key=first.key, title=first.title, changes=first.key != best.key)
            )
    return tuple(found)
