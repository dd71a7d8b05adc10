"""Parts of the drafter that the file lacks and the loader does not miss."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.lint.base import Subject


class DraftTensorsMissing:
    """An EAGLE-3 file lacks a tensor that its config promises, and the server fills it with noise.

    SGLang's draft loader skips names it does not know and never reports missing ones. Without `lm_head.weight` (untied,
    `draft_vocab_size` set) the head stays random and the accept length is exactly 1.00; without `d2t` under a reduced
    vocabulary the draft ids are taken for target ids; without `embed_tokens` where the target is wider than the drafter
    the embedding stays random; without `fc.weight` the auxiliary states are projected by noise. The config alone cannot
    show any of it: names are read from the tensor headers.

    Sources: sgl-project/sglang issue 27829 and pull request 27908; SGLang 0.5.23 llama_eagle3.py; SpecForge pull
    requests 534 and 872; SpecForge's exporter insists on fc, norm, lm_head, t2d and d2t.
    """

    codes = ("DRAFT_LM_HEAD_MISSING", "DRAFT_VOCAB_MAP_MISSING", "DRAFT_EMBED_MISSING", "DRAFT_FC_MISSING")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding a missing part; silent without a tensor header and for other kinds."""
        drafter = subject.drafter
        if drafter is None or drafter.kind != "eagle3" or drafter.tensor_count is None:
            return
        for code, missing, harm in _missing(drafter):
            yield Finding(
                code=code,
                severity="error",
                message=f"{drafter.name} holds no {missing}: {harm}.",
                fix=f"Export the drafter again with {missing}, and look at the exporter's list of skipped tensors.",
                confidence="high",
                voids=("acceptance",),
            )


def _missing(drafter: Checkpoint) -> Iterator[tuple[str, str, str]]:
    tied = drafter.config.get("tie_word_embeddings") is True
    if not has_tensor(drafter, "lm_head.weight") and drafter.draft_vocab_size is not None and not tied:
        yield "DRAFT_LM_HEAD_MISSING", "lm_head.weight", "its output head stays random and nothing is accepted"
    reduced = (
        drafter.draft_vocab_size is not None
        and drafter.vocab_size is not None
        and drafter.draft_vocab_size < drafter.vocab_size
    )
    if reduced and not has_tensor(drafter, "d2t"):
        yield "DRAFT_VOCAB_MAP_MISSING", "d2t", "draft ids are taken for ids of the target's vocabulary"
    wider = drafter.target_hidden_size is not None and drafter.target_hidden_size != drafter.hidden_size
    if wider and not has_tensor(drafter, "embed_tokens.weight"):
        yield (
            "DRAFT_EMBED_MISSING",
            "embed_tokens.weight",
            "the target's is of another width, so the embedding stays random",
        )
    if drafter.fc_input_width is None:
        yield (
            "DRAFT_FC_MISSING",
            "fc.weight",
            "the target's hidden states reach the drafter through a random projection",
        )


def has_tensor(drafter: Checkpoint, name: str) -> bool:
    """Return whether a tensor of this name is in the drafter's files."""
    return name in drafter.key_tensors or f"model.{name}" in drafter.key_tensors


RULE = DraftTensorsMissing()
