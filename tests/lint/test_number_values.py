"""Words where a number belongs are told before a launch; numbers in any spelling and shell variables are not."""

from __future__ import annotations

import pytest

from tracker import engines, lint
from tracker.domain.finding import Finding
from tracker.domain.server import ServerConfig
from tracker.lint.base import Subject

SGLANG = "python -m sglang.launch_server --model-path org/target"
VLLM = "vllm serve org/target"


def found(command: str) -> list[Finding]:
    subject = Subject(server=engines.parse_command(command))
    return [finding for finding in lint.run(subject) if finding.code == "FLAG_NOT_A_NUMBER"]


@pytest.mark.parametrize(
    ("command", "flag", "wants"),
    [
        (f"{SGLANG} --speculative-num-steps drei", "--speculative-num-steps", "a whole number"),
        (f"{SGLANG} --speculative-num-steps 3.5", "--speculative-num-steps", "a whole number"),
        (f"{SGLANG} --speculative-eagle-topk=one", "--speculative-eagle-topk", "a whole number"),
        (f"{SGLANG} --tp two", "--tp-size", "a whole number"),
        (f"{SGLANG} --mem-fraction-static 80%", "--mem-fraction-static", "a number"),
        (f"{VLLM} --tensor-parallel-size two", "--tensor-parallel-size", "a whole number"),
        (f"{VLLM} --gpu-memory-utilization high", "--gpu-memory-utilization", "a number"),
    ],
)
def test_a_word_where_a_number_belongs_is_an_error(command: str, flag: str, wants: str) -> None:
    (finding,) = found(command)

    assert (finding.severity, finding.confidence) == ("error", "certain")
    assert finding.message.startswith(f"{flag} is ")
    assert wants in finding.message


@pytest.mark.parametrize(
    "command",
    [
        f"{SGLANG} --speculative-num-steps 3 --tp-size 8 --mem-fraction-static .85 --cuda-graph-max-bs 32",
        f"{SGLANG} --tp-size $GPUS --speculative-num-steps ${{STEPS}}",
        f"{VLLM} --max-num-batched-tokens 8k --tensor-parallel-size 2 --gpu-memory-utilization 0.9",
        f"{VLLM} --max-model-len auto",
    ],
)
def test_numbers_and_shell_variables_are_left_alone(command: str) -> None:
    assert found(command) == []


def test_a_server_that_answered_took_its_values() -> None:
    server = ServerConfig(engine="sglang", typed={"tp_size": "two"}, arguments={"tp_size": 2})

    assert not [item for item in lint.run(Subject(server=server)) if item.code == "FLAG_NOT_A_NUMBER"]
