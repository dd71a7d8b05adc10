"""Give the drafter a larger vocabulary."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import OptionAssessment
from tracker.analysis.words import percent
from tracker.options._pricing import price, training_gpu_hours, training_split


class EnlargeVocabulary:
    """Retrain with a draft vocabulary that covers the served text."""

    key = "enlarge_vocabulary"

    def assess(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Yield the retraining where the vocabulary explains more rejections than the prior's bar for a lever."""
        ceiling = evidence.analysis.acceptance.vocabulary
        best = evidence.best
        if ceiling is None or not ceiling.is_lever or best is None or best.accept_length.value is None:
            return
        gain, explained = ceiling.max_gain_tokens, ceiling.rejections_explained_fraction
        if gain is None or explained is None:
            return
        samples = best.samples
        # The gain is an upper bound: a token that can be drafted need not be drafted right.
        share = np.random.default_rng(evidence.seed + 31).uniform(0.0, 1.0, evidence.priors.draws)
        factor = 1 + share * gain / best.accept_length.value
        yield price(
            evidence,
            Valued(
                key=self.key,
                title="Enlarge the draft vocabulary",
                configuration=best.configuration.label,
                cost_gpu_hours=None if samples is None else training_gpu_hours(evidence, samples),
                cost_split=() if samples is None else training_split(evidence, samples),
                evidence=(
                    f"Coverage {percent(ceiling.coverage_fraction)} explains up to {percent(explained)} of first "
                    f"rejections; full coverage adds at most {gain:.2f} tokens a step, all values up to it "
                    "equally likely."
                ),
                would_change="Coverage measured on the served text, per category.",
                unvalued_reason=None if samples is not None else "the drafter's training size is not recorded",
            ),
            speedup=None if evidence.speedup is None else evidence.speedup * factor,
            missing="no measured speed to improve on",
        )


OPTION = EnlargeVocabulary()
