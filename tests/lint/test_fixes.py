"""A fix that is a command can be run, and what it fixes is gone afterwards."""

from __future__ import annotations

import dataclasses

import pytest

from tracker import engines, lint
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.workload import Workload
from tracker.lint.base import Subject

SERVE = "python -m sglang.launch_server --model-path org/target"
DRAFT = "--speculative-draft-model-path org/draft"
CHAIN = "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
TREE = "--speculative-num-steps 2 --speculative-eagle-topk 2"
EAGLE3 = f"{SERVE} --speculative-algorithm EAGLE3 {DRAFT}"
DRAFTER = Checkpoint(
    name="draft", kind="eagle3", architecture="LlamaForCausalLMEagle3", max_position_embeddings=2048, vocab_size=128,
    draft_vocab_size=32, sources=("config.json",),
)  # fmt: skip


def _vllm(method: str) -> str:
    return (
        f'vllm serve org/target --speculative-config \'{{"method": "{method}", "model": "org/draft", '
        '"num_speculative_tokens": 3}\''
    )


BROKEN = [
    (f"{SERVE} --speculative-algorithm EAGLE {DRAFT} {CHAIN}", "ALGO_MISMATCH_EAGLE_FOR_EAGLE3"),
    (f"{SERVE} --speculative-algorithm=NEXTN {DRAFT} {CHAIN}", "ALGO_MISMATCH_EAGLE_FOR_EAGLE3"),
    (_vllm("eagle"), "ALGO_MISMATCH_EAGLE_FOR_EAGLE3"),
    (_vllm("draft_model"), "METHOD_DRAFT_MODEL_FOR_EAGLE3"),
    (f"{SERVE} --speculative-algorithm DFLASH {DRAFT} {CHAIN}", "ALGO_MISMATCH"),
    (f"{EAGLE3} {CHAIN}4", "TOPK1_DRAFT_TOKENS_NE_STEPS_PLUS_1"),
    (f"{EAGLE3} {TREE} --speculative-num-draft-tokens 16", "DRAFT_TOKENS_EXCEED_TREE"),
    (f"{EAGLE3} --speculative-num-steps 5", "SPEC_TRIPLE_INCOMPLETE"),
    (f"{EAGLE3} --speculative-eagle-topk 1", "SPEC_TRIPLE_INCOMPLETE"),
    (
        f"{EAGLE3} {TREE} --speculative-num-draft-tokens 4 --page-size 64 --attention-backend flashmla",
        "TREE_UNSUPPORTED_BACKEND",
    ),
    (f"{EAGLE3} {CHAIN} --kv-cache-dtype fp4_e2m1", "DRAFT_KV_DTYPE_INHERITED_LOW_PRECISION"),
    (f"{EAGLE3} {CHAIN} --quantization fp8", "DRAFT_QUANTIZATION_INHERITED"),
    (f"{EAGLE3} {CHAIN} --max-running-requests 4", "MAX_RUNNING_REQUESTS_BELOW_CONCURRENCY"),
    (f"{EAGLE3} {CHAIN} --cuda-graph-max-bs 2", "CUDA_GRAPH_MAX_BS_BELOW_CONCURRENCY"),
    (f"{EAGLE3} {CHAIN} --cuda-graph-bs 1 2 4", "CUDA_GRAPH_MAX_BS_BELOW_CONCURRENCY"),
    (f"{EAGLE3} {CHAIN} --context-length 32768", "DRAFT_MAX_POSITION_BELOW_CONTEXT"),
    (f"{EAGLE3} {CHAIN} --speculative-accept-threshold-single 0.8", "ACCEPT_THRESHOLD_BELOW_ONE"),
    (f"{EAGLE3} {CHAIN} --disable-cuda-graph", "CUDA_GRAPH_OFF"),
    (f"{EAGLE3} {CHAIN} --disable-overlap-schedule", "OVERLAP_SCHEDULE_OFF"),
    (f"{EAGLE3} {CHAIN} --stream-interval 8", "STREAM_INTERVAL_DISTORTS_ITL"),
    (f"{EAGLE3} {CHAIN} --speculative-use-rejection-sampling", "REJECTION_SAMPLING_UNSUPPORTED"),
    (f"{EAGLE3} {CHAIN} --speculative-token-map org/map.pt --tp 2", "TOKEN_MAP_IGNORED"),
    (
        f"{SERVE} --speculative-algorithm NGRAM --speculative-num-draft-tokens 8 --enable-dp-attention --dp 2",
        "SPEC_WITH_DP_ATTENTION",
    ),
    (f"{EAGLE3} {CHAIN} --mem-fraction-statik 0.8", "UNKNOWN_FLAG"),
]


def _subject(command: str) -> Subject:
    server = engines.parse_command(command)
    speculation = engines.speculation(server)
    ours = speculation is not None and speculation.draft_model_path is not None
    return Subject(
        server=server,
        speculation=speculation,
        drafter=DRAFTER if ours else None,
        workload=Workload(concurrencies=(8,), input_tokens_mean=9000.0, max_output_tokens=512),
        cuda_graph=engines.cuda_graph(server),
    )


@pytest.mark.parametrize(("command", "code"), BROKEN, ids=[code for _, code in BROKEN])
def test_the_corrected_command_runs_and_no_longer_has_the_fault(command: str, code: str) -> None:
    (first, *_) = [item for item in lint.run(_subject(command)) if item.code == code]

    assert first.fix is not None
    start = min(at for word in ("python -m", "vllm serve") if (at := first.fix.find(word)) >= 0)
    corrected = _subject(first.fix[start:])

    assert code not in {item.code for item in lint.run(corrected)}
    assert corrected.server is not None
    assert corrected.server.unknown_flags == ()
    assert corrected.server.get("model_path") == "org/target" or corrected.server.get("model") == "org/target"
    assert corrected.speculation is not None
    assert corrected.speculation.enabled


def test_an_abbreviation_is_no_misspelling() -> None:
    server = engines.parse_command(f"{SERVE} --speculative-algo EAGLE3 {DRAFT} --disable-radix-cach")

    assert server.unknown_flags == ()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("--speculative-algoritm", "--speculative-algorithm"),
        ("--mem-fraction-statik", "--mem-fraction-static"),
        ("--specualtive-num-steps", "--speculative-num-steps"),
        ("--my-own-flag-of-a-fork", None),
        ("--speculative-brand-new-idea", None),
    ],
)
def test_only_what_resembles_a_flag_is_called_a_misspelling(typed: str, meant: str | None) -> None:
    server = engines.parse_command(f"{SERVE} {typed} 3")

    assert server.unknown_flags == (typed,)
    assert server.flag_suggestions.get(typed) == meant


def test_fixes_of_commands_that_are_not_known_are_steps() -> None:
    server = dataclasses.replace(engines.parse_command(f"{EAGLE3} {CHAIN} --stream-interval 8"), argv=None)

    (found,) = [item for item in lint.run(Subject(server=server)) if item.code == "STREAM_INTERVAL_DISTORTS_ITL"]

    assert found.fix == "Compare time per output token instead, or measure with --stream-interval 1."
