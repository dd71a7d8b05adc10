"""Embeddings in the drafter's file that are not the target's."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint._subject import runs_on
from tracker.lint.base import Subject


class DraftEmbeddings:
    """The drafter brings an embedding table that differs from the target's.

    An exporter that builds a fresh model, loads what it has and saves everything writes a random table. SGLang always
    replaces it with the target's; vLLM compares the two and keeps the drafter's own where they differ. A drafter that
    is fine in SGLang and near 1 in vLLM has this until shown otherwise. (Some drafters legitimately bring their own.)

    Sources: lightseekorg/TorchSpec issue 38; vllm-project/vllm pull request 28549.
    """

    codes = ("DRAFT_EMBED_DIFFERS_FROM_TARGET",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the difference where the engine would use the drafter's table."""
        drafter = subject.drafter
        if drafter is None or drafter.embeddings_match_target is not False:
            return
        on_vllm = runs_on(subject, "vllm")
        yield Finding(
            code=self.codes[0],
            severity="warning" if on_vllm else "info",
            message=f"The embed_tokens of {drafter.name} are not the target's: "
            + (
                "vLLM keeps them, and acceptance is poor if they are noise."
                if on_vllm
                else "SGLang replaces them, vLLM does not."
            ),
            fix="Remove embed_tokens.weight from the drafter's file, unless it was trained.",
            confidence="medium",
        )


RULE = DraftEmbeddings()
