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
# Values of "model" that are no model but choose a method.
_MODEL_WORDS = frozenset({"ngram", "[ngram]", "suffix", "[suffix]"})
# A prediction layer that is applied again and again loses about half of its acceptance each time.
_MOST_PER_LAYER = 5


class SpecValues:
    """The name of the method is unknown, or the number of drafted tokens is far above what the drafter was trained for.

    A configuration whose quotes the shell took is refused. A mistyped algorithm or method fails late, or is taken for
    a plugin's name. A target with one prediction layer (MTP) that drafts five or more tokens applies this layer to its
    own output again and again; acceptance falls with every repetition while each costs a pass.

    Sources: SGLang 0.5.23 SpeculativeAlgorithm (plugin names are legal since 0.5.12); vLLM SpeculativeConfig;
    DeepSeek-V3 and GLM-4.5 recipes, which use 1 to 3.
    """

    codes = ("SPEC_CONFIG_NOT_JSON", "UNKNOWN_SPEC_ALGORITHM", "UNKNOWN_SPEC_MODEL_VALUE", "K_FAR_ABOVE_MTP_LAYERS")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield unknown names and a window that is too long."""
        if runs_on(subject, "vllm"):
            yield from _vllm(subject)
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
        yield from _window(subject, used)


def _vllm(subject: Subject) -> Iterator[Finding]:
    """Yield a configuration that is no JSON, or a method or a model that vLLM does not have."""
    text = argument(subject, "speculative_config")
    if isinstance(text, str) and "$" not in text:  # a variable of the outer world may hold anything
        yield Finding(
            code="SPEC_CONFIG_NOT_JSON",
            severity="error",
            message=f"--speculative-config is no JSON object ({text[:60]}): vLLM refuses it. "
            "Without quotes around it the shell takes the quotes inside.",
            fix='Put it in single quotes: --speculative-config \'{"method": "eagle3", "model": "DIR", '
            '"num_speculative_tokens": 3}\'',
            confidence="certain",
        )
    settings = mapping(argument(subject, "speculative_config"))
    method, model = settings.get("method"), settings.get("model", argument(subject, "speculative_model"))
    if isinstance(method, str) and method.lower() not in _VLLM and not method.lower().endswith("mtp"):
        wrong = f"no speculative method {method!r}"
    elif isinstance(model, str) and _is_no_model(model):
        wrong = f"no draft model {model!r}: that is a word, not a path or a Hub id"
    else:
        return
    yield Finding(
        code="UNKNOWN_SPEC_MODEL_VALUE",
        severity="warning",
        message=f"vLLM has {wrong}.",
        fix='Give "method" one of '
        f'{", ".join(sorted(_VLLM))} or mtp, and "model" the path or Hub id of the draft model.',
        confidence="medium",
    )


def _is_no_model(model: str) -> bool:
    """Return whether a value can be no model: a bracketed word that chooses nothing, or the name of a method."""
    if model.lower() in _MODEL_WORDS:
        return False
    word = model.strip("[]").lower()
    return model.startswith("[") or word in _VLLM or word in ("mtp", "auto", "none") or word.endswith("_mtp")


def _window(subject: Subject, used: str) -> Iterator[Finding]:
    """Yield more drafted tokens than prediction layers of the target can carry; one layer where it is not known."""
    speculation = subject.speculation
    if speculation is None or speculation.draft_model_path is not None or speculation.num_steps is None:
        return
    if used not in ("EAGLE", "NEXTN") and not used.endswith("MTP"):
        return
    known = [
        layers
        for checkpoint in (subject.target, subject.drafter)
        if checkpoint is not None
        and isinstance(layers := checkpoint.config.get("num_nextn_predict_layers"), int)
        and layers > 0
    ]
    layers = known[0] if known else 1
    if speculation.num_steps > _MOST_PER_LAYER * layers:
        yield Finding(
            code="K_FAR_ABOVE_MTP_LAYERS",
            severity="warning",
            message=f"{speculation.num_steps} tokens are drafted a step by "
            + (
                f"{layers} prediction layer{'s' if layers > 1 else ''}."
                if known
                else "prediction layers, of which most targets have one."
            ),
            fix=f"Start with {layers} to {3 * layers} draft steps and measure upwards.",
            confidence="medium" if known else "low",
        )


RULE = SpecValues()
