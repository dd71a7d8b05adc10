"""Decision options: one file each, found by discovery, priced alike and ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import DecisionSet, NextExperiment, OptionAssessment
from tracker.options._experiments import considered_experiments, next_experiment
from tracker.options._ranking import flips, horizons, perfect_information, ranked, shown, with_regret
from tracker.options._sensitivity import prior_sensitivity
from tracker.options.base import Awaiting
from tracker.plugins import discover

__all__ = ["decide"]


def decide(evidence: Evidence) -> DecisionSet:
    """Return all options of a campaign, ranked by mean net value, with what would change the ranking."""
    hours = evidence.campaign.costs.horizon_gpu_hours
    options = with_regret(_assess(evidence), hours)
    considered = considered_experiments(evidence, options)
    upcoming = next_experiment(considered)
    return DecisionSet(
        options=tuple(shown(option) for option in _settled(options, upcoming)),
        next_experiment=upcoming,
        horizons=horizons(evidence, options),
        sensitivity=prior_sensitivity(
            evidence, next((option for option in options if option.rank == 1), None), _assess
        ),
        evpi_gpu_hours=perfect_information(options, hours),
        flips=flips(evidence, options),
        experiments=considered,
    )


def _assess(evidence: Evidence) -> list[Valued]:
    found: list[Valued] = []
    for option in discover("tracker.options", "OPTION").values():
        found += [_as_valued(assessment) for assessment in option.assess(evidence)]
    return ranked(found)


def _settled(options: Sequence[Valued], upcoming: NextExperiment | None) -> list[Valued]:
    awaiting = [plugin for plugin in discover("tracker.options", "OPTION").values() if isinstance(plugin, Awaiting)]
    found = list(options)
    leading = next((option for option in found if option.rank == 1), None)
    for plugin in awaiting:
        found = [plugin.settle(option, upcoming, leading) if option.key == plugin.key else option for option in found]
    return found


def _as_valued(assessment: OptionAssessment) -> Valued:
    """Return an assessment that may carry draws; a plug-in that yields none is shown, not valued."""
    if isinstance(assessment, Valued):
        return assessment
    return Valued(**{field.name: getattr(assessment, field.name) for field in fields(OptionAssessment)})
