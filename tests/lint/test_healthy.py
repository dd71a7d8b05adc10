"""Healthy configurations, of all kinds of drafters: no error, and no warning that is not true.

Written from the engines' documentation and recipes; each checkpoint is built as that kind is exported.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tracker import checkpoints, engines, lint
from tracker.domain.workload import Workload
from tracker.lint.base import Subject

H, VOCAB, DRAFT = 64, 128, 32


def _map_tensors() -> dict[str, Any]:
    return {"d2t": ("I64", (DRAFT,)), "t2d": ("BOOL", (VOCAB,), bytes([1] * DRAFT + [0] * (VOCAB - DRAFT)))}


TARGET = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": H,
    "num_hidden_layers": 32,
    "vocab_size": VOCAB,
    "max_position_embeddings": 4096,
    "rope_theta": 5e5,
}
MTP_TARGET = {**TARGET, "architectures": ["DeepseekV3ForCausalLM"], "num_nextn_predict_layers": 1}
SIZES = {"hidden_size": H, "vocab_size": VOCAB, "num_hidden_layers": 1, "max_position_embeddings": 4096}
EAGLE3_CONFIG = {
    **SIZES,
    "architectures": ["LlamaForCausalLMEagle3"],
    "draft_vocab_size": DRAFT,
    "tie_word_embeddings": False,
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 15, 28], "use_aux_hidden_state": True},
}
EAGLE3_TENSORS = {
    "fc.weight": ("BF16", (H, 3 * H)),
    "midlayer.hidden_norm.weight": ("BF16", (H,)),
    "norm.weight": ("BF16", (H,)),
    "lm_head.weight": ("BF16", (DRAFT, H)),
    **_map_tensors(),
}
DRAFTERS: dict[str, tuple[dict[str, Any], dict[str, Any] | None]] = {
    "eagle": (
        {**SIZES, "architectures": ["LlamaForCausalLMEagle"]},
        {
            "fc.weight": ("BF16", (H, 2 * H)),
            "fc.bias": ("BF16", (H,)),
            "layers.0.self_attn.q_proj.weight": ("BF16", (H, H)),
        },
    ),
    "eagle3": (EAGLE3_CONFIG, EAGLE3_TENSORS),
    "eagle3 config only": (EAGLE3_CONFIG, None),
    "eagle3 without ids": ({**EAGLE3_CONFIG, "eagle_config": {"use_aux_hidden_state": True}}, EAGLE3_TENSORS),
    "eagle3 full vocabulary": (
        {**EAGLE3_CONFIG, "draft_vocab_size": VOCAB},
        {
            "fc.weight": ("BF16", (H, 3 * H)),
            "norm.weight": ("BF16", (H,)),
            "lm_head.weight": ("BF16", (VOCAB, H)),
            "layers.0.self_attn.q_a_proj.weight": ("BF16", (H, H)),
        },
    ),
    "eagle3 mla": (
        {**EAGLE3_CONFIG, "architectures": ["Eagle3DeepseekV2ForCausalLM"], "draft_vocab_size": VOCAB},
        {
            "fc.weight": ("BF16", (H, 3 * H)),
            "norm.weight": ("BF16", (H,)),
            "lm_head.weight": ("BF16", (VOCAB, H)),
            "layers.0.self_attn.kv_a_proj_with_mqa.weight": ("BF16", (H, H)),
        },
    ),
    "eagle3 for a wider target": (
        {**EAGLE3_CONFIG, "hidden_size": H // 2, "target_hidden_size": H},
        {
            **EAGLE3_TENSORS,
            "fc.weight": ("BF16", (H // 2, 3 * H)),
            "embed_tokens.weight": ("BF16", (VOCAB, H // 2)),
            "lm_head.weight": ("BF16", (DRAFT, H // 2)),
        },
    ),
    "eagle3 with the target's head": (
        {**EAGLE3_CONFIG, "draft_vocab_size": None},
        {
            "fc.weight": ("BF16", (H, 3 * H)),
            "midlayer.hidden_norm.weight": ("BF16", (H,)),
            "norm.weight": ("BF16", (H,)),
        },
    ),
    "speculators": (
        {
            "speculators_model_type": "eagle3",
            "speculators_config": {"algorithm": "eagle3", "verifier": {"name_or_path": "org/target"}},
            "transformer_layer_config": SIZES,
            "draft_vocab_size": DRAFT,
        },
        {"fc.weight": ("BF16", (H, 3 * H)), "lm_head.weight": ("BF16", (DRAFT, H)), **_map_tensors()},
    ),
    "nextn": (
        {**SIZES, "architectures": ["DeepseekV3ForCausalLMNextN"]},
        {"model.layers.0.eh_proj.weight": ("BF16", (H, 2 * H)), "model.layers.0.enorm.weight": ("BF16", (H,))},
    ),
    "gemma assistant": ({**SIZES, "architectures": ["Gemma4AssistantForCausalLM"]}, None),
    "dflash": (
        {
            **SIZES,
            "architectures": ["DFlashDraftModel"],
            "num_hidden_layers": 5,
            "block_size": 16,
            "dflash_config": {"target_layer_ids": [1, 8, 15, 22, 29], "mask_token_id": 3},
        },
        {"fc.weight": ("BF16", (H, 5 * H)), "hidden_norm.weight": ("BF16", (H,))},
    ),
    "dspark": ({**SIZES, "architectures": ["Qwen3DSparkModel"], "markov_rank": 16, "block_size": 7}, None),
    "medusa": ({"model_type": "medusa", "medusa_num_heads": 4, "hidden_size": H, "vocab_size": VOCAB}, None),
    "small model": (
        {**SIZES, "architectures": ["LlamaForCausalLM"], "hidden_size": 32, "num_hidden_layers": 2},
        {"model.embed_tokens.weight": ("BF16", (VOCAB, 32)), "model.layers.1.mlp.up_proj.weight": ("BF16", (32, 32))},
    ),
}

SERVE = "python3 -m sglang.launch_server --model-path org/target"
D = "--speculative-draft-model-path org/draft"
EAGLE, EAGLE3, DFLASH = (f"{SERVE} --speculative-algorithm {name} {D}" for name in ("EAGLE", "EAGLE3", "DFLASH"))


def _chain(steps: int, more: str = "") -> str:
    return (
        f"--speculative-num-steps {steps} --speculative-eagle-topk 1 --speculative-num-draft-tokens {steps + 1} {more}"
    ).strip()


def _tree(steps: int, topk: int, tokens: int) -> str:
    return f"--speculative-num-steps {steps} --speculative-eagle-topk {topk} --speculative-num-draft-tokens {tokens}"


def _vllm(config: str, more: str = "") -> str:
    return f"vllm serve org/target {more} --speculative-config '{config}'"


HEALTHY: list[tuple[str, str | None, dict[str, Any]]] = [
    (f"{SERVE} --tp 8 --trust-remote-code", None, TARGET),
    (f"{SERVE} --disable-cuda-graph --disable-radix-cache --dtype float16", None, TARGET),
    (f"{SERVE} --enable-torch-compile --cuda-graph-max-bs 64 --max-running-requests 64", None, TARGET),
    (f"{EAGLE} {_tree(3, 4, 16)} --cuda-graph-max-bs 8 --log-level warning", "eagle", TARGET),
    (f"{SERVE} --speculative-algo EAGLE --speculative-draft org/draft {_tree(5, 8, 64)}", "eagle", TARGET),
    (f"{EAGLE} {_chain(3)} --speculative-token-map org/freq_32768.pt", "eagle", TARGET),
    (f"{SERVE} --speculative-algorithm NEXTN {D} {_chain(1)}", "eagle", TARGET),
    (f"{EAGLE3} {_tree(3, 4, 16)} --mem-fraction 0.7 --dtype float16", "eagle3", TARGET),
    (f"{EAGLE3} {_chain(3)} --tp 2 --cuda-graph-max-bs 128", "eagle3", TARGET),
    (EAGLE3, "eagle3", TARGET),
    (f"{SERVE} --speculative-algorithm eagle3 {D} {_chain(5)} --max-running-requests 64", "eagle3 config only", TARGET),
    (f"{EAGLE3} {_chain(2)}", "eagle3 without ids", TARGET),
    (f"{EAGLE3} {_chain(3)}", "eagle3 full vocabulary", TARGET),
    (f"{EAGLE3} {_chain(3)} --tp 8", "eagle3 mla", TARGET),
    (f"{EAGLE3} {_chain(4)}", "eagle3 for a wider target", TARGET),
    (f"{EAGLE3} {_chain(3)}", "eagle3 with the target's head", TARGET),
    (f"{EAGLE3} {_tree(3, 2, 8)} --page-size 64 --attention-backend fa3", "eagle3", TARGET),
    (f"{EAGLE3} {_chain(3)} --page-size 64 --attention-backend trtllm_mha", "eagle3", TARGET),
    (f"{EAGLE3} {_chain(3)} --kv-cache-dtype fp8_e4m3", "eagle3", TARGET),
    (f"{EAGLE3} {_chain(3)} --quantization fp8 --speculative-draft-model-quantization unquant",
     "eagle3", TARGET),
    (f"{SERVE} --speculative-algorithm EAGLE --tp 8 {_chain(3)}", None, MTP_TARGET),
    (f"{SERVE} --speculative-algorithm EAGLE --tp 8 --trust-remote-code", None, MTP_TARGET),
    (f"{SERVE} --speculative-algorithm NEXTN {_chain(1)} --enable-dp-attention --dp 8 --tp 8", None, MTP_TARGET),
    (f"{SERVE} --speculative-algorithm NEXTN {D} {_tree(2, 4, 4)}", "nextn", MTP_TARGET),
    (f"{SERVE} --speculative-algorithm NEXTN {D} {_chain(3)}", "gemma assistant", TARGET),
    (DFLASH, "dflash", TARGET),
    (f"{DFLASH} --speculative-num-draft-tokens 16 --attention-backend fa3", "dflash", TARGET),
    (f"{SERVE} --speculative-algorithm DSPARK {D} --speculative-dspark-block-size 7", "dspark", TARGET),
    (f"{SERVE} --speculative-algorithm NGRAM --speculative-num-draft-tokens 16 --cuda-graph-max-bs 8", None, TARGET),
    (f"{SERVE} --speculative-algorithm STANDALONE {D} {_tree(4, 2, 7)}", "small model", TARGET),
    (f"sglang serve --model-path org/t --speculative-algorithm EAGLE3 {D} {_chain(3)}", "eagle3", TARGET),
    ("vllm serve org/target --tensor-parallel-size 4 --max-model-len 4096", None, TARGET),
    (_vllm('{"method":"eagle3","model":"org/draft","num_speculative_tokens":3}', "-tp 2"), "eagle3", TARGET),
    (_vllm('{"method":"eagle3","model":"org/draft","num_speculative_tokens":2}'), "speculators", TARGET),
    (_vllm('{"method":"eagle","model":"org/draft","num_speculative_tokens":2}'), "eagle", TARGET),
    (_vllm('{"method":"ngram","num_speculative_tokens":5,"prompt_lookup_max":4}'), None, TARGET),
    (_vllm('{"method":"mtp","num_speculative_tokens":1}'), None, MTP_TARGET),
    (_vllm('{"method":"medusa","model":"org/draft","num_speculative_tokens":4}'), "medusa", TARGET),
    (_vllm('{"method":"draft_model","model":"org/draft","num_speculative_tokens":5}'), "small model", TARGET),
    (_vllm('{"method":"suffix","num_speculative_tokens":32}'), None, TARGET),
    (_vllm('{"model":"org/draft","num_speculative_tokens":3}'), "speculators", TARGET),
    ("llama-server -m big.gguf -md small.gguf --draft-max 8 --draft-min 1 -c 8192 -ngl 99", None, TARGET),
    ("llama-server -hf org/model --port 8080 -fa on --jinja", None, TARGET),
]  # fmt: skip


def test_the_corpus_is_large_enough_and_covers_every_kind() -> None:
    assert len(HEALTHY) >= 30
    assert {name for _, name, _ in HEALTHY if name} == set(DRAFTERS)


@pytest.mark.parametrize(
    ("command", "drafter", "target"), HEALTHY, ids=[f"{i}-{case[1]}" for i, case in enumerate(HEALTHY)]
)
@pytest.mark.parametrize("load", [1, 16])
def test_a_healthy_configuration_raises_no_alarm(
    command: str, drafter: str | None, target: dict[str, Any], load: int, tmp_path: Path, write_checkpoint: Any
) -> None:
    server = engines.parse_command(command)
    config, tensors = DRAFTERS[drafter] if drafter else ({}, None)
    described = checkpoints.describe(write_checkpoint(tmp_path / "draft", config, tensors)) if drafter else None
    served = checkpoints.describe(write_checkpoint(tmp_path / "target", target))

    findings = lint.run(
        Subject(
            server=server,
            speculation=engines.speculation(server),
            drafter=described,
            target=served,
            workload=Workload(concurrencies=(load,), prompt_set="mt-bench"),
        )
    )

    assert server.unknown_flags == () or server.engine != "sglang"
    assert [finding for finding in findings if finding.severity == "error"] == []
    true_warnings = {"CUDA_GRAPH_MAX_BS_BELOW_CONCURRENCY", "TREE_AT_HIGH_CONCURRENCY"} if load == 16 else set()
    assert {finding.code for finding in findings if finding.severity == "warning"} <= true_warnings
