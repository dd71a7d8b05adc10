"""What a checkpoint is, from its config and its tensors' names and shapes.

Tensors outrank the architecture's name: original EAGLE-3 releases call themselves `LlamaForCausalLM`
(sgl-project/sglang 8229). The table behind this is what SGLang 0.5.23, vLLM 0.24 and speculators write and load.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tracker.checkpoints._config import architecture, aux_layers, find, whole
from tracker.domain.checkpoint import CheckpointKind

Shapes = Mapping[str, tuple[int, ...]]

_EAGLE_ARCHITECTURES = frozenset(
    {"LlamaForCausalLMEagle", "Qwen2ForCausalLMEagle", "MistralForCausalLMEagle", "MistralLarge3ForCausalLMEagle"}
)
_EAGLE3_ALIASES = frozenset({"Eagle3Speculator", "EagleLlama3ForCausalLM"})
_GEMMA_ASSISTANTS = frozenset({"Gemma4AssistantForCausalLM", "Gemma4UnifiedAssistantForCausalLM"})
_MTP_TENSORS = (
    "eh_proj.weight",
    "enorm.weight",
    "hnorm.weight",
    "pre_fc_norm_hidden.weight",
    "pre_fc_norm_embedding.weight",
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A kind and what shows it."""

    kind: CheckpointKind | None
    """None when the files do not say."""
    evidence: tuple[str, ...]
    """Strongest first, in words."""


def detect(config: Mapping[str, Any], shapes: Shapes) -> Verdict:
    """Return the kind of checkpoint; `shapes` is empty where no header was read."""
    for kind, seen in (
        ("speculators", _speculators(config)),
        ("dspark", _dspark(config, shapes)),
        ("dflash", _dflash(config, shapes)),
        ("medusa", _medusa(config, shapes)),
        ("eagle3", _eagle3(config, shapes)),
        ("mtp", _mtp(config, shapes)),
        ("eagle", _eagle(config, shapes)),
    ):
        if seen:
            return Verdict(kind, tuple(seen))  # type: ignore[arg-type]
    return _model(config, shapes)


def fc_width(shapes: Shapes) -> int | None:
    """Return the columns of the draft's input projection `fc.weight`; None when there is none."""
    shape = _top(shapes, "fc.weight")
    return shape[1] if shape is not None and len(shape) == 2 else None


def has_draft_map(shapes: Shapes) -> bool:
    """Return whether draft-vocabulary maps are among the tensors."""
    return _top(shapes, "d2t") is not None or _top(shapes, "t2d") is not None


