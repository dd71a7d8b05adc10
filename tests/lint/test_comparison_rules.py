"""Rules that compare: log and drafter, training and serving, server and baseline, version and table."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from tracker import checkpoints, engines, lint
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.measurement import Measurement
from tracker.domain.server import ServerConfig, StartupLog
from tracker.domain.training import Training
from tracker.domain.workload import Workload
from tracker.lint.base import Subject

EAGLE3 = Checkpoint(name="my-eagle3", kind="eagle3", aux_layer_ids=(2, 30, 58))
SERVE = "python -m sglang.launch_server --model-path org/target --speculative-algorithm EAGLE3 "
CHAIN = "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
DRAFT = "--speculative-draft-model-path org/draft "
VLLM = 'vllm serve org/target --speculative-config \'{"method":"eagle3","model":"org/d","num_speculative_tokens":3}\''


def _subject(command: str = SERVE + DRAFT + CHAIN, **facts: Any) -> Subject:
    parsed = engines.parse_command(command)
    changes = {key: facts.pop(key) for key in ("version", "startup") if key in facts}
    server = ServerConfig(
        **{name: getattr(parsed, name) for name in ServerConfig.__dataclass_fields__ if name not in changes}, **changes
    )
    return Subject(server=server, speculation=engines.speculation(server), **facts)


def _codes(subject: Subject) -> set[str]:
    return {finding.code for finding in lint.run(subject)}


def _log(**facts: Any) -> StartupLog:
    return StartupLog(**{"is_whole": True, **facts})


@pytest.mark.parametrize(
    ("command", "version", "startup", "fires"),
    [
        (SERVE + DRAFT + CHAIN, None, _log(decode_lines=9, accept_length_mean=1.1), True),
        (SERVE + DRAFT + CHAIN, None, _log(decode_lines=9, accept_length_mean=2.4), False),
        (SERVE + DRAFT + CHAIN, None, _log(), False),
        (SERVE + DRAFT + CHAIN, None, _log(is_whole=False, decode_lines=9, accept_length_mean=1.1), False),
        (SERVE + DRAFT + CHAIN, None, _log(decode_lines=1, accept_length_mean=1.1), False),
        (SERVE + DRAFT + CHAIN, None, _log(captured_layers=(2, 30, 58), decode_lines=9, accept_length_mean=1.1), False),
        (VLLM, "0.11.2", _log(), True),
        (VLLM, "0.9.2", _log(), False),
        (VLLM, None, _log(), False),
        (VLLM, "0.11.2", _log(captured_layers=(2, 30, 58)), False),
    ],
)
def test_a_log_without_captured_layers_is_told_only_where_that_means_something(
    command: str, version: str | None, startup: StartupLog, fires: bool
) -> None:
    subject = _subject(command, version=version, startup=startup, drafter=EAGLE3)

    assert ("EAGLE3_CAPTURE_NOT_LOGGED" in _codes(subject)) is fires


@pytest.mark.parametrize(
    ("captured", "fires"), [((2, 30, 58), False), ((3, 31, 59), False), ((2, 31, 58), True), ((1, 29, 57), True)]
)
def test_captured_layers_must_be_the_drafters(captured: tuple[int, ...], fires: bool) -> None:
    subject = _subject(startup=_log(captured_layers=captured), drafter=EAGLE3)

    assert ("CAPTURED_LAYERS_DIFFER" in _codes(subject)) is fires


def test_no_recorded_log_of_a_healthy_server_raises_an_alarm_and_the_wrong_flag_is_certain_from_the_log_alone(
    shared_data: Path,
) -> None:
    folders = sorted(path.parent for path in (shared_data / "h200-tiny-llama").glob("*/server.log"))
    assert len(folders) == 9
    for folder in folders:
        server = engines.parse_log((folder / "server.log").read_text())
        assert server.startup is not None
        assert server.startup.is_whole
        speculation = engines.speculation(server)
        drafter = None
        if speculation is not None and speculation.enabled:
            assert server.startup.loaded_architectures == ("LlamaForCausalLM", "LlamaForCausalLMEagle3")
            drafter = checkpoints.describe(shared_data / "h200-tiny-llama" / "checkpoints" / "eagle3-100000")
        for described in (None,) if drafter is None else (None, drafter):
            findings = lint.run(Subject(server=server, speculation=speculation, drafter=described))
            alarms = [finding for finding in findings if finding.severity != "info"]
            if folder.name.startswith("eagle-wrong-flag"):
                assert [finding.code for finding in alarms] == ["ALGO_MISMATCH_EAGLE_FOR_EAGLE3"]
                assert alarms[0].confidence == "certain"
                assert "1.00" in alarms[0].message
            else:
                assert alarms == []


@pytest.mark.parametrize(
    ("training", "workload", "fires"),
    [
        (Training(template_digest="a" * 64), Workload(template_digest="b" * 64), True),
        (Training(template_digest="a" * 64), Workload(template_digest="a" * 64), False),
        (Training(template_digest="a" * 64), Workload(), False),
        (Training(thinking=False), Workload(thinking=True), True),
        (Training(thinking=True), Workload(thinking=True), False),
        (Training(), Workload(thinking=True), False),
        (Training(hyperparameters={"enable_thinking": True}), Workload(thinking=False), True),
        (Training(hyperparameters={"enable_thinking": "auto"}), Workload(thinking=False), False),
    ],
)
def test_templates_and_thinking_of_training_and_serving_are_compared(
    training: Training, workload: Workload, fires: bool
) -> None:
    assert ("TEMPLATE_OR_THINKING_MISMATCH" in _codes(_subject(training=training, workload=workload))) is fires


@pytest.mark.parametrize(
    ("training", "workload", "confidence"),
    [
        (Training(data_digest="d"), Workload(prompt_set_digest="d"), "certain"),
        (Training(data_digest="d"), Workload(prompt_set_digest="e"), None),
        (Training(), Workload(), None),
        (Training(data_name="ShareGPT+UltraChat"), Workload(prompt_set="sharegpt"), "low"),
        (Training(data_name="/data/sharegpt.jsonl"), Workload(prompt_set="ShareGPT"), "low"),
        (Training(data_name="sharegpt"), Workload(prompt_set="mt-bench"), None),
        (Training(data_name="train"), Workload(prompt_set="train"), None),
        (Training(data_name="custom mix"), Workload(prompt_set="custom"), None),
    ],
)
def test_prompts_of_the_training_data_are_no_test(
    training: Training, workload: Workload, confidence: str | None
) -> None:
    found = [item for item in lint.run(_subject(training=training, workload=workload)) if "OVERLAPS" in item.code]

    assert [item.confidence for item in found] == ([] if confidence is None else [confidence])
    assert [item.voids for item in found] == ([] if confidence is None else [("acceptance",) * (confidence != "low")])


KIMI = Checkpoint(name="Kimi-K2.5", architecture="KimiK25ForConditionalGeneration")
LLAMA = Checkpoint(name="Llama-3.1-8B", architecture="LlamaForCausalLM")
V2 = "SGLANG_ENABLE_SPEC_V2=1 "
DP = " --enable-dp-attention --dp 8"
OUTPUTS = Checkpoint(name="d", kind="eagle3", aux_layer_ids=(1, 29, 57))


@pytest.mark.parametrize(
    ("command", "version", "target", "drafter", "fires"),
    [
        (SERVE + DRAFT + CHAIN, "0.5.12", KIMI, EAGLE3, True),
        (SERVE + DRAFT + CHAIN, "0.5.9.post1", KIMI, EAGLE3, True),
        (SERVE + DRAFT + CHAIN, "0.5.13", KIMI, EAGLE3, False),
        (SERVE + DRAFT + CHAIN, "0.5.12", KIMI, OUTPUTS, False),
        (SERVE + DRAFT + CHAIN, "0.5.12", LLAMA, EAGLE3, False),
        (SERVE + DRAFT + CHAIN, None, KIMI, EAGLE3, False),
        (V2 + SERVE + DRAFT + CHAIN + DP, "0.5.7", LLAMA, OUTPUTS, True),
        (V2 + SERVE + DRAFT + CHAIN + DP, "0.5.8", LLAMA, OUTPUTS, False),
        (SERVE + DRAFT + CHAIN + DP, "0.5.7", LLAMA, OUTPUTS, False),
        (V2 + SERVE + DRAFT + CHAIN, "0.5.7", LLAMA, OUTPUTS, False),
        (SERVE.replace("org/target", "Qwen/Qwen3-VL-8B") + DRAFT + CHAIN, "0.5.5.post3", None, None, True),
        (SERVE.replace("org/target", "Qwen/Qwen3-VL-8B") + DRAFT + CHAIN, "0.5.4", None, None, False),
        (SERVE.replace("org/target", "Qwen/Qwen3-8B") + DRAFT + CHAIN, "0.5.5.post3", None, None, False),
        (VLLM, "0.17.1", None, None, True),
        (VLLM, "0.20.0", None, None, False),
    ],
)
def test_known_regressions_are_told_for_their_versions_and_conditions_only(
    command: str, version: str | None, target: Any, drafter: Any, fires: bool
) -> None:
    subject = _subject(command, version=version, target=target, drafter=drafter)

    assert ("ENGINE_REGRESSION" in _codes(subject)) is fires


BASE = "python -m sglang.launch_server --model-path org/target"


@pytest.mark.parametrize(
    ("baseline", "names"),
    [
        (BASE, []),
        (f"{BASE} --port 30001 --host 0.0.0.0 --api-key x --log-level warning", []),
        (f"{BASE} --enable-torch-compile", ["enable_torch_compile"]),
        (f"{BASE} --max-running-requests 64 --tp 2", ["max_running_requests", "tp_size"]),
        (f"NCCL_ALGO=Tree {BASE}", ["NCCL_ALGO"]),
        ("vllm serve org/target", ["engine"]),
    ],
)
def test_a_baseline_may_differ_in_speculation_only(baseline: str, names: list[str]) -> None:
    subject = _subject(SERVE + DRAFT + CHAIN + " --port 30000", baseline=engines.parse_command(baseline))

    found = [item.message for item in lint.run(subject) if item.code == "BASELINE_FLAGS_DIFFER"]

    assert len(found) == (1 if names else 0)
    assert all(name in found[0] for name in names)


def _cell(speed: float, length: float | None = None, load: int = 8) -> Measurement:
    steps = None if length is None else 1000
    accepted = None if length is None else round((length - 1) * 1000)
    return Measurement(
        concurrency=load, output_tokens=round(speed * 10), wall_s=10.0, verify_steps=steps, accepted_drafts=accepted
    )


@pytest.mark.parametrize(
    ("ours", "beside", "fires"),
    [
        (_cell(800, 3.2), {"before": 1000.0}, True),
        (_cell(800, 3.2), {"before": 990.0, "after": 1010.0}, True),
        (_cell(1200, 3.2), {"before": 1000.0}, False),
        (_cell(990, 3.2), {"after": 1000.0}, False),
        (_cell(800, 1.4), {"before": 1000.0}, False),
        (_cell(800, 3.2), {}, False),
        (_cell(800), {"before": 1000.0}, False),
    ],
)
def test_healthy_acceptance_and_poor_speed_beside_a_sweeps_baseline_are_called_a_speed_problem(
    ours: Measurement, beside: dict[str, float], fires: bool
) -> None:
    extra = {f"baseline_{when}_output_throughput_tok_s": speed for when, speed in beside.items()}
    subject = _subject(measurements=(dataclasses.replace(ours, extra=extra),))

    found = [item for item in lint.run(subject) if item.code == "SPEED_NOT_ACCEPTANCE"]

    assert len(found) == (1 if fires else 0)
    assert all("A step costs 4.00 plain ones" in item.message for item in found)
