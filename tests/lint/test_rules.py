"""Each rule: when it fires, when it stays silent."""

from __future__ import annotations

from typing import Any

import pytest

from tracker import checkpoints, engines, lint
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, Reported
from tracker.domain.server import ServerConfig, Speculation
from tracker.domain.workload import Workload
from tracker.errors import UsageError
from tracker.lint.base import Subject

SGLANG = "python -m sglang.launch_server --model-path org/target"
CHAIN = "--speculative-draft-model-path org/draft --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"  # noqa: E501 - one command
EAGLE3 = checkpoints.from_facts("draft", {"hidden_size": 7168, "fc_input_width": 21504, "draft_vocab_size": 32000})

EAGLE1 = Checkpoint(name="d", kind="eagle", fc_input_width=8192, hidden_size=4096)


def subject(command: str, resolved: dict[str, Any] | None = None, **parts: Any) -> Subject:
    server = engines.parse_command(command)
    if resolved is not None:
        info = ServerConfig(engine="sglang", arguments=resolved)
        server = engines.combine([("argv", server), ("server_info", info)])
    return Subject(server=server, speculation=engines.speculation(server), **parts)


def found(code: str, given: Subject) -> Finding | None:
    return next((finding for finding in lint.run(given) if finding.code == code), None)


def cells(*lengths: float, steps: int | None = 1000) -> tuple[Measurement, ...]:
    return tuple(
        Measurement(concurrency=load, reported_accept_length=Reported(value=length), verify_steps=steps)
        for load, length in enumerate(lengths, 1)
    )


ALGO = "ALGO_MISMATCH_EAGLE_FOR_EAGLE3"


@pytest.mark.parametrize("algorithm", ["EAGLE", "eagle", "NEXTN"])
@pytest.mark.parametrize(
    "drafter",
    [
        Checkpoint(name="d", architecture="LlamaForCausalLMEagle3"),
        Checkpoint(name="d", architecture="Eagle3DeepseekV2ForCausalLM"),
        Checkpoint(name="d", architecture="LlamaForCausalLM", fc_input_width=21504, hidden_size=7168),
        Checkpoint(name="d", architecture="LlamaForCausalLM", has_draft_vocab_map=True),
        EAGLE3,
    ],
)
def test_each_kind_of_evidence_for_eagle3_makes_the_flag_an_error(algorithm: str, drafter: Checkpoint) -> None:
    finding = found(ALGO, subject(f"{SGLANG} --speculative-algorithm {algorithm} {CHAIN}", drafter=drafter))

    assert finding is not None
    assert (finding.severity, finding.confidence) == ("error", "certain")
    assert finding.flag_before == f"--speculative-algorithm {algorithm.upper()}"
    assert finding.fix is not None
    assert "--speculative-algorithm EAGLE3 " in finding.fix


@pytest.mark.parametrize(
    ("command", "drafter"),
    [
        (f"{SGLANG} --speculative-algorithm EAGLE3 {CHAIN}", EAGLE3),
        (f"{SGLANG} --speculative-algorithm EAGLE {CHAIN}", EAGLE1),
        (f"{SGLANG} --speculative-algorithm NEXTN {CHAIN}", Checkpoint(name="d", kind="mtp")),
        (f"{SGLANG} --speculative-algorithm EAGLE {CHAIN}", Checkpoint(name="eagle3-in-name", kind="eagle")),
        (f"{SGLANG} --speculative-algorithm EAGLE {CHAIN}", Checkpoint(name="EAGLE-llama3-8b")),
        (f"{SGLANG} --speculative-algorithm EAGLE {CHAIN}", Checkpoint(name="qwen-eagle-3b")),
        (f"{SGLANG} --speculative-algorithm EAGLE {CHAIN}", None),
        (SGLANG, EAGLE3),
    ],
)  # fmt: skip
def test_a_fitting_algorithm_is_no_mismatch(command: str, drafter: Checkpoint | None) -> None:
    assert found(ALGO, subject(command, drafter=drafter)) is None


