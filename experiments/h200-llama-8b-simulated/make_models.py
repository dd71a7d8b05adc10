"""Write a target and a drafter that have dimensions and no weights, for servers started with `--load-format dummy`.

    python3 make_models.py OUT

Step time does not depend on what the weights are, and simulated acceptance makes what the drafter proposes irrelevant.
So two config.json files and a tokenizer of single bytes are enough to measure what a speculative step costs.

OUT/target            Llama 3.1 8B's dimensions (its public config.json), with a tokenizer whose tokens are bytes
OUT/eagle3-untrained  a one-layer EAGLE-3 drafter of the same width with 32,000 draft tokens
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

TARGET: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
    "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
    "vocab_size": 128256, "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "rope_theta": 500000.0,
    "hidden_act": "silu", "attention_bias": False, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
    "bos_token_id": 256, "eos_token_id": 257,
}  # fmt: skip
DRAFTER: dict[str, Any] = TARGET | {
    "architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1, "draft_vocab_size": 32000,
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [2, 16, 29]},
}  # fmt: skip


def main() -> None:
    """Write both folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    write(out / "target" / "config.json", TARGET)
    write(out / "eagle3-untrained" / "config.json", DRAFTER)
    byte_tokenizer().save(str(out / "target" / "tokenizer.json"))
    write(out / "target" / "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>",
        "chat_template": "{% for m in messages %}{{ m['content'] }}\n{% endfor %}",
    })  # fmt: skip


def byte_tokenizer() -> Tokenizer:
    """Return a tokenizer whose tokens are the 256 bytes and two marks."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={character: index for index, character in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<s>", "</s>"])
    return tokenizer


def write(path: Path, value: dict[str, Any]) -> None:
    """Write JSON, folder included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
