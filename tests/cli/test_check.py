"""Checking a launch from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli


@pytest.fixture
def eagle3(tmp_path: Path) -> Path:
    folder = tmp_path / "my-eagle3"
    folder.mkdir()
    (folder / "config.json").write_text(
        json.dumps({"architectures": ["LlamaForCausalLMEagle3"], "hidden_size": 64, "draft_vocab_size": 100})
    )
    return folder


def launch(algorithm: str, drafter: Path) -> str:
    return (
        f"python -m sglang.launch_server --model-path target --speculative-algorithm {algorithm} "
        f"--speculative-draft-model-path {drafter} --speculative-num-steps 3 --speculative-eagle-topk 1 "
        f"--speculative-num-draft-tokens 4"
    )


def test_the_wrong_algorithm_exits_with_three_and_prints_the_corrected_command(cli: Cli, eagle3: Path) -> None:
    outcome = cli("check", "--server-cmd", launch("EAGLE", eagle3))

    assert outcome.code == 3
    assert "ALGO_MISMATCH_EAGLE_FOR_EAGLE3" in outcome.err
    assert f"fix: {launch('EAGLE3', eagle3)}" in outcome.err


def test_the_right_algorithm_exits_with_zero(cli: Cli, eagle3: Path) -> None:
    outcome = cli("check", "--server-cmd", launch("EAGLE3", eagle3))

    assert outcome.code == 0
    assert "no error found" in outcome.err


def test_json_holds_findings_server_and_drafter(cli: Cli, eagle3: Path) -> None:
    outcome = cli("check", "--json", "--server-cmd", launch("EAGLE", eagle3))

    content = json.loads(outcome.out)
    assert outcome.code == 3
    assert content["findings"][0]["code"] == "ALGO_MISMATCH_EAGLE_FOR_EAGLE3"
    assert content["server"]["typed"]["speculative_algorithm"] == "EAGLE"
    assert content["drafter"]["kind"] == "eagle3"


def test_every_code_explains_itself(cli: Cli) -> None:
    outcome = cli("check", "--explain", "ALGO_MISMATCH_EAGLE_FOR_EAGLE3")

    assert outcome.code == 0
    assert "auxiliary hidden states" in outcome.out


def test_a_misspelt_code_is_an_error_that_names_the_nearest(cli: Cli) -> None:
    outcome = cli("check", "--explain", "ALGO_MISMATCH_EAGLE3")

    assert outcome.code == 2
    assert "ALGO_MISMATCH_EAGLE_FOR_EAGLE3" in outcome.err
    assert "Traceback" not in outcome.err


def test_a_drafter_that_was_named_and_is_not_there_is_an_error(cli: Cli) -> None:
    outcome = cli("check", "--drafter", "no/such/folder")

    assert outcome.code == 1
    assert "no/such/folder" in outcome.err


def test_nothing_to_check_is_a_usage_error(cli: Cli) -> None:
    assert cli("check").code == 2