def test_a_name_alone_is_a_warning_and_a_result_beside_it_an_error() -> None:
    command = f"{SGLANG} --speculative-algorithm EAGLE --speculative-draft-model-path lightseekorg/kimi-k2.5-eagle3"

    guessed = found(ALGO, subject(command))
    confirmed = found(ALGO, subject(command, measurements=cells(1.0)))
    healthy = found(ALGO, subject(command, measurements=cells(2.1)))

    assert guessed is not None
    assert (guessed.severity, guessed.confidence, guessed.voids) == ("warning", "medium", ())
    assert confirmed is not None
    assert (confirmed.severity, confirmed.confidence) == ("error", "high")
    assert "cause and result fit" in confirmed.message
    assert healthy is not None
    assert healthy.severity == "warning"


@pytest.mark.parametrize(
    ("typed", "corrected"),
    [
        ("--speculative-algo EAGLE --tp 8", "--speculative-algo EAGLE3 --tp 8"),
        ("--speculative-algorithm=EAGLE --tp 8", "--speculative-algorithm=EAGLE3 --tp 8"),
        ("--tp 8 --speculative-algorithm EAGLE", "--tp 8 --speculative-algorithm EAGLE3"),
    ],
)
def test_the_corrected_command_changes_that_flag_and_no_other_word(typed: str, corrected: str) -> None:
    finding = found(ALGO, subject(f"{SGLANG} {typed} --speculative-draft-model-path 'a b'", drafter=EAGLE3))

    assert finding is not None
    assert finding.fix == f"{SGLANG} {corrected} --speculative-draft-model-path 'a b'"


def test_a_masked_home_folder_stays_one_that_the_shell_fills_in() -> None:
    server = engines.for_record(
        engines.parse_command(
            f"{SGLANG} --speculative-algorithm EAGLE --speculative-draft-model-path '/home/alice/a b'"
        )
    )

    finding = found(ALGO, Subject(server=server, speculation=engines.speculation(server), drafter=EAGLE3))

    assert finding is not None
    assert finding.fix == f"{SGLANG} --speculative-algorithm EAGLE3 --speculative-draft-model-path ~/'a b'"


def test_without_a_command_the_fix_is_the_flag() -> None:
    given = Subject(speculation=Speculation(enabled=True, algorithm="EAGLE"), drafter=EAGLE3)

    finding = found(ALGO, given)

    assert finding is not None
    assert finding.fix == "--speculative-algorithm EAGLE3"


def test_vllm_gets_its_own_words() -> None:
    command = """vllm serve t --speculative-config '{"method":"eagle","model":"d","num_speculative_tokens":3}'"""

    finding = found(ALGO, subject(command, drafter=EAGLE3))

    assert finding is not None
    assert finding.flag_after == '"method": "eagle3"'


SPEC = f"{SGLANG} --speculative-algorithm EAGLE3 {CHAIN}"


@pytest.mark.parametrize(
    ("measurements", "code", "severity", "confidence"),
    [
        (cells(1.0), "ACCEPT_LENGTH_NEAR_ONE", "error", "high"),
        (cells(2.5, 1.04), "ACCEPT_LENGTH_NEAR_ONE", "error", "high"),
        (cells(1.0, steps=None), "ACCEPT_LENGTH_NEAR_ONE", "error", "medium"),
        (cells(1.05), "ACCEPT_LENGTH_LOW", "warning", "high"),
        (cells(1.19), "ACCEPT_LENGTH_LOW", "warning", "high"),
    ],
)
def test_acceptance_near_one_is_graded(measurements: Any, code: str, severity: str, confidence: str) -> None:
    finding = found(code, subject(SPEC, measurements=measurements))

    assert finding is not None
    assert (finding.severity, finding.confidence) == (severity, confidence)


@pytest.mark.parametrize(
    ("command", "measurements"),
    [
        (SPEC, cells(1.2)),
        (SPEC, cells(1.0, steps=39)),
        (SPEC, ()),
        (SGLANG, cells(1.0)),
        (f"SGLANG_SIMULATE_ACC_LEN=1.0 {SPEC}", cells(1.0)),
    ],
)
def test_acceptance_is_left_alone_where_nothing_can_be_said(command: str, measurements: Any) -> None:
    codes = {finding.code for finding in lint.run(subject(command, measurements=measurements))}

    assert not codes & {"ACCEPT_LENGTH_NEAR_ONE", "ACCEPT_LENGTH_LOW"}


