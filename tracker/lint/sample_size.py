"""Figures that rest on next to nothing, or on prompts seen before."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint._subject import MIN_VERIFY_STEPS, is_speculative, pooled
from tracker.lint.base import Subject

_MIN_TOKENS = 500
_WARM_SHARE = 0.1


class SampleSize:
    """The run is too short for a verdict, or part of its prompts came from the prefix cache.

    Below 40 verify steps SGLang's own counter has not even been folded in once; a few hundred tokens of one prompt say
    nothing about a drafter. A warm prefix cache shortens the time to the first token and, where only one arm is warm,
    favours it.

    Sources: ggml-org/llama.cpp pull request 18039 (136 tokens, one word of prompt); sgl-project/sglang pull
    request 29329 (counters folded in every 40 steps); SGLang `/flush_cache`.
    """

    codes = ("SAMPLE_TOO_SMALL", "PREFIX_CACHE_WARM")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield what weakens the figures; information only."""
        cells = pooled(subject)
        tokens = [cell.output_tokens for cell in cells if cell.output_tokens is not None]
        steps = [cell.verify_steps for cell in cells if cell.verify_steps is not None]
        few_steps = bool(steps) and max(steps) < MIN_VERIFY_STEPS and is_speculative(subject)
        if few_steps or (tokens and max(tokens) < _MIN_TOKENS):
            counted = f"{max(steps)} verify steps" if few_steps else f"{max(tokens)} output tokens"
            yield Finding(
                code="SAMPLE_TOO_SMALL",
                severity="info",
                message=f"The run holds {counted}: too little for a verdict.",
                fix="Measure at least a few thousand output tokens over several prompts.",
                confidence="certain",
            )
        cached = sum(cell.cached_input_tokens or 0 for cell in cells)
        asked = sum(cell.input_tokens or 0 for cell in cells)
        if asked and cached / asked > _WARM_SHARE:
            yield Finding(
                code="PREFIX_CACHE_WARM",
                severity="info",
                message=f"{cached / asked:.0%} of the prompt tokens came from the prefix cache.",
                fix="Flush the cache before each arm (/flush_cache), or make sure that both arms are equally warm.",
                confidence="certain",
            )


RULE = SampleSize()
