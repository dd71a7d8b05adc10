"""The rules on checkpoints, values, sources and results: each fires on its case and on nothing near it."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import pytest

from tracker import checkpoints, engines, lint
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.domain.measurement import Latency, Measurement, Reported
from tracker.domain.server import ServerConfig, Speculation
from tracker.domain.training import Training
from tracker.domain.workload import Workload
from tracker.lint.base import Subject

SGLANG = "python -m sglang.launch_server --model-path org/target"
CHAIN = (
    f"{SGLANG} --speculative-algorithm EAGLE3 --speculative-draft-model-path org/draft --speculative-num-steps 3 "
    "--speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
)
DFLASH = f"{SGLANG} --speculative-algorithm DFLASH --speculative-draft-model-path d"
H = 64
CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "hidden_size": H,
    "vocab_size": 32,
    "draft_vocab_size": 8,
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 3, 6], "use_aux_hidden_state": True},
}
TENSORS: dict[str, Any] = {
    "fc.weight": ("BF16", (H, 3 * H)),
    "norm.weight": ("BF16", (H,)),
    "lm_head.weight": ("BF16", (8, H)),
    "d2t": ("I64", (8,)),
    "t2d": ("BOOL", (32,), bytes([1] * 8 + [0] * 24)),
}
TARGET = Checkpoint(name="target", hidden_size=H, vocab_size=32, num_hidden_layers=8, architecture="LlamaForCausalLM")


def subject(command: str = CHAIN, resolved: dict[str, Any] | None = None, **parts: Any) -> Subject:
    server = engines.parse_command(command)
    if resolved is not None:
        info = ServerConfig(engine="sglang", arguments=resolved, version=parts.pop("version", None))
        server = engines.combine([("argv", server), ("server_info", info)])
    return Subject(server=server, speculation=engines.speculation(server), **parts)


def found(code: str, given: Subject) -> Finding | None:
    return next((finding for finding in lint.run(given) if finding.code == code), None)


def codes(given: Subject) -> set[str]:
    return {finding.code for finding in lint.run(given)}


@pytest.fixture
def draft(tmp_path: Path, write_checkpoint: Any) -> Any:
    def describe(config: dict[str, Any] | None = None, without: str = "", **tensors: Any) -> Checkpoint:
        held = {**TENSORS, **tensors}
        held.pop(without, None)
        return checkpoints.describe(write_checkpoint(tmp_path / "draft", {**CONFIG, **(config or {})}, held))

    return describe


def test_a_complete_drafter_raises_nothing(draft: Any) -> None:
    assert codes(subject(drafter=draft(), target=TARGET)) == set()


@pytest.mark.parametrize(
    ("without", "config", "code"),
    [
        ("lm_head.weight", {}, "DRAFT_LM_HEAD_MISSING"),
        ("d2t", {}, "DRAFT_VOCAB_MAP_MISSING"),
        ("", {"target_hidden_size": 2 * H}, "DRAFT_EMBED_MISSING"),
        ("fc.weight", {}, "DRAFT_FC_MISSING"),
    ],
)
def test_a_missing_tensor_is_named(draft: Any, without: str, config: dict[str, Any], code: str) -> None:
    finding = found(code, subject(drafter=draft(config, without)))

    assert finding is not None
    assert finding.severity == "error"


@pytest.mark.parametrize(
    ("without", "config"),
    [
        ("lm_head.weight", {"tie_word_embeddings": True}),
        ("lm_head.weight", {"draft_vocab_size": None}),
        ("d2t", {"draft_vocab_size": 32}),
    ],
)
def test_a_tensor_that_is_not_needed_is_not_missed(draft: Any, without: str, config: dict[str, Any]) -> None:
    drafter = draft(
        config, without, **({"lm_head.weight": ("BF16", (32, H)), "t2d": ("BOOL", (32,))} if without == "d2t" else {})
    )

    assert not codes(subject(drafter=drafter)) & {"DRAFT_LM_HEAD_MISSING", "DRAFT_VOCAB_MAP_MISSING"}


def test_maps_that_contradict_each_other_void_acceptance(draft: Any) -> None:
    doubled = array("q", [0, -1, 0, 0, 0, 0, 0, 0]).tobytes()

    finding = found("DRAFT_VOCAB_MAP_INCONSISTENT", subject(drafter=draft(d2t=("I64", (8,), doubled))))

    assert finding is not None
    assert finding.voids == ("acceptance",)
    assert "taken already" in finding.message


def test_a_draft_vocabulary_above_the_targets_is_an_error(draft: Any) -> None:
    assert "DRAFT_VOCAB_ABOVE_TARGET" in codes(
        subject(drafter=Checkpoint(name="d", draft_vocab_size=64), target=TARGET)
    )


@pytest.mark.parametrize(
    ("config", "target", "code"),
    [
        ({}, None, None),
        ({"num_aux_hidden_states": 4}, None, "FC_WIDTH_MISMATCH"),
        ({"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 2, 3, 4]}}, None, "FC_WIDTH_MISMATCH"),
        ({"eagle_config": {"use_aux_hidden_state": False}}, None, "AUX_HIDDEN_STATE_OFF"),
        ({}, Checkpoint(name="t", hidden_size=2 * H), "FC_WIDTH_MISMATCH"),
    ],
)  # fmt: skip
def test_the_projection_must_fit_what_is_fed(draft: Any, config: Any, target: Any, code: str | None) -> None:
    reported = codes(subject(drafter=draft(config), target=target)) & {"FC_WIDTH_MISMATCH", "AUX_HIDDEN_STATE_OFF"}

    assert reported == ({code} if code else set())


def test_layer_ids_outside_the_target_or_where_sglang_does_not_look(draft: Any) -> None:
    outside = draft({"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 3, 9]}})
    top_level = draft({"eagle_config": None, "eagle_aux_hidden_state_layer_ids": [1, 2, 6]})
    default = draft({"eagle_config": None, "eagle_aux_hidden_state_layer_ids": [1, 3, 4]})

    assert "AUX_LAYER_OUTSIDE_TARGET" in codes(subject(drafter=outside, target=TARGET))
    assert "AUX_LAYERS_TOP_LEVEL" in codes(subject(drafter=top_level, target=TARGET))
    assert "AUX_LAYERS_TOP_LEVEL" not in codes(subject(drafter=default, target=TARGET))


def test_a_drafter_for_other_sizes_is_an_error(draft: Any) -> None:
    wider = Checkpoint(name="t", hidden_size=2 * H, vocab_size=32)
    other_tokens = Checkpoint(name="t", hidden_size=H, vocab_size=33)

    assert "TARGET_HIDDEN_MISMATCH" in codes(subject(drafter=draft(), target=wider))
    vocabulary = found("TARGET_VOCAB_MISMATCH", subject(drafter=draft(), target=other_tokens))
    assert vocabulary is not None
    assert vocabulary.severity == "error"
    small = Checkpoint(name="small", kind="model", hidden_size=8, vocab_size=33)
    standalone = subject(
        f"{SGLANG} --speculative-algorithm STANDALONE --speculative-draft-model-path s", drafter=small, target=TARGET
    )
    assert {finding.severity for finding in lint.run(standalone)} == {"warning"}


@pytest.mark.parametrize(
    ("target", "drafter", "fires"),
    [
        ("moonshotai/Kimi-K2.5", "org/kimi-k2-eagle3", True),
        ("moonshotai/Kimi-K2.6", "lightseekorg/kimi-k2.5-eagle3", True),
        ("moonshotai/Kimi-K2.5", "lightseekorg/kimi-k2.5-eagle3", False),
        ("meta-llama/Llama-3.3-70B-Instruct", "EAGLE3-LLaMA3.3-Instruct-70B", False),
        ("meta-llama/Llama-3.1-8B-Instruct", "EAGLE3-LLaMA3.3-Instruct-70B", True),
        ("Qwen/Qwen3-8B", "AngelSlim/Qwen3-8B_eagle3", False),
        ("Qwen/Qwen2.5-7B", "AngelSlim/Qwen3-8B_eagle3", True),
        ("Qwen/Qwen3-8B", "/models/draft", False),
        ("tiny/target", "tiny/eagle3-100000", False),
    ],
)
def test_generations_are_compared_by_name(target: str, drafter: str, fires: bool) -> None:
    command = (
        f"python -m sglang.launch_server --model-path {target} --speculative-algorithm EAGLE3 "
        f"--speculative-draft-model-path {drafter}"
    )

    assert ("TARGET_GENERATION_MISMATCH" in codes(subject(command))) is fires


def _triple(steps: Any = None, topk: Any = None, tokens: Any = None, more: str = "") -> str:
    parts = [("num-steps", steps), ("eagle-topk", topk), ("num-draft-tokens", tokens)]
    flags = " ".join(f"--speculative-{name} {value}" for name, value in parts if value is not None)
    return f"{SGLANG} --speculative-algorithm EAGLE3 --speculative-draft-model-path d {flags} {more}"


@pytest.mark.parametrize(
    ("command", "loads", "code"),
    [
        (_triple(2, 2, 16), (), "DRAFT_TOKENS_EXCEED_TREE"),
        (_triple(3, 4, 16), (), None),
        (_triple(8, 8, 64), (), None),
        (_triple(3), (), "SPEC_TRIPLE_INCOMPLETE"),
        (_triple(3, 1), (), "SPEC_TRIPLE_INCOMPLETE"),
        (_triple(None, 1, 4), (), "SPEC_TRIPLE_INCOMPLETE"),
        (_triple(), (), None),
        (_triple(3, 4, 16, "--page-size 64 --attention-backend flashmla"), (), "TREE_UNSUPPORTED_BACKEND"),
        (_triple(3, 4, 16, "--attention-backend trtllm_mha"), (), "TREE_UNSUPPORTED_BACKEND"),
        (_triple(3, 4, 16, "--page-size 64 --attention-backend fa3"), (), None),
        (_triple(3, 1, 4, "--attention-backend trtllm_mha --page-size 64"), (), None),
        (_triple(5, 4, 32), (32,), "TREE_AT_HIGH_CONCURRENCY"),
        (_triple(5, 4, 32), (4,), None),
        (_triple(3, 1, 4), (256,), None),
        (f"{SGLANG} --speculative-algorithm NGRAM --speculative-num-draft-tokens 16", (), None),
    ],
)
def test_the_three_numbers_must_make_a_tree(command: str, loads: tuple[int, ...], code: str | None) -> None:
    tree = {
        "DRAFT_TOKENS_EXCEED_TREE",
        "SPEC_TRIPLE_INCOMPLETE",
        "TREE_UNSUPPORTED_BACKEND",
        "TREE_AT_HIGH_CONCURRENCY",
    }

    reported = codes(subject(command, workload=Workload(concurrencies=loads))) & tree

    assert reported == ({code} if code else set())


def test_a_four_bit_cache_is_not_for_the_drafter() -> None:
    code = "DRAFT_KV_DTYPE_INHERITED_LOW_PRECISION"

    assert code in codes(subject(f"{CHAIN} --kv-cache-dtype nvfp4"))
    assert code not in codes(subject(f"{CHAIN} --kv-cache-dtype nvfp4 --speculative-draft-kv-cache-dtype fp8_e4m3"))
    assert code not in codes(subject(f"{CHAIN} --kv-cache-dtype fp8_e4m3"))
    assert code not in codes(subject(f"{SGLANG} --kv-cache-dtype nvfp4"))


def test_inherited_quantization_is_told_for_a_plain_drafter(draft: Any) -> None:
    code = "DRAFT_QUANTIZATION_INHERITED"

    assert code in codes(subject(f"{CHAIN} --quantization fp8", drafter=draft()))
    assert code not in codes(
        subject(f"{CHAIN} --quantization fp8 --speculative-draft-model-quantization unquant", drafter=draft())
    )
    assert code not in codes(subject(CHAIN, drafter=draft()))


@pytest.mark.parametrize(
    ("command", "target", "severity"),
    [
        (f"{CHAIN} --context-length 4096", None, "warning"),
        (f"{CHAIN} --context-length 2048", None, None),
        (CHAIN, None, None),
        (CHAIN, Checkpoint(name="t", max_position_embeddings=131072), "warning"),
        ("""vllm serve t --max-model-len 4096 --speculative-config '{"method":"eagle3","model":"d"}'""", None, "error"),
        ("""vllm serve t --max-model-len 2048 --speculative-config '{"method":"eagle3","model":"d"}'""", None, None),
        ("""vllm serve org/Llama-3.1-8B --speculative-config '{"method":"eagle3","model":"d"}'""", None, "error"),
    ],
)
def test_contexts_beyond_the_drafters_positions(command: str, target: Any, severity: str | None) -> None:
    drafter = Checkpoint(name="d", kind="eagle3", max_position_embeddings=2048)

    finding = found("DRAFT_MAX_POSITION_BELOW_CONTEXT", subject(command, drafter=drafter, target=target))

    assert (finding.severity if finding else None) == severity


def test_a_workload_that_fits_the_drafter_needs_no_warning() -> None:
    drafter = Checkpoint(name="d", kind="eagle3", max_position_embeddings=2048)
    short = Workload(input_tokens_mean=200, max_output_tokens=512)

    assert "DRAFT_MAX_POSITION_BELOW_CONTEXT" not in codes(
        subject(f"{CHAIN} --context-length 4096", drafter=drafter, workload=short)
    )


@pytest.mark.parametrize(
    ("name", "fires"),
    [("random", True), ("random-ids", True), ("Random_IDs", True), ("sharegpt", False), ("randomised-qa", False)],
)
def test_random_prompts_are_no_measure_of_acceptance(name: str, fires: bool) -> None:
    assert ("RANDOM_DATASET_FOR_ACCEPTANCE" in codes(subject(workload=Workload(prompt_set=name)))) is fires
    assert "RANDOM_DATASET_FOR_ACCEPTANCE" not in codes(subject(SGLANG, workload=Workload(prompt_set=name)))


def test_merged_pieces_are_no_inter_token_latency() -> None:
    assert "STREAM_INTERVAL_DISTORTS_ITL" in codes(subject(f"{CHAIN} --stream-interval 8"))
    assert "STREAM_INTERVAL_DISTORTS_ITL" not in codes(subject(f"{CHAIN} --stream-interval 1"))


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--spec-draft-n-max 64", {"DRAFT_N_MAX_TOO_LARGE", "P_MIN_DEFAULT_ZERO"}),
        ("--draft-max 64 --draft-p-min 0.6", {"DRAFT_N_MAX_TOO_LARGE"}),
        ("--draft-max 8", set()),
        ("", set()),
    ],
)
def test_windows_of_llama_cpp(flags: str, expected: set[str]) -> None:
    assert codes(subject(f"llama-server -m a.gguf -md b.gguf {flags}")) == expected


def test_embeddings_are_compared_by_a_few_rows(tmp_path: Path, write_checkpoint: Any) -> None:
    rows = b"".join(bytes([0, 0x3F + (row % 2)]) * 16 for row in range(8))
    noise = b"".join(
        bytes([0x10 * (row % 7), 0x3F if (row + column) % 3 else 0xBF]) for row in range(8) for column in range(16)
    )
    folders = {
        name: write_checkpoint(tmp_path / name, {"hidden_size": 16}, {"embed_tokens.weight": ("BF16", (8, 16), data)})
        for name, data in (("target", rows), ("same", rows), ("noise", noise), ("zeros", bytes(256)))
    }
    plain = write_checkpoint(tmp_path / "without", {"hidden_size": 16}, {"fc.weight": ("BF16", (16, 48))})

    def compared(folder: Path) -> bool | None:
        drafter = checkpoints.describe(folder)
        return checkpoints.compare_embeddings(drafter, folder, folders["target"]).embeddings_match_target

    assert compared(folders["same"]) is True
    assert compared(folders["noise"]) is False
    assert compared(folders["zeros"]) is False
    assert compared(plain) is None


@pytest.mark.parametrize(
    ("algorithm", "kind", "code"),
    [
        ("EAGLE3", "eagle", "ALGO_MISMATCH"),
        ("EAGLE3", "dflash", "ALGO_MISMATCH"),
        ("DFLASH", "eagle3", "ALGO_MISMATCH"),
        ("EAGLE3", "mtp", "ALGO_MISMATCH"),
        ("EAGLE3", "model", "ALGO_MISMATCH"),
        ("STANDALONE", "eagle3", "METHOD_DRAFT_MODEL_FOR_EAGLE3"),
        ("EAGLE3", "eagle3", None),
        ("EAGLE", "eagle", None),
        ("NEXTN", "mtp", None),
        ("NEXTN", "model", None),
        ("DFLASH", "dflash", None),
        ("STANDALONE", "model", None),
        ("EAGLE3", None, None),
        ("EAGLE3", "medusa", None),
    ],
)
def test_other_algorithms_against_other_kinds(algorithm: str, kind: Any, code: str | None) -> None:
    command = f"{SGLANG} --speculative-algorithm {algorithm} --speculative-draft-model-path d"

    reported = codes(subject(command, drafter=Checkpoint(name="d", kind=kind)))

    assert reported == ({code} if code else set())


def test_vllm_told_to_run_an_eagle3_drafter_as_a_language_model() -> None:
    command = """vllm serve t --speculative-config '{"method":"draft_model","model":"d","num_speculative_tokens":3}'"""

    finding = found("METHOD_DRAFT_MODEL_FOR_EAGLE3", subject(command, drafter=Checkpoint(name="d", kind="eagle3")))

    assert finding is not None
    assert finding.flag_after == '"method": "eagle3"'


def test_layouts_and_versions_that_cannot_be_loaded() -> None:
    speculators = Checkpoint(name="d", kind="speculators", config={"speculators_algorithm": "eagle3"})
    mla = Checkpoint(name="d", kind="eagle3", architecture="Eagle3DeepseekV2ForCausalLM")
    original = Checkpoint(name="d", kind="eagle3", architecture="LlamaForCausalLM")
    resolved = {"speculative_algorithm": "EAGLE3"}
    vllm = """vllm serve t --speculative-config '{"method":"eagle3","model":"d"}'"""

    assert "DRAFT_LAYOUT_SPECULATORS" in codes(subject(drafter=speculators))
    assert "DRAFT_LAYOUT_SPECULATORS" not in codes(subject(vllm, drafter=speculators))
    assert "DRAFT_ARCHITECTURE_NAME" in codes(subject(drafter=original))
    assert "NOT_IN_THIS_VERSION" in codes(subject(CHAIN, resolved, version="0.5.11", drafter=mla))
    assert "NOT_IN_THIS_VERSION" not in codes(subject(CHAIN, resolved, version="0.5.12.post1", drafter=mla))
    dspark = f"{SGLANG} --speculative-algorithm DSPARK"
    assert "NOT_IN_THIS_VERSION" in codes(subject(dspark, {"speculative_algorithm": "DSPARK"}, version="0.5.9"))


def test_names_that_the_engine_does_not_have() -> None:
    vllm = "vllm serve t --speculative-config "

    assert "UNKNOWN_SPEC_ALGORITHM" in codes(subject(f"{SGLANG} --speculative-algorithm EAGEL3"))
    assert "UNKNOWN_SPEC_MODEL_VALUE" in codes(subject(vllm + """'{"method":"eagle4","model":"d"}'"""))
    assert "UNKNOWN_SPEC_MODEL_VALUE" not in codes(subject(vllm + """'{"method":"deepseek_mtp"}'"""))


@pytest.mark.parametrize(
    ("config", "fires"),
    [
        ('{"method":"eagle3","model":"org/d","num_speculative_tokens":3}', True),
        ('\'{"method":"eagle3","model":"org/d","num_speculative_tokens":3}\'', False),
        ('\'{"method":"eagle3",}\'', True),
        ('"$SPEC_CONFIG"', False),
    ],
)
def test_a_configuration_whose_quotes_the_shell_took_is_an_error(config: str, fires: bool) -> None:
    finding = found("SPEC_CONFIG_NOT_JSON", subject(f"vllm serve org/t --speculative-config {config}"))

    assert (finding is not None) is fires


def test_a_single_prediction_layer_is_not_for_long_windows() -> None:
    target = Checkpoint(name="t", architecture="DeepseekV3ForCausalLM", config={"num_nextn_predict_layers": 1})

    def window(steps: int) -> set[str]:
        return codes(
            subject(
                _triple(steps, 1, steps + 1).replace("EAGLE3 --speculative-draft-model-path d", "NEXTN"), target=target
            )
        )

    assert "K_FAR_ABOVE_MTP_LAYERS" in window(7)
    assert "K_FAR_ABOVE_MTP_LAYERS" not in window(3)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (f"{SGLANG} --speculative-algorithm NGRAM --enable-dp-attention --dp 2", "SPEC_WITH_DP_ATTENTION"),
        (f"{DFLASH} --attn-dp-size 2", "SPEC_WITH_DP_ATTENTION"),
        (f"{DFLASH} --attn-dp-size 2 --enable-dp-lm-head", None),
        (f"{CHAIN} --enable-dp-attention", None),
        (f"{_triple(3, 4, 16)} --speculative-use-rejection-sampling", "REJECTION_SAMPLING_UNSUPPORTED"),
        (f"{CHAIN} --speculative-use-rejection-sampling", None),
        (f"{CHAIN} --speculative-token-map x.pt", "TOKEN_MAP_IGNORED"),
        (f"{CHAIN.replace('EAGLE3', 'EAGLE')} --speculative-token-map x.pt", None),
    ],
)  # fmt: skip
def test_settings_that_do_not_go_together(command: str, code: str | None) -> None:
    own = {"SPEC_WITH_DP_ATTENTION", "REJECTION_SAMPLING_UNSUPPORTED", "TOKEN_MAP_IGNORED"}

    assert codes(subject(command)) & own == ({code} if code else set())


def test_slow_paths_are_a_warning_with_speculation_and_a_remark_without() -> None:
    spec = found("CUDA_GRAPH_OFF", subject(f"{CHAIN} --disable-cuda-graph"))
    plain = found("CUDA_GRAPH_OFF", subject(f"{SGLANG} --disable-cuda-graph"))
    told = found("CUDA_GRAPH_OFF", Subject(speculation=Speculation(enabled=True), cuda_graph=False))

    assert [finding.severity if finding else None for finding in (spec, plain, told)] == ["warning", "info", "warning"]
    assert "CUDA_GRAPH_OFF" not in codes(subject())
    assert "OVERLAP_SCHEDULE_OFF" in codes(subject(f"{CHAIN} --disable-overlap-schedule"))
    resolved = {"speculative_algorithm": "EAGLE3", "disable_overlap_schedule": False}
    assert "OVERLAP_SCHEDULE_OFF" in codes(subject(CHAIN, resolved, version="0.5.9"))
    assert "OVERLAP_SCHEDULE_OFF" not in codes(subject(f"SGLANG_ENABLE_SPEC_V2=1 {CHAIN}", resolved, version="0.5.9"))
    assert "OVERLAP_SCHEDULE_OFF" not in codes(subject(CHAIN, resolved, version="0.5.17"))


def test_values_the_server_overwrote_and_sources_that_disagree() -> None:
    overwritten = found("FLAG_OVERWRITTEN", subject(f"{CHAIN} --page-size 1", {"page_size": 64}))
    one = engines.parse_command(f"{SGLANG} --tp 2")
    other = engines.parse_command(f"{SGLANG} --tp 4")
    differing = Subject(server=engines.combine([("argv", one), ("command_line", other)]))

    assert overwritten is not None
    assert "page_size is 64, 1 was typed" in overwritten.message
    assert "SERVER_SOURCES_DIFFER" in codes(differing)
    harmless = {"page_size": 64, "model_path": "/cache/org/target", "speculative_algorithm": "EAGLE"}
    quiet = subject(f"{SGLANG} --page-size auto --speculative-algorithm NEXTN", harmless)
    assert not codes(quiet) & {"FLAG_OVERWRITTEN", "SERVER_SOURCES_DIFFER"}


def test_a_server_that_speculates_although_its_command_does_not_ask_for_it() -> None:
    typed = engines.parse_command(f"{SGLANG} --tp 2")
    told = ServerConfig(engine="sglang", arguments={"speculative_algorithm": "EAGLE3", "tp_size": 2})

    finding = found("SERVER_SOURCES_DIFFER", Subject(server=engines.combine([("argv", typed), ("server_info", told)])))

    assert finding is not None
    assert "speculative_algorithm is (not given) (--argv) and EAGLE3 (/server_info)" in finding.message


def test_unknown_flags_are_told_before_a_launch_and_mentioned_after_one() -> None:
    typo = f"{SGLANG} --speculativ-algorithm EAGLE3"

    before, after = found("UNKNOWN_FLAG", subject(typo)), found("UNKNOWN_FLAG", subject(typo, {"tp_size": 1}))

    assert before is not None
    assert before.severity == "warning"
    assert "--speculativ-algorithm" in before.message
    assert after is not None
    assert after.severity == "info"


AT_45_MS = {"tpot_ms": Latency(mean_ms=45)}
AT_26_TOK_S = {**AT_45_MS, "requests_completed": 80, "reported_throughput_tok_s": Reported(value=26)}


def _measured(**values: Any) -> tuple[Measurement, ...]:
    return (Measurement(**{"concurrency": 1, **values}),)


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"reported_accept_length": Reported(value=4.2)}, "ACCEPT_LENGTH_ABOVE_MAXIMUM"),
        ({"reported_accept_length": Reported(value=4.05, half_width=0.05)}, None),
        ({"verify_steps": 100, "accepted_drafts": 300}, "ACCEPT_LENGTH_AT_MAXIMUM"),
        ({"verify_steps": 100, "accepted_drafts": 290}, None),
        ({**AT_45_MS, "reported_throughput_tok_s": Reported(value=26)}, "THROUGHPUT_ABOVE_LATENCY_LIMIT"),
        ({**AT_45_MS, "reported_throughput_tok_s": Reported(value=22)}, None),
        ({**AT_26_TOK_S, "extra": {"streamed_requests": 4.0}}, None),
        ({**AT_26_TOK_S, "extra": {"streamed_requests": 80.0}}, "THROUGHPUT_ABOVE_LATENCY_LIMIT"),
    ],
)  # fmt: skip
def test_figures_that_cannot_be_true_at_once(values: dict[str, Any], code: str | None) -> None:
    own = {"ACCEPT_LENGTH_ABOVE_MAXIMUM", "ACCEPT_LENGTH_AT_MAXIMUM", "THROUGHPUT_ABOVE_LATENCY_LIMIT"}

    assert codes(subject(measurements=_measured(**values))) & own == ({code} if code else set())


@pytest.mark.parametrize(
    ("histogram", "fires"),
    [((30, 30, 40, 0), True), ((40, 30, 20, 10), False), ((95, 4, 1, 0), False), ((3, 3, 4, 0), False)],
)
def test_a_cliff_in_acceptance_by_position(histogram: tuple[int, ...], fires: bool) -> None:
    assert ("POSITION_CLIFF" in codes(subject(measurements=_measured(accepted_histogram=histogram)))) is fires


@pytest.mark.parametrize(("accuracy", "length", "fires"), [(0.7, 1.1, True), (0.7, 2.1, False), (0.3, 1.1, False)])
def test_good_in_training_and_useless_when_served(accuracy: float, length: float, fires: bool) -> None:
    given = subject(
        training=Training(validation_position_accuracy=(accuracy, 0.5)),
        measurements=_measured(reported_accept_length=Reported(value=length)),
    )

    assert ("TRAINING_SERVING_GAP" in codes(given)) is fires


def test_short_runs_and_warm_caches_are_mentioned() -> None:
    short = subject(measurements=_measured(output_tokens=136))
    warm = subject(measurements=_measured(output_tokens=9000, input_tokens=100, cached_input_tokens=60))

    assert "SAMPLE_TOO_SMALL" in codes(short)
    assert codes(warm) == {"PREFIX_CACHE_WARM"}


def test_rope_differences_are_worth_a_look() -> None:
    drafter = Checkpoint(name="d", kind="eagle3", config={"rope_theta": 10000.0})
    same = Checkpoint(name="t", config={"rope_parameters": {"rope_theta": 10000.0}})
    other = Checkpoint(name="t", config={"rope_theta": 500000.0})
    scaled = Checkpoint(name="t", config={"rope_theta": 10000.0, "rope_scaling": {"rope_type": "yarn"}})

    assert "ROPE_DIFFERS" not in codes(subject(drafter=drafter, target=same))
    assert "ROPE_DIFFERS" in codes(subject(drafter=drafter, target=other))
    assert "ROPE_DIFFERS" in codes(subject(drafter=drafter, target=scaled))


def test_the_real_quantization_lists_reach_the_description(tmp_path: Path, write_checkpoint: Any) -> None:
    quantization = {"quant_method": "fp8", "modules_to_not_convert": ["lm_head"], "weight_block_size": [128, 128]}

    found_ = checkpoints.describe(
        write_checkpoint(tmp_path / "t", {"hidden_size": H, "quantization_config": quantization})
    )

    assert found_.config["quantization_config"] == {"quant_method": "fp8", "modules_to_not_convert": ["lm_head"]}


def test_a_version_of_thousands_of_digits_is_not_known() -> None:
    config = ServerConfig(engine="sglang", version="9" * 5000, sources=("server_info",))

    assert lint.run(Subject(server=config)) is not None