def test_simulated_acceptance_voids_acceptance() -> None:
    finding = found("SYNTHETIC_ACCEPTANCE", subject(f"SGLANG_SIMULATE_ACC_LEN=2.5 {SPEC}"))

    assert finding is not None
    assert finding.voids == ("acceptance",)
    assert found("SYNTHETIC_ACCEPTANCE", subject(SPEC)) is None


def test_random_draft_weights_are_an_error_and_a_dummy_target_of_a_baseline_is_none() -> None:
    code = "DRAFT_WEIGHTS_DUMMY"

    assert found(code, subject(f"{SPEC} --speculative-draft-load-format dummy")) is not None
    assert found(code, subject(f"{SPEC} --load-format dummy")) is not None
    assert found(code, subject(f"{SPEC} --load-format dummy --speculative-draft-load-format auto")) is None
    assert found(code, subject(f"{SGLANG} --load-format dummy")) is None


def test_random_target_weights_are_told_and_take_no_step_time_away() -> None:
    finding = found("TARGET_WEIGHTS_DUMMY", subject(f"{SGLANG} --load-format dummy"))

    assert finding is not None
    assert (finding.severity, finding.voids) == ("info", ())
    assert found("TARGET_WEIGHTS_DUMMY", subject(f"{SPEC} --speculative-draft-load-format dummy")) is None


LLAMA = Checkpoint(name="t", architecture="LlamaForCausalLM")
DEEPSEEK = Checkpoint(name="t", architecture="DeepseekV3ForCausalLM", config={"num_nextn_predict_layers": 1})


@pytest.mark.parametrize(
    ("command", "target", "fires"),
    [
        (f"{SGLANG} --speculative-algorithm EAGLE3", None, True),
        (f"{SGLANG} --speculative-algorithm STANDALONE", None, True),
        (f"{SGLANG} --speculative-algorithm EAGLE", LLAMA, True),
        (f"{SGLANG} --speculative-algorithm EAGLE", DEEPSEEK, False),
        (f"{SGLANG} --speculative-algorithm EAGLE", None, False),
        (f"{SGLANG} --speculative-algorithm NGRAM", LLAMA, False),
        (SPEC, None, False),
        ("""vllm serve t --speculative-config '{"method":"eagle3","num_speculative_tokens":3}'""", None, True),
        ("""vllm serve t --speculative-config '{"method":"mtp","num_speculative_tokens":1}'""", LLAMA, False),
        ("llama-server -m t --spec-type draft-mtp", None, False),
    ],
)
def test_a_missing_draft_path_is_found_where_one_is_needed(command: str, target: Any, fires: bool) -> None:
    assert (found("DRAFT_PATH_MISSING", subject(command, target=target)) is not None) is fires


def _triple(steps: int, topk: int, tokens: int) -> str:
    return (
        f"{SGLANG} --speculative-algorithm EAGLE3 --speculative-draft-model-path d --speculative-num-steps {steps} "
        f"--speculative-eagle-topk {topk} --speculative-num-draft-tokens {tokens}"
    )


def test_a_chain_with_the_wrong_number_of_tokens_is_an_error_until_the_server_put_it_right() -> None:
    code = "TOPK1_DRAFT_TOKENS_NE_STEPS_PLUS_1"
    resolved = {
        "speculative_algorithm": "EAGLE3", "speculative_num_steps": 4, "speculative_eagle_topk": 1,
        "speculative_num_draft_tokens": 5,
    }  # fmt: skip

    before = found(code, subject(_triple(4, 1, 24)))
    after = found(code, subject(_triple(4, 1, 24), resolved))

    assert before is not None
    assert (before.severity, before.flag_after) == ("error", "--speculative-num-draft-tokens 5")
    assert after is not None
    assert after.severity == "warning"
    assert found(code, subject(_triple(4, 1, 5))) is None
    assert found(code, subject(_triple(4, 4, 16))) is None
    assert found(code, subject(f"{SGLANG} --speculative-algorithm EAGLE3 --speculative-draft-model-path d")) is None


