"""The formulas of a memo with this campaign's numbers filled in, to be redone with a calculator."""

from __future__ import annotations

from tracker.analysis.results import CampaignAnalysis, DecisionSet
from tracker.report._explain_steps import acceptance, break_evens, speeds, split, step_times
from tracker.report._explain_value import forecast, values


def explain(analysis: CampaignAnalysis, decision: DecisionSet) -> str:
    """Return the explanation as plain text, ending in a line break.

    Every line of the form `name = expression = value` holds to the digits shown: `^` is a power, `ln` the natural
    logarithm. Numbers are printed with six digits or more; all intervals are 80 %.
    """
    title = f"Formulas with the numbers of {analysis.campaign.title or analysis.campaign.name}"
    lines = [
        title,
        "=" * len(title),
        "Each line `name = expression = value` can be redone with a calculator: ^ is a power, ln a natural logarithm.",
        "Numbers carry six digits or more so that results agree; all intervals are 80 %.",
        *step_times(analysis),
        *break_evens(analysis),
        *speeds(analysis),
        *acceptance(analysis),
        *split(analysis.step_time),
        *forecast(analysis),
        *values(analysis, decision),
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"
