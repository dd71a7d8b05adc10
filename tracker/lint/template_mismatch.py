"""A drafter trained on other templates or another thinking mode than it is served with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracker.domain.finding import Finding
from tracker.domain.training import Training
from tracker.lint.base import Subject

_THINKING_KEYS = ("enable_thinking", "thinking", "thinking_mode")


class TemplateMismatch:
    """Chat template or thinking mode differ between the drafter's training and the benchmark.

    A drafter learns the text that the target writes after one template in one mode. With another it sees tokens it was
    never trained on, and accepts less without any error; regenerating the answers in the right mode gave about ten
    percent. Compared are digests of the template and the switch for thinking, where both sides are recorded.

    Sources: SpecForge issues 296, 192 and 465, pull request 223; sgl-project/sglang pull request 6985.
    """

    codes = ("TEMPLATE_OR_THINKING_MISMATCH",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield what differs; nothing where one side is not recorded."""
        training, workload = subject.training, subject.workload
        if training is None or workload is None:
            return
        apart = []
        if None not in (training.template_digest, workload.template_digest) and (
            training.template_digest != workload.template_digest
        ):
            apart.append(
                f"chat template {str(training.template_digest)[:8]} in training, "
                f"{str(workload.template_digest)[:8]} when served"
            )
        thought = _thinking(training)
        if None not in (thought, workload.thinking) and thought != workload.thinking:
            apart.append(f"thinking {_word(thought)} in training, {_word(workload.thinking)} when served")
        if apart:
            yield Finding(
                code=self.codes[0],
                severity="warning",
                message=f"Training and serving differ: {'; '.join(apart)}.",
                fix="Measure with the template and mode of the training data, or generate the data again as served.",
                confidence="high",
            )


def _thinking(training: Training) -> bool | None:
    if training.thinking is not None:
        return training.thinking
    found: list[Any] = [training.hyperparameters.get(key) for key in _THINKING_KEYS]
    return next((value for value in found if isinstance(value, bool)), None)


def _word(value: bool | None) -> str:
    return "on" if value else "off"


RULE = TemplateMismatch()
