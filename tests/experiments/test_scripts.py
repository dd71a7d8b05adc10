"""The scripts of experiments/: what they write is what the sweep beside them asks for."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracker import checkpoints
from tracker.resources import experiments_dir
from tracker.workflows.sweep_check import Checked, check_all
from tracker.workflows.sweep_plan import read_sweep

EXPERIMENTS = experiments_dir()
TINY, SIMULATED = EXPERIMENTS / "h200-tiny-llama", EXPERIMENTS / "h200-llama-8b-simulated"
# A Python with torch, tokenizers and safetensors, where the one that runs the tests has none.
TORCH_PYTHON = "TRACKER_TEST_TORCH_PYTHON"
LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
    "vocab_size": 128256, "max_position_embeddings": 8192,
}  # fmt: skip


def simulated_checks(models: Path) -> dict[str, Checked]:
    return {item.arm.name: item for item in check_all(read_sweep(SIMULATED, models=models))}


def refusals(checks: dict[str, Checked]) -> dict[str, list[str]]:
    return {name: [found.code for found in item.refused_by] for name, item in checks.items() if item.refused_by}


def test_two_config_files_are_models_enough_for_the_simulated_campaign(tmp_path: Path) -> None:
    draft = {"architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1, "draft_vocab_size": 32000}
    for name, config in (("target", LLAMA), ("eagle3-untrained", LLAMA | draft)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(config))

    checks = simulated_checks(tmp_path)

    assert len(checks) == 9
    assert refusals(checks) == {}
    assert [item.unseen for item in checks.values() if item.unseen] == []


def test_a_drafter_of_another_width_is_refused_by_the_simulated_campaign(tmp_path: Path) -> None:
    draft = {"architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1, "hidden_size": 2048}
    for name, config in (("target", LLAMA), ("eagle3-untrained", LLAMA | draft)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(config))

    assert len(refusals(simulated_checks(tmp_path))) == 8


def test_what_make_models_writes_passes_every_check_of_its_campaign(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers", reason="make_models.py writes a tokenizer")

    subprocess.run([sys.executable, SIMULATED / "make_models.py", tmp_path], check=True)

    checks = simulated_checks(tmp_path)
    assert len(checks) == 9
    assert refusals(checks) == {}
    tokenizer = json.loads((tmp_path / "target" / "tokenizer.json").read_text())
    assert len(tokenizer["model"]["vocab"]) == 256


@pytest.mark.slow
@pytest.mark.timeout(900)  # the smoke plan takes a minute on a free core, and four on a busy one
def test_the_trainer_writes_drafters_that_the_checks_read_and_trains_none_twice(tmp_path: Path) -> None:
    python = _python_with_torch()
    command = [python, TINY / "train.py", tmp_path, "--smoke", "--eager"]

    subprocess.run(command, check=True)

    names = {path.parent.name for path in tmp_path.glob("eagle3-*/training.json")}
    assert names == {"eagle3-64", "eagle3-32", "eagle3-32-x2"}
    trained = {name: json.loads((tmp_path / name / "training.json").read_text()) for name in names}
    assert trained["eagle3-32-x2"]["epochs"] == 2 * trained["eagle3-32"]["epochs"]
    assert trained["eagle3-32-x2"]["samples"] == trained["eagle3-32"]["samples"] == 32
    assert {checkpoints.describe(str(tmp_path / name)).kind for name in names} == {"eagle3"}
    servers = [*((name, name, "EAGLE3") for name in sorted(names)), ("wrong", "eagle3-64", "EAGLE")]
    (tmp_path / "campaign.toml").write_text(
        'schema_version = 1\n[campaign]\nname = "c"\n[sweep]\ntarget = "target"\n'
        '[sweep.workload]\nprompts = "prompts.jsonl"\n'
        + "".join(
            f'[[sweep.servers]]\nname = "{name}"\ndrafter = "{drafter}"\nalgorithm = "{algorithm}"\nshape = "3-1-4"\n'
            for name, drafter, algorithm in servers
        )
    )
    checks = {item.arm.name: item for item in check_all(read_sweep(tmp_path))}
    assert refusals(checks) == {"wrong": ["ALGO_MISMATCH_EAGLE_FOR_EAGLE3"]}
    prompts = [json.loads(line) for line in (tmp_path / "prompts.jsonl").read_text().splitlines()]
    assert {"category", "prompt"} == set(prompts[0])
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    subprocess.run(command, check=True)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")} == before


@pytest.mark.parametrize("script", sorted(EXPERIMENTS.rglob("*.sh")), ids=lambda path: path.name)
def test_a_shell_script_is_whole_and_names_an_unknown_step(script: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "LAB": str(tmp_path / "lab"), "SITE": str(tmp_path / "site")}

    subprocess.run(["bash", "-n", script], check=True)
    done = subprocess.run(
        ["bash", script, "no-such-step"], capture_output=True, text=True, env=environment, check=False
    )

    assert done.returncode == 2
    assert "unknown step no-such-step" in done.stderr


def _python_with_torch() -> str:
    other = os.environ.get(TORCH_PYTHON)
    if other:
        return other
    missing = [name for name in ("torch", "tokenizers", "safetensors") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"training needs {', '.join(missing)}; {TORCH_PYTHON} may name a Python that has them")
    return sys.executable
