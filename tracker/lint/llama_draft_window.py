"""llama.cpp draft windows that cost more than they can give."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint._subject import argument, is_speculative, runs_on
from tracker.lint.base import Subject

_WIDE = 32
_NEEDS_P_MIN = 16


class LlamaDraftWindow:
    """The drafter of llama.cpp runs many passes per step, most of them for nothing.

    Every drafted token is a pass of the draft model. A window of 64 with no probability floor (p-min 0, the default)
    drafts on when the drafter no longer believes itself: accept length 5.5, and yet slower than plain decoding. Its
    "acceptance 0.07" is no sign of a bad drafter: a rate means nothing without its window.

    Sources: ggml-org/llama.cpp issue 25908 and pull request 22673 (best window 2, worse at 4).
    """

    codes = ("DRAFT_N_MAX_TOO_LARGE", "P_MIN_DEFAULT_ZERO")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield a window that is too wide, and a missing floor beside it."""
        window = argument(subject, "draft_n_max")
        if not runs_on(subject, "llama.cpp") or not is_speculative(subject) or not isinstance(window, int):
            return
        if window >= _WIDE:
            yield Finding(
                code="DRAFT_N_MAX_TOO_LARGE",
                severity="warning",
                message=f"Up to {window} tokens are drafted a step, each a pass of the draft model.",
                fix="Use --spec-draft-n-max 4 to 8 and measure from there.",
                confidence="high",
            )
        floor = argument(subject, "draft_p_min")
        if window > _NEEDS_P_MIN and floor in (None, 0, 0.0):
            yield Finding(
                code="P_MIN_DEFAULT_ZERO",
                severity="warning",
                message="p-min is 0: the drafter goes on however unsure it is.",
                fix="Use --spec-draft-p-min 0.5 or more with a wide window.",
                confidence="medium",
            )


RULE = LlamaDraftWindow()
