"""Values of the speculative settings that mean nothing to the engine, or too much for the drafter."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint._subject import algorithm, argument, listed, mapping, runs_on
from tracker.lint.base import Subject

_SGLANG = frozenset({"EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM", "DFLASH", "DSPARK", "UNO", "FROZEN_KV_MTP"})
_VLLM = frozenset(
    {
        "ngram", "ngram_gpu", "medusa", "mlp_speculator", "draft_model", "suffix", "eagle", "eagle3", "dflash",
        "extract_hidden_states", "custom_class",
    }
)  # fmt: skip
# A prediction layer that is applied again and again loses about half of its acceptance each time.
_MOST_PER_LAYER = 4


class SpecValues:
    """The name of the method is unknown, or the number of drafted tokens is far above what the drafter was trained for.

    A mistyped algorithm or method fails late, or is taken for a plugin's name. A target with one prediction layer (MTP)
    that drafts five or more tokens applies this layer to its own output again and again; acceptance falls with every
    repetition while each costs a pass.

    Sources: SGLang 0.5.23 SpeculativeAlgorithm (plugin names are legal since 0.5.12); vLLM SpeculativeConfig;
    DeepSeek-V3 and GLM-4.5 recipes, which use 1 to 3.
    """

    codes = ("UNKNOWN_SPEC_ALGORITHM", "UNKNOWN_SPEC_MODEL_VALUE", "K_FAR_ABOVE_MTP_LAYERS")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield unknown names and a window that is too long."""
        used = algorithm(subject)
        if used is None or subject.server is None:
            return
        if runs_on(subject, "sglang") and used not in _SGLANG:
            yield Finding(
                code="UNKNOWN_SPEC_ALGORITHM",
                severity="warning",
                message=f"SGLang has no algorithm {used} of its own.",
                fix=f"Use one of {listed(sorted(_SGLANG - {'FROZEN_KV_MTP'}))}, or install the plugin.",
                confidence="high",
            )
        if runs_on(subject, "vllm") and used.lower() not in _VLLM and not used.endswith("MTP"):
            named = mapping(argument(subject, "speculative_config")).get("method")
            yield Finding(
                code="UNKNOWN_SPEC_MODEL_VALUE",
                severity="warning",
                message=f"vLLM has no speculative method {named!r}.",
                fix=f"Use one of {', '.join(sorted(_VLLM))}, mtp, or leave the method to the draft model.",
                confidence="medium",
            )
        yield from _window(subject, used)


def _window(subject: Subject, used: str) -> Iterator[Finding]:
    speculation, target = subject.speculation, subject.target
    if speculation is None or target is None or speculation.draft_model_path is not None:
        return
    layers = target.config.get("num_nextn_predict_layers")
    from_target = used in ("EAGLE", "NEXTN") or used.endswith("MTP")
    if not from_target or not isinstance(layers, int) or layers < 1 or speculation.num_steps is None:
        return
    if speculation.num_steps > _MOST_PER_LAYER * layers:
        yield Finding(
            code="K_FAR_ABOVE_MTP_LAYERS",
            severity="warning",
            message=f"{speculation.num_steps} tokens are drafted by a target with num_nextn_predict_layers {layers}.",
            fix=f"Start with {layers} to {3 * layers} draft steps and measure upwards.",
            confidence="medium",
        )


RULE = SpecValues()
