"""config.json of a checkpoint: the facts that checks and memos need, wherever a layout keeps them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracker.checkpoints._files import size_of
from tracker.errors import CheckpointError

MAX_CONFIG_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 40
# Where multimodal models, speculators and others keep the language model's sizes.
_NESTED = ("text_config", "llm_config", "language_config", "thinker_config", "transformer_layer_config", "model")
# Keys that a check looks at and that have no field of their own.
_KEPT = (
    "model_type", "tie_word_embeddings", "rope_theta", "rope_scaling", "rope_parameters", "torch_dtype", "dtype",
    "num_nextn_predict_layers", "block_size", "num_target_layers", "norm_before_fc", "fc_norm", "use_aux_norm",
    "norm_output", "norm_before_residual", "num_aux_hidden_states", "sliding_window", "use_sliding_window",
    "layer_types", "markov_rank", "markov_head_type", "medusa_num_heads", "medusa_num_layers", "speculators_model_type",
    "transformers_version", "head_dim", "num_attention_heads", "num_key_value_heads", "num_experts_per_tok",
)  # fmt: skip


def read_config(folder: Path) -> tuple[dict[str, Any], bytes] | None:
    """Return config.json as an object and as bytes; None when the folder has none.

    Raises:
        CheckpointError: It is too large, not JSON, or not an object.
    """
    path = folder / "config.json"
    try:
        if not path.exists():
            return None
        size = size_of(path)
        if size > MAX_CONFIG_BYTES:
            raise CheckpointError(
                f"is {size} bytes long, no config.json is",
                where=str(path),
                hint="Is this the right file?",
            )
        body = path.read_bytes()
        parsed = json.loads(body)
    except OSError as error:
        raise CheckpointError(
            f"cannot be read ({error.strerror})", where=str(path), hint="Check the file's permissions."
        ) from error
    except (ValueError, RecursionError) as error:
        raise CheckpointError(
            f"is not JSON ({error})", where=str(path), hint="Correct the line, or export the checkpoint again."
        ) from error
    if not isinstance(parsed, dict):
        raise CheckpointError(
            f"holds a JSON {type(parsed).__name__} instead of an object", where=str(path), hint="Export it again."
        )
    if _nests_deeper(parsed, MAX_DEPTH):
        raise CheckpointError("is nested deeper than any config.json", where=str(path), hint="Export it again.")
    return parsed, body


def _nests_deeper(value: Any, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        inner = [item for holder in level for item in (holder.values() if isinstance(holder, dict) else holder)]
        level = [item for item in inner if isinstance(item, (dict, list))]
        if not level:
            return False
    return True


def find(config: Mapping[str, Any], key: str) -> Any:
    """Return a key's value from the top level, else from the nested language model; None when absent."""
    if config.get(key) is not None:
        return config[key]
    for name in _NESTED:
        nested = config.get(name)
        if isinstance(nested, Mapping) and nested.get(key) is not None:
            return nested[key]
    return None


def whole(value: Any) -> int | None:
    """Return a count, else None: a config can hold anything."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def architecture(config: Mapping[str, Any]) -> str | None:
    """Return the first entry of `architectures`."""
    listed = config.get("architectures")
    first = listed[0] if isinstance(listed, list) and listed else None
    return first if isinstance(first, str) else None


def aux_layers(config: Mapping[str, Any]) -> tuple[tuple[int, ...] | None, str | None]:
    """Return the target layers that feed the drafter, and where the config names them."""
    for holder, key in (
        ("eagle_config", "eagle_aux_hidden_state_layer_ids"),
        ("dflash_config", "target_layer_ids"),
        ("", "eagle_aux_hidden_state_layer_ids"),
        ("", "target_layer_ids"),
    ):
        place = config.get(holder) if holder else config
        ids = place.get(key) if isinstance(place, Mapping) else None
        if isinstance(ids, list) and ids and all(isinstance(layer, int) for layer in ids):
            return tuple(ids), holder or "top level"
    return None, None


def further_facts(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys kept beside the fields: rope, quantization, norms, the speculators layout."""
    facts = {key: value for key in _KEPT if (value := find(config, key)) is not None}
    layers = aux_layers(config)[1]
    if layers is not None:
        facts["aux_layer_ids_in"] = layers
    eagle = config.get("eagle_config")
    if isinstance(eagle, Mapping) and eagle.get("use_aux_hidden_state") is not None:
        facts["use_aux_hidden_state"] = eagle["use_aux_hidden_state"]
    if isinstance(facts.get("layer_types"), list):
        facts["layer_types"] = sorted({str(kind) for kind in facts["layer_types"]})
    quantization = find(config, "quantization_config")
    if isinstance(quantization, Mapping):
        kept = (
            "quant_method", "quant_algo", "bits", "fmt", "format", "kv_cache_scheme", "kv_cache_quant_algo", "ignore",
            "modules_to_not_convert", "exclude_modules",
        )  # fmt: skip
        facts["quantization_config"] = {key: quantization[key] for key in kept if key in quantization}
    speculators = config.get("speculators_config")
    if isinstance(speculators, Mapping):
        facts["speculators_algorithm"] = speculators.get("algorithm")
        verifier = speculators.get("verifier")
        facts["verifier"] = verifier.get("name_or_path") if isinstance(verifier, Mapping) else None
    dflash = config.get("dflash_config")
    if isinstance(dflash, Mapping):
        facts["dflash_projector_type"] = dflash.get("projector_type")
    return facts