def mtp_tensors(config: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return the tensors of a prediction layer: `mtp.*`, or DeepSeek's layer after the last."""
    layers = whole(find(config, "num_hidden_layers"))
    after = f"layers.{layers}." if layers is not None else None
    return [name for name in names if "mtp." in name or (after is not None and after in name)]


def _top(shapes: Shapes, name: str) -> tuple[int, ...] | None:
    """Return the shape of a part of the drafter itself; a target's `mtp.fc.weight` is none."""
    return shapes.get(name, shapes.get(f"model.{name}"))


def _shape(shapes: Shapes, ending: str) -> tuple[int, ...] | None:
    if ending in shapes:
        return shapes[ending]
    return next((shape for name, shape in shapes.items() if name.endswith("." + ending)), None)


def _named(config: Mapping[str, Any]) -> str:
    return architecture(config) or ""


def _speculators(config: Mapping[str, Any]) -> list[str]:
    return [f"config key {key}" for key in ("speculators_model_type", "speculators_config") if key in config]


def _dspark(config: Mapping[str, Any], shapes: Shapes) -> list[str]:
    name = _named(config)
    seen = [f"architecture {name}"] if "dspark" in name.lower() else []
    if any(tensor.startswith(("markov_head.", "model.markov_head.")) for tensor in shapes):
        seen.insert(0, "tensors markov_head.*")
    rank = whole(config.get("markov_rank"))
    return [*seen, *([f"config markov_rank {rank}"] if rank else [])]


def _dflash(config: Mapping[str, Any], shapes: Shapes) -> list[str]:
    name = _named(config)
    seen = [f"architecture {name}"] if name.startswith(("DFlash", "Domino")) else []
    if isinstance(config.get("dflash_config"), Mapping):
        seen.append("config key dflash_config")
    if whole(config.get("block_size")) and fc_width(shapes) and "hidden_norm.weight" in shapes:
        seen.append("tensors fc.weight and hidden_norm.weight with config block_size")
    return seen


def _medusa(config: Mapping[str, Any], shapes: Shapes) -> list[str]:
    name = _named(config)
    seen = [f"architecture {name}"] if "medusa" in name.lower() or config.get("model_type") == "medusa" else []
    if any("medusa_head" in tensor for tensor in shapes):
        seen.insert(0, "tensors medusa_head.*")
    heads = whole(config.get("medusa_num_heads"))
    return [*seen, *([f"config medusa_num_heads {heads}"] if heads else [])]


def _eagle3(config: Mapping[str, Any], shapes: Shapes) -> list[str]:
    name = _named(config)
    seen = []
    maps = [tensor for tensor in ("d2t", "t2d") if _top(shapes, tensor) is not None]
    if maps:
        seen.append(f"tensors {' and '.join(maps)}")
    width, wide = fc_width(shapes), _layers_in_fc(config, shapes)
    if width is not None and wide is not None and wide >= 3:
        seen.append(f"fc.weight takes {width} = {wide} x {width // wide}")
    if any(tensor.startswith(("midlayer.", "model.midlayer.")) for tensor in shapes):
        seen.append("tensors midlayer.*")
    if "eagle3" in name.lower() or name in _EAGLE3_ALIASES:
        seen.append(f"architecture {name}")
    if isinstance(config.get("eagle_config"), Mapping) and aux_layers(config)[0]:
        seen.append("config eagle_aux_hidden_state_layer_ids")
    if find(config, "draft_vocab_size") is not None:
        seen.append("config draft_vocab_size")
    return seen


def _layers_in_fc(config: Mapping[str, Any], shapes: Shapes) -> int | None:
    """Return how many hidden states `fc` takes in, when its width is a multiple of the target's."""
    width = fc_width(shapes)
    hidden = whole(find(config, "target_hidden_size")) or whole(find(config, "hidden_size"))
    shape = _top(shapes, "fc.weight")
    hidden = hidden or (shape[0] if shape else None)
    return width // hidden if width and hidden and width % hidden == 0 else None


def _mtp(config: Mapping[str, Any], shapes: Shapes) -> list[str]:
    name = _named(config)
    seen = []
    if name.endswith(("NextN", "MTP")) or name in _GEMMA_ASSISTANTS:
        seen.append(f"architecture {name}")
    if shapes and all(tensor.startswith(("mtp.", "model.mtp.")) for tensor in shapes):
        seen.append("nothing but tensors mtp.*")
    elif not _is_whole_model(config, shapes):
        found = [ending for ending in _MTP_TENSORS if _shape(shapes, ending) is not None]
        if found:
            seen.insert(0, f"tensors {', '.join(found)}")
    return seen


def _eagle(config: Mapping[str, Any], shapes: Shapes) -> list[str]:
    name = _named(config)
    width, wide = fc_width(shapes), _layers_in_fc(config, shapes)
    seen = [f"fc.weight takes {width} = 2 x {width // 2}"] if width is not None and wide == 2 else []
    if name in _EAGLE_ARCHITECTURES:
        seen.append(f"architecture {name}")
    return seen


def _model(config: Mapping[str, Any], shapes: Shapes) -> Verdict:
    name = architecture(config)
    if shapes and _is_whole_model(config, shapes):
        return Verdict("model", ("tensors of a whole language model",))
    if name is None:
        return Verdict(None, ())
    # Original EAGLE-1/2 repositories call a one-layer draft LlamaForCausalLM: the config alone cannot tell.
    layers = whole(find(config, "num_hidden_layers"))
    if not shapes and layers is not None and layers <= 1:
        return Verdict(None, (f"architecture {name} with {layers} layer; the config alone does not say more",))
    return Verdict("model", (f"architecture {name}",))


def _is_whole_model(config: Mapping[str, Any], shapes: Shapes) -> bool:
    """Return whether the tensors make a language model by themselves: embeddings, and all the layers of the config."""
    if _shape(shapes, "embed_tokens.weight") is None or fc_width(shapes) is not None:
        return False
    layers = whole(find(config, "num_hidden_layers"))
    return layers is None or any(f"layers.{layers - 1}." in tensor for tensor in shapes)
