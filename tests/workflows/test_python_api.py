"""The same functions from Python."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

import tracker
from tracker.errors import UsageError


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, empty_database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRACKER_TRACKING_URI", "MLFLOW_TRACKING_URI", "TRACKER_EXPERIMENT", "MLFLOW_EXPERIMENT_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRACKER_DATA_DIR", str(tmp_path))
    shutil.copy(empty_database, tmp_path / "mlflow.db")


BASELINE = {"name": "baseline", "output_throughput_tok_s": 90.0, "speculative_algorithm": None}
CANDIDATE = {
    "name": "drafter", "speculative_algorithm": "EAGLE3", "num_steps": 3, "num_draft_tokens": 4,
    "output_throughput_tok_s": 82.3, "accept_length": 2.1,
}  # fmt: skip


def test_a_mapping_is_one_run_and_a_data_frame_one_a_row(tmp_path: Path) -> None:
    first = tracker.log_run(BASELINE, experiment="trial", concurrency=1, role="baseline")
    others = tracker.log_run(pd.DataFrame([CANDIDATE, {**CANDIDATE, "accept_length": 2.2}]), experiment="trial")

    assert isinstance(first, str)
    assert isinstance(others, list)
    assert len({first, *others}) == 3


def test_report_is_a_call_and_a_package(tmp_path: Path) -> None:
    tracker.log_run([_table(tmp_path)], experiment="trial", concurrency=1)

    (memo,) = tracker.report(since="1h", out=tmp_path / "reports", tz="UTC")

    assert memo.content["verdict"]["status"] == "slower"
    assert memo.path.read_text().startswith("<!doctype html>")
    from tracker.report import render_html

    assert callable(render_html)


def test_a_misspelt_option_is_named() -> None:
    with pytest.raises(UsageError, match="exeriment"):
        tracker.log_run(BASELINE, exeriment="trial")


def test_check_finds_the_wrong_algorithm(tmp_path: Path) -> None:
    drafter = tmp_path / "eagle3"
    drafter.mkdir()
    (drafter / "config.json").write_text('{"architectures": ["LlamaForCausalLMEagle3"], "hidden_size": 64}')

    result = tracker.check(
        server_cmd=f"python -m sglang.launch_server --model-path T --speculative-algorithm EAGLE "
        f"--speculative-draft-model-path {drafter}"
    )

    assert "ALGO_MISMATCH_EAGLE_FOR_EAGLE3" in [finding.code for finding in result.findings]


def _table(folder: Path) -> Path:
    path = folder / "results.csv"
    path.write_text(
        "config,speculative_algorithm,num_draft_tokens,output_throughput_tok_s,accept_length\n"
        "baseline,,,90.0,\ndrafter,EAGLE3,5,70.0,2.1\n"
    )
    return path
