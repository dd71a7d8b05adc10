"""Acceptance so low that it is a mistake, not a weak drafter."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Confidence, Finding
from tracker.domain.measurement import Measurement
from tracker.lint._subject import MIN_VERIFY_STEPS, accept_length_is_forced, pooled
from tracker.lint.base import Subject

NEAR_ONE = 1.05
LOW = 1.2
_FIX = (
    "Check in this order: the algorithm flag against the drafter's kind; that the drafter was trained for this very "
    "target; that its lm_head and d2t are in the file; the chat template of training and serving. "
    "`tracker check --drafter DIR` looks at all that files can show."
)


class AcceptLengthNearOne:
    """The accept length is close to 1.00: next to no draft token is accepted.

    An accept length counts the bonus token, so 1.00 means that nothing was accepted. Even a drafter trained on a
    hundred samples reaches about 1.4. Below 1.05 after at least 40 verify steps something is wired wrongly (algorithm
    flag, other target, random head, missing vocabulary map); between 1.05 and 1.2 it may be a weak drafter, and is
    worth a look before more training data is paid for.

    Sources: sgl-project/sglang issue 27829 and pull request 21272; SpecForge issue 310; vllm-ascend issue 5974 (1.07
    before, 3.09 after the fix). SGLang folds its own counter in every 40 decode steps: shorter runs say nothing.
    """

    codes = ("ACCEPT_LENGTH_NEAR_ONE", "ACCEPT_LENGTH_LOW")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding for the worst cell; runs with simulated acceptance are left alone."""
        plain = subject.speculation is not None and not subject.speculation.enabled
        if plain or accept_length_is_forced(subject):
            return
        worst = _worst(pooled(subject))
        if worst is None:
            return
        cell, length = worst
        confidence: Confidence = "medium" if cell.verify_steps is None else "high"
        if length < NEAR_ONE:
            yield Finding(
                code="ACCEPT_LENGTH_NEAR_ONE",
                severity="error",
                message=f"Accept length {length:.3g}{_where(cell)}: next to nothing that is drafted is accepted. "
                "That is a wrong configuration or the wrong drafter, not a weak one.",
                fix=_FIX,
                confidence=confidence,
                voids=("acceptance",),
            )
        elif length < LOW:
            yield Finding(
                code="ACCEPT_LENGTH_LOW",
                severity="warning",
                message=f"Accept length {length:.3g}{_where(cell)} is very low, even for a drafter of little data.",
                fix=_FIX,
                confidence=confidence,
            )


def _worst(cells: tuple[Measurement, ...]) -> tuple[Measurement, float] | None:
    """Return the cell with the lowest accept length among those that rest on enough steps, or on a printed figure."""
    known = [
        (cell, cell.accept_length)
        for cell in cells
        if cell.accept_length is not None and (cell.verify_steps is None or cell.verify_steps >= MIN_VERIFY_STEPS)
    ]
    return min(known, key=lambda pair: pair[1], default=None)


def _where(cell: Measurement) -> str:
    load = f" at {cell.concurrency} streams" if cell.concurrency is not None and cell.concurrency != 1 else ""
    load = " at one stream" if cell.concurrency == 1 else load
    steps = f" after {cell.verify_steps} verify steps" if cell.verify_steps is not None else " (as printed)"
    return load + steps


RULE = AcceptLengthNearOne()
