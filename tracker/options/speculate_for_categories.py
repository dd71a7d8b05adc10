"""Speculate only for the categories of traffic where it pays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracker.analysis.acceptance import harmonic_length
from tracker.analysis.decision import Evidence, Valued, log_normal_draws
from tracker.analysis.results import OptionAssessment
from tracker.analysis.uncertainty import FloatArray, summarise
from tracker.analysis.words import listed, percent
from tracker.options._pricing import with_cost, with_value

# A category is named where its chance of being faster is at least this, and left to the plain server below the other.
_FASTER, _NOT_FASTER = 0.9, 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Category:
    """One category of prompts against break-even."""

    name: str
    """Its name."""
    length: FloatArray
    """Accept length, draws."""
    chance: float
    """Chance of being faster than the baseline."""
    share: float | None
    """Share of the benchmark's tokens."""


class SpeculateForCategories:
    """Route named categories to the drafter and the rest to the baseline."""

    key = "speculate_for_categories"

    def assess(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Yield the split where some categories are plainly faster and others are not.

        Break-even hardly depends on the prompts, so one bar holds for all of them; accept length does depend.
        """
        bar, best = evidence.break_even, evidence.best
        if bar is None or best is None or evidence.analysis.acceptance.run_id != best.run_id:
            return
        found = _categories(evidence, bar)
        faster = [item for item in found if item.chance >= _FASTER]
        others = [item for item in found if item.chance < _NOT_FASTER]
        if not faster or not others:
            return
        speedup = _together(faster) / bar
        base = evidence.baseline_tok_s
        option = with_cost(
            evidence,
            Valued(
                key=self.key,
                title=f"Speculate only for {listed([item.name for item in faster])}",
                configuration=best.configuration.label,
                concurrency=evidence.load,
                p_beats_baseline=float((speedup > 1).mean()),
                cost_gpu_hours=0.0,
                evidence=_words(faster, others, float(np.median(bar))),
                would_change="More prompts of each category, and the share of each in the real traffic.",
                unvalued_reason="its value needs each category's share of the traffic: [traffic] by_category of "
                "campaign.toml",
            ),
        )
        option = option if base is None else replace(option, expected_tok_s=summarise(base * speedup))
        yield _valued(evidence, option, faster, bar)


def _valued(evidence: Evidence, option: Valued, faster: Sequence[_Category], bar: FloatArray) -> Valued:
    """Return the split valued by the traffic's shares: the named categories on the drafter, the rest plain."""
    shares = evidence.campaign.traffic.by_category
    if not shares:
        return option
    routed = [item for item in faster if shares.get(item.name)]
    if not routed:
        reason = "[traffic] by_category gives the categories where speculation pays no share"
        return replace(option, unvalued_reason=reason)
    # Plain tokens take equal time whatever they say, so a share of the tokens is one of the baseline's time.
    saved = evidence.load_share * np.sum([shares[item.name] * (1 - bar / item.length) for item in routed], axis=0)
    whole = sum(shares[item.name] for item in routed)
    words = f"{option.evidence} By campaign.toml they are {percent(whole)} of the traffic's tokens."
    return with_value(evidence, replace(option, evidence=words), saved, expected=float(np.mean(saved)))


def _categories(evidence: Evidence, bar: FloatArray) -> list[_Category]:
    rng = np.random.default_rng(evidence.seed + 53)
    found = []
    for item in evidence.analysis.acceptance.per_category:
        length = log_normal_draws(item.accept_length, len(bar), rng)
        # One prompt has no spread: it cannot speak for a category.
        if length is not None and item.accept_length.low is not None:
            chance = float((length > bar).mean())
            found.append(_Category(name=item.category, length=length, chance=chance, share=item.token_share))
    return found


def _together(items: Sequence[_Category]) -> FloatArray:
    """Return accept length over several categories, weighted so that time adds up; equal shares where not counted."""
    shares = [item.share for item in items]
    known = [share for share in shares if share is not None]
    weights = [share / sum(known) for share in known] if len(known) == len(items) else [1 / len(items)] * len(items)
    rows = np.stack([item.length for item in items])
    return np.array([harmonic_length(list(column), weights) for column in rows.T])


def _words(faster: Sequence[_Category], others: Sequence[_Category], bar: float) -> str:
    first = listed([f"{item.name} {float(np.median(item.length)):.2f}" for item in faster])
    second = listed([f"{item.name} {float(np.median(item.length)):.2f}" for item in others])
    known = [item.share for item in faster if item.share is not None]
    share = f" They are {percent(sum(known))} of this benchmark's tokens." if len(known) == len(faster) else ""
    return f"Accept length against break-even {bar:.2f}: above it {first}, below it {second}.{share}"


OPTION = SpeculateForCategories()
