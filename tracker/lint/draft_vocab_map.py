"""Draft-vocabulary maps that contradict themselves or the target."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint.base import Subject


class DraftVocabMap:
    """`d2t` and `t2d` do not belong together, or not to this vocabulary.

    `d2t` holds offsets: target id = draft id + d2t[draft id]; the ids that `t2d` marks must be exactly those. A map
    left over from another training run, or regenerated while fine-tuning, sends every draft to the wrong token:
    acceptance is low to nothing and nothing else shows it.

    Sources: SpecForge pull requests 534 and 872 (the same check); NeMo Automodel pull request 2447.
    """

    codes = ("DRAFT_VOCAB_MAP_INCONSISTENT", "DRAFT_VOCAB_ABOVE_TARGET")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the contradiction in words."""
        drafter = subject.drafter
        if drafter is None:
            return
        if drafter.draft_map_problem is not None:
            yield Finding(
                code="DRAFT_VOCAB_MAP_INCONSISTENT",
                severity="error",
                message=f"The vocabulary maps of {drafter.name} contradict each other: {drafter.draft_map_problem}.",
                fix="Take d2t and t2d from the training run that made the weights, and export again.",
                confidence="high",
                voids=("acceptance",),
            )
        target = subject.target.vocab_size if subject.target is not None else None
        limit = target if target is not None else drafter.vocab_size
        if drafter.draft_vocab_size is not None and limit is not None and drafter.draft_vocab_size > limit:
            yield Finding(
                code="DRAFT_VOCAB_ABOVE_TARGET",
                severity="error",
                message=f"{drafter.name} drafts {drafter.draft_vocab_size} tokens, the target knows {limit}.",
                fix="Use a drafter that was trained for this target.",
                confidence="certain",
                voids=("acceptance",),
            )


RULE = DraftVocabMap()
