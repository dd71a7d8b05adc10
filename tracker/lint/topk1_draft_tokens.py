"""A chain whose number of draft tokens does not fit its depth."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint._fix import corrected_command
from tracker.lint._subject import EAGLE_FAMILY, algorithm, runs_on, typed
from tracker.lint.base import Subject

_NAMES = ("speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens")


class Topk1DraftTokens:
    """With topk 1 the drafts form a chain, and the number of draft tokens must be steps + 1.

    num_draft_tokens counts the tokens verified in a step, the slot of the current token included. Newer SGLang
    overwrites any other number with steps + 1 and warns once in its log, older ones verify padding: either way the
    number in the command is not what runs, and comparing runs by it misleads.

    Sources: SpecForge issue 310 (24 typed, 5 run); SGLang 0.5.23 speculative_hook.py.
    """

    codes = ("TOPK1_DRAFT_TOKENS_NE_STEPS_PLUS_1",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the contradiction; a warning once the server is known to have put it right."""
        if algorithm(subject) not in EAGLE_FAMILY or not runs_on(subject, "sglang") or subject.speculation is None:
            return
        run = (subject.speculation.num_steps, subject.speculation.eagle_topk, subject.speculation.num_draft_tokens)
        given = tuple(typed(subject, name) for name in _NAMES)
        steps, topk, tokens = given if all(isinstance(value, int) for value in given) else run
        if topk != 1 or steps is None or tokens is None or tokens == steps + 1:
            return
        put_right = run[2] == steps + 1
        yield Finding(
            code=self.codes[0],
            severity="warning" if put_right else "error",
            message=f"topk 1 with {steps} steps verifies {steps + 1} tokens a step, {tokens} are asked for"
            + (f"; the server runs {steps + 1}." if put_right else "."),
            fix=corrected_command(subject.server, "--speculative-num-draft-tokens", str(steps + 1)),
            confidence="certain",
            flag_before=f"--speculative-num-draft-tokens {tokens}",
            flag_after=f"--speculative-num-draft-tokens {steps + 1}",
        )


RULE = Topk1DraftTokens()
