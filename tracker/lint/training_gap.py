"""A drafter that was good in training and is useless when served."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint._subject import lowest_accept_length
from tracker.lint.base import Subject

_GOOD_ACCURACY = 0.6
_POOR_LENGTH = 1.3


class TrainingGap:
    """Validation accuracy is high and the served accept length is close to one.

    A first position that is right in 60 % of the cases gives at least 1.6 when served. Where it does not, training and
    serving disagree on something other than data: the chat template or thinking mode, the hidden states that were
    recorded, the layer ids, the target itself (fine-tuned, quantized), the export. More data does not help.

    Sources: SpecForge issues 455 (accuracy 70 %, accept length 1.02; 3.6 after the fix) and 533; BaldEagle issue 17.
    """

    codes = ("TRAINING_SERVING_GAP",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the gap, with both figures."""
        accuracy = subject.training.validation_position_accuracy if subject.training is not None else None
        served = lowest_accept_length(subject)
        if not accuracy or served is None or accuracy[0] < _GOOD_ACCURACY or served >= _POOR_LENGTH:
            return
        yield Finding(
            code=self.codes[0],
            severity="error",
            message=f"The drafter is right at its first position in {accuracy[0]:.0%} of the validation tokens, "
            f"and its served accept length is {served:.3g}: training and serving do not match.",
            fix="Compare chat template, thinking mode, layer ids, target and export before any further training.",
            confidence="high",
            voids=("acceptance",),
        )


RULE = TrainingGap()