@pytest.mark.parametrize(
    ("flags", "loads", "code"),
    [
        ("--cuda-graph-max-bs 2", (20,), "CUDA_GRAPH_MAX_BS_BELOW_CONCURRENCY"),
        ("--cuda-graph-bs 1 2 4", (1, 8), "CUDA_GRAPH_MAX_BS_BELOW_CONCURRENCY"),
        ("--cuda-graph-max-bs 1", (), "CUDA_GRAPH_MAX_BS_LOW"),
        ("--cuda-graph-max-bs 16 --dp 2", (32,), None),
        ("--cuda-graph-max-bs 1", (1,), None),
        ("--cuda-graph-max-bs 32", (32,), None),
        ("--cuda-graph-max-bs 128", (), None),
        ("--cuda-graph-max-bs 1 --disable-cuda-graph", (8,), None),
        ("", (512,), None),
    ],
)
def test_graph_limits_are_held_against_the_load(flags: str, loads: tuple[int, ...], code: str | None) -> None:
    findings = lint.run(subject(f"{SGLANG} {flags}", workload=Workload(concurrencies=loads)))

    assert [item.code for item in findings if item.code.startswith("CUDA_GRAPH_MAX_BS")] == ([code] if code else [])


def test_the_reset_of_running_requests_is_told_and_is_a_warning_where_it_bites() -> None:
    code = "MAX_RUNNING_REQUESTS_RESET"
    resolved = {"speculative_algorithm": "EAGLE3", "max_running_requests": 48}

    quiet = found(code, subject(SPEC, resolved, workload=Workload(concurrencies=(1, 32))))
    biting = found(code, subject(SPEC, resolved, workload=Workload(concurrencies=(64,))))

    assert quiet is not None
    assert quiet.severity == "info"
    assert biting is not None
    assert biting.severity == "warning"
    assert found(code, subject(f"{SPEC} --max-running-requests 48", resolved)) is None
    assert found(code, subject(SGLANG, {"speculative_algorithm": None, "max_running_requests": 48})) is None
    capped = subject(f"{SGLANG} --max-running-requests 16", workload=Workload(concurrencies=(64,)))
    assert found("MAX_RUNNING_REQUESTS_BELOW_CONCURRENCY", capped) is not None


def test_thresholds_below_one_are_no_longer_lossless() -> None:
    code = "ACCEPT_THRESHOLD_BELOW_ONE"

    finding = found(code, subject(f"{SPEC} --speculative-accept-threshold-single 0.8"))

    assert finding is not None
    assert "--speculative-accept-threshold-single 0.8" in finding.message
    assert found(code, subject(f"{SPEC} --speculative-accept-threshold-single 1.0")) is None


def test_errors_come_first_and_the_order_is_stable() -> None:
    given = subject(f"{_triple(4, 1, 24)} --cuda-graph-max-bs 1 --speculative-accept-threshold-acc 0.5")

    findings = lint.run(given)

    assert [finding.severity for finding in findings] == sorted(
        (f.severity for f in findings), key=["error", "warning", "info"].index
    )
    assert findings == lint.run(given)


def test_every_code_is_explained_with_its_source() -> None:
    for code in lint.codes():
        text = lint.explain(code.lower())
        assert text.startswith(f"{code}\n\n")
        assert "Source" in text
        assert len(text) > 200


@pytest.mark.parametrize(
    ("typed", "meant"), [("EAGLE_FOR_EAGLE3", ALGO), ("STREAM_INTERVAL", "STREAM_INTERVAL_DISTORTS_ITL")]
)
def test_an_unknown_code_gets_a_suggestion(typed: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"no rule reports the code '{typed}'") as caught:
        lint.explain(typed)

    assert meant in str(caught.value)


def test_nothing_is_found_where_nothing_is_known() -> None:
    assert lint.run(Subject()) == ()


def test_no_code_belongs_to_two_rules() -> None:
    listed = [code for rule in lint.rules() for code in rule.codes]

    assert len(listed) == len(set(listed))
