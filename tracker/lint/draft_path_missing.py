"""Speculation asked for without anything to draft with."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint._subject import algorithm, runs_on, target_name
from tracker.lint.base import Subject

_NEEDS_DRAFT = {
    "sglang": frozenset({"EAGLE3", "STANDALONE", "DFLASH"}),
    "vllm": frozenset({"EAGLE", "EAGLE3", "DRAFT_MODEL", "MEDUSA", "DFLASH", "MLP_SPECULATOR"}),
}
# Targets that are known to carry no prediction layer of their own.
_WITHOUT_MTP = frozenset(
    {
        "LlamaForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM", "Qwen3MoeForCausalLM", "MistralForCausalLM",
        "MixtralForCausalLM", "GemmaForCausalLM", "Gemma2ForCausalLM", "Gemma3ForCausalLM", "GptOssForCausalLM",
        "Phi3ForCausalLM", "Llama4ForConditionalGeneration", "Qwen2_5_VLForConditionalGeneration",
    }
)  # fmt: skip


class DraftPathMissing:
    """The algorithm needs a draft model and none is given.

    EAGLE3 without a draft path loads the target a second time and dies with an AttributeError after minutes of loading;
    EAGLE and NEXTN work without one only where the target carries its own prediction layers (DeepSeek V3, GLM-4.5 and
    later, MiMo, ...).

    Sources: sgl-project/sglang pull request 36593 and issue 36528; SGLang 0.5.23 speculative_hook.py.
    """

    codes = ("DRAFT_PATH_MISSING",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the missing path."""
        used = algorithm(subject)
        if used is None or subject.server is None or (subject.speculation and subject.speculation.draft_model_path):
            return
        on_vllm = runs_on(subject, "vllm")
        if not on_vllm and not runs_on(subject, "sglang"):
            return
        needs = _NEEDS_DRAFT["vllm" if on_vllm else "sglang"]
        plain_target = used in ("EAGLE", "NEXTN") and not on_vllm and _has_no_mtp(subject)
        if used not in needs and not plain_target:
            return
        because = (
            f"{target_name(subject) or 'the target'} has no prediction layer of its own"
            if plain_target
            else "none is given"
        )
        where = '"model" in --speculative-config' if on_vllm else "--speculative-draft-model-path"
        yield Finding(
            code=self.codes[0],
            severity="error",
            message=f"{used} needs a draft model and {because}: the server fails after loading the target.",
            fix=f"Give the drafter with {where}.",
            confidence="high" if plain_target else "certain",
        )


def _has_no_mtp(subject: Subject) -> bool:
    target = subject.target
    if target is None or target.architecture is None:
        return False
    return target.architecture in _WITHOUT_MTP and not target.config.get("num_nextn_predict_layers")


RULE = DraftPathMissing()
