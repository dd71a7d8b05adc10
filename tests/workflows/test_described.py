"""Results held against what is said about their server, by whatever option it is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli, cli

__all__ = ["cli"]

INFO = {
    "model_path": "m", "tp_size": 1, "version": "0.5.17", "speculative_algorithm": "EAGLE3",
    "speculative_draft_model_path": "d-eagle3", "speculative_num_steps": 3, "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 4, "internal_states": [{}],
}  # fmt: skip
STEPS = {"spec_verify_ct": 40, "spec_num_correct_drafts": 60, "spec_num_proposed_drafts": 120}


def _codes(cli: Cli, tmp_path: Path, counts: dict[str, int], info: dict[str, Any], *, option: bool) -> dict[str, str]:
    """Return the messages of the contradictions found, by code."""
    answers, described = tmp_path / "answers.jsonl", tmp_path / "info.json"
    meta = {"prompt_tokens": 10, "completion_tokens": 100, "finish_reason": {"type": "length"}, **counts}
    answers.write_text((json.dumps({"concurrency": 1, "meta_info": meta}) + "\n") * 20)
    described.write_text(json.dumps(info))
    given = ["--server-info", str(described)] if option else [str(described)]
    result = cli("log-run", str(answers), *given, "--dry-run", "--json")
    (run,) = json.loads(result.out)
    return {item["code"]: item["message"] for item in run["record"]["findings"] if "SOURCES_DISAGREE" in item["code"]}


@pytest.mark.parametrize("option", [False, True], ids=["input", "option"])
def test_answers_without_verify_steps_are_of_no_server_that_speculates(cli: Cli, tmp_path: Path, option: bool) -> None:
    found = _codes(cli, tmp_path, {}, INFO, option=option)

    assert "None of the 20 answers carries verify steps" in found["SPECULATION_SOURCES_DISAGREE"]


@pytest.mark.parametrize("option", [False, True], ids=["input", "option"])
def test_another_number_of_drafts_a_step_is_another_server(cli: Cli, tmp_path: Path, option: bool) -> None:
    info = {**INFO, "speculative_num_steps": 2, "speculative_num_draft_tokens": 3}

    found = _codes(cli, tmp_path, STEPS, info, option=option)

    assert "2400 drafts over 800 verify steps, 3.00 a step" in found["DRAFTS_SOURCES_DISAGREE"]
    assert "proposes 2" in found["DRAFTS_SOURCES_DISAGREE"]


@pytest.mark.parametrize(
    "info",
    [
        INFO,
        {**INFO, "speculative_num_draft_tokens": 8, "speculative_num_steps": 7, "speculative_adaptive": True},
        {**INFO, "speculative_num_draft_tokens": 12, "speculative_algorithm": "NGRAM"},
    ],
    ids=["the server", "adapting", "n-grams"],
)
def test_results_that_the_description_explains_are_left_alone(cli: Cli, tmp_path: Path, info: dict[str, Any]) -> None:
    assert _codes(cli, tmp_path, STEPS, info, option=False) == {}
