"""Acceptance that ends at one position."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint._subject import MIN_VERIFY_STEPS, accept_length_is_forced, pooled
from tracker.lint.base import Subject

_HEALTHY = 0.2
_MIN_POSITIONS = 3


class PositionCliff:
    """From one draft position on nothing is accepted, while the position before is healthy.

    Acceptance decays smoothly with depth. A cliff to exactly zero points at positions the drafter handles wrongly: a
    sliding window run as full attention, position ids that stop, a context beyond its training. It is no reason to
    train on more data.

    Source: AEON-7/Qwen3.6-27B DFlash issue 6, with vllm-project/vllm pull request 40898.
    """

    codes = ("POSITION_CLIFF",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the first cliff."""
        if accept_length_is_forced(subject):
            return
        for cell in pooled(subject):
            rates = cell.position_rates
            if rates is None or len(rates) < _MIN_POSITIONS or sum(cell.accepted_histogram or ()) < MIN_VERIFY_STEPS:
                continue
            cliff = next((at for at in range(1, len(rates)) if rates[at] == 0 and rates[at - 1] >= _HEALTHY), None)
            if cliff is not None:
                yield Finding(
                    code=self.codes[0],
                    severity="warning",
                    message=f"Draft {cliff} is accepted in {rates[cliff - 1]:.0%} of steps, draft {cliff + 1} never.",
                    fix="Check the drafter's sliding window, its position handling and the context it was trained on.",
                    confidence="medium",
                )
                return


RULE = PositionCliff()
