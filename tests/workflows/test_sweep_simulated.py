"""Step times without a trained drafter: forced acceptance, weights that do not exist, random prompts."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.fakes.servers import ENGINE, free_port
from tracker.analysis import analyse
from tracker.analysis.results import Window
from tracker.domain.campaign import Campaign
from tracker.domain.record import RunRecord, StoredRun
from tracker.errors import InputError
from tracker.store import Spool
from tracker.workflows.log_run import LogRequest, log_run
from tracker.workflows.session import Session
from tracker.workflows.sweep import SweepOptions, run_sweep
from tracker.workflows.sweep_check import check_all
from tracker.workflows.sweep_plan import SweepPlan, read_sweep

NOW = datetime.now(UTC)
LLAMA_8B = {
    "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 32, "vocab_size": 128256,
    "max_position_embeddings": 8192,
}  # fmt: skip
EAGLE3 = LLAMA_8B | {"architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1, "draft_vocab_size": 32000}
HEAD = 'schema_version = 1\n[campaign]\nname = "c"\n[[drafters]]\nname = "d"\npaths = ["drafter"]\n'
SERVER = '[[sweep.servers]]\nname = "a"\ndrafter = "d"\nalgorithm = "EAGLE3"\n'


def _models(folder: Path) -> None:
    for name, config in (("target", LLAMA_8B), ("drafter", EAGLE3)):
        (folder / name).mkdir()
        (folder / name / "config.json").write_text(json.dumps(config))


def _read(folder: Path, sweep: str) -> SweepPlan:
    (folder / "campaign.toml").write_text(f'{HEAD}[sweep]\ntarget = "target"\n{sweep}')
    return read_sweep(folder)


def _swept(folder: Path, sweep: str) -> dict[str, StoredRun]:
    launch = ["env", "FAKE_STEP_MS=0.4", sys.executable, "-m", "sglang.launch_server"]
    plan = _read(
        folder,
        f"launch = {json.dumps(launch)}\nflags = '--load-format dummy --skip-tokenizer-init'\n"
        f"start_port = {free_port()}\nhealth_timeout_s = 20\nstop_grace_s = 2\n"
        f"[sweep.environment]\nPYTHONPATH = {json.dumps(str(ENGINE))}\n"
        "[sweep.baseline]\nresident = true\n"
        '[sweep.workload]\nprompts = "random-ids"\ninput_tokens = 32\noutput_tokens = 41\nwarmup = 1\n'
        f"loads = [{{concurrency = 1, requests = 8}}, {{concurrency = 4, requests = 16}}]\n{sweep}",
    )
    session = Session(now=NOW, environ=dict(os.environ), cwd=folder)
    options = SweepOptions(out=folder / "out", spool=folder / "spool")
    run_sweep(plan, options, session, tell=lambda _: None, on_progress=lambda _: None)
    spool = Spool(folder / "spool")
    runs = [spool.read(path) for path in spool.pending()]
    return {
        run.record.name: StoredRun(run_id=run.record.name, record=run.record, requests=run.requests) for run in runs
    }


def _codes(record: RunRecord) -> dict[str, str]:
    # A busy machine makes the client late, which is no matter here.
    found = (finding for finding in record.findings if finding.code != "CLIENT_BOTTLENECK")
    return {finding.code: finding.severity for finding in found}


@pytest.mark.slow
def test_step_time_is_measured_without_a_drafter_and_gives_a_break_even_but_no_verdict(tmp_path: Path) -> None:
    _models(tmp_path)

    runs = _swept(tmp_path, f'{SERVER}shape = "3-1-4"\nsimulated_accept_length = 2.5\n')

    record = runs["a"].record
    (one, four) = record.pooled()
    assert record.validity == "ok"
    assert (one.requests_completed, one.output_tokens, four.output_tokens) == (8, 8 * 41, 16 * 41)
    assert one.accept_length == pytest.approx(2.5, abs=0.02)
    assert record.speculation is not None
    assert record.speculation.simulated_accept_length == 2.5
    assert record.tags["sweep.simulated_accept_length"] == "2.5"
    assert _codes(record) == dict.fromkeys(
        ("SYNTHETIC_ACCEPTANCE", "DRAFT_WEIGHTS_DUMMY", "TARGET_WEIGHTS_DUMMY", "RANDOM_DATASET_FOR_ACCEPTANCE"), "info"
    )
    found = analyse(
        tuple(runs.values()),
        campaign=Campaign(name="c"),
        window=Window(since=NOW - timedelta(days=1), until=NOW + timedelta(days=1)),
    )
    points = [point for point in found.points if point.name == "a"]
    assert [point.concurrency for point in points] == [1, 4]
    assert all(point.step_time_only and point.excluded_reason is None for point in points)
    assert all(point.break_even is not None and point.break_even.value is not None for point in points)
    assert all(point.accept_length.value is None for point in points)
    assert found.verdict.status == "undecided"


@pytest.mark.slow
def test_the_command_is_recorded_with_its_prefix_and_its_forcing_variables(tmp_path: Path) -> None:
    _models(tmp_path)

    record = _swept(tmp_path, f'{SERVER}shape = "3-4-16"\nsimulated_accept_length = 2\n')["a"].record

    assert record.tags["sweep.launch_prefix"] == "env FAKE_STEP_MS=0.4"
    assert record.server is not None
    assert record.server.argv is not None
    assert record.server.argv[:5] == ("env", "FAKE_STEP_MS=0.4", sys.executable, "-m", "sglang.launch_server")
    assert {name: value for name, value in record.server.environment.items() if "SIMULATE" in name} == {
        "SGLANG_SIMULATE_ACC_LEN": "2",
        "SGLANG_SIMULATE_ACC_METHOD": "match-expected",
        # The server refuses real draft tokens for a tree.
        "SGLANG_SIMULATE_ACC_TOKEN_MODE": "fixed",
    }


@pytest.mark.slow
def test_the_folder_of_a_server_tells_that_its_acceptance_was_forced(tmp_path: Path) -> None:
    _models(tmp_path)
    secret = 'environment = { HF_TOKEN = "hf_abcdefghijklmnopqrstuvwx" }\n'
    _swept(tmp_path, f'{SERVER}{secret}shape = "3-1-4"\nsimulated_accept_length = 2\n')
    folder = tmp_path / "out" / "servers" / "a"

    request = LogRequest(inputs=(folder,), dry_run=True)
    (logged,) = log_run(request, Session(now=NOW, environ=dict(os.environ), cwd=tmp_path)).outcomes

    assert logged.record.speculation is not None
    assert logged.record.speculation.simulated_accept_length == 2
    assert "hf_abc" not in (folder / "argv.json").read_text()


def test_a_chain_is_forced_with_its_own_drafts(tmp_path: Path) -> None:
    (arm,) = _read(tmp_path, f'{SERVER}shape = "3-1-4"\nsimulated_accept_length = 2\n').arms

    assert arm.environment["SGLANG_SIMULATE_ACC_TOKEN_MODE"] == "real-draft-token"


def test_vllm_gets_its_own_words(tmp_path: Path) -> None:
    launch = 'launch = "taskset -c 0,2,4,6 vllm serve"\nflags = "--load-format dummy"\n'
    plan = _read(tmp_path, f'{launch}{SERVER}shape = "3-1-4"\nsimulated_accept_length = 2.5\n')

    (arm,) = plan.arms
    (checked,) = check_all(plan)
    assert arm.argv[:7] == ("taskset", "-c", "0,2,4,6", "vllm", "serve", "target", "--load-format")
    assert json.loads(arm.argv[-1]) == {
        "method": "eagle3", "model": "drafter", "num_speculative_tokens": 3,
        "rejection_sample_method": "synthetic", "synthetic_acceptance_length": 2.5,
    }  # fmt: skip
    assert checked.config is not None
    assert checked.config.engine == "vllm"
    assert not checked.refused_by


def test_a_prefix_of_the_launch_command_hides_no_flag_from_the_checks(tmp_path: Path) -> None:
    _models(tmp_path)
    launch = 'launch = "taskset -c 0,2,4,6 python3 -m sglang.launch_server"\nflags = "--load-format dummy"\n'
    wrong = SERVER.replace("EAGLE3", "EAGLE")

    plan = _read(tmp_path, f'{launch}{wrong}shape = "3-1-4"\nsimulated_accept_length = 2\n')

    (checked,) = check_all(plan)
    assert checked.arm.command(host="127.0.0.1", port=1)[:6] == (
        "taskset", "-c", "0,2,4,6", "python3", "-m", "sglang.launch_server",
    )  # fmt: skip
    assert [finding.code for finding in checked.refused_by] == ["ALGO_MISMATCH_EAGLE_FOR_EAGLE3"]


def test_dummy_weights_without_simulation_are_still_refused(tmp_path: Path) -> None:
    _models(tmp_path)
    plan = _read(tmp_path, f'flags = "--load-format dummy"\n{SERVER}shape = "3-1-4"\n')

    assert [finding.code for finding in check_all(plan)[0].refused_by] == ["DRAFT_WEIGHTS_DUMMY"]


def test_shapes_and_lengths_make_every_combination(tmp_path: Path) -> None:
    plan = _read(
        tmp_path,
        '[sweep.axes]\ndrafter = ["d"]\nalgorithm = ["EAGLE3"]\nshape = ["3-1-4", "5-1-6"]\n'
        "simulated_accept_length = [1, 2.5]\n",
    )

    assert [(arm.name, arm.simulated_accept_length) for arm in plan.arms] == [
        ("d-EAGLE3-3-1-4-accept-1", 1), ("d-EAGLE3-3-1-4-accept-2.5", 2.5),
        ("d-EAGLE3-5-1-6-accept-1", 1), ("d-EAGLE3-5-1-6-accept-2.5", 2.5),
    ]  # fmt: skip


def test_a_server_started_twice_gives_two_runs_and_the_second_starts_come_last(tmp_path: Path) -> None:
    plan = _read(tmp_path, f"processes = 2\n{SERVER}{SERVER.replace(chr(34) + 'a', chr(34) + 'b')}processes = 3\n")

    assert [(arm.name, arm.process) for arm in plan.arms] == [
        ("a", 1), ("b", 1), ("a-p2", 2), ("b-p2", 2), ("b-p3", 3),
    ]  # fmt: skip
    assert len({arm.digest(plan.bench) for arm in plan.arms}) == 5
    assert plan.arms[0].argv == plan.arms[2].argv


def test_random_prompts_are_as_many_as_the_largest_load_asks_for_and_the_same_every_time(tmp_path: Path) -> None:
    _models(tmp_path)
    workload = (
        '[sweep.workload]\nprompts = "random-ids"\ninput_tokens = 16\nloads = [{concurrency = 4, requests = 20}]\n'
    )

    first, second = (_read(tmp_path, f"{workload}{SERVER}").bench.prompts for _ in range(2))

    assert len(first.prompts) == len({prompt.key for prompt in first.prompts}) == 20
    assert all(len(prompt.token_ids or ()) == 16 and max(prompt.token_ids or ()) < 128256 for prompt in first.prompts)
    assert first.digest == second.digest


def test_random_text_has_the_words_asked_for(tmp_path: Path) -> None:
    prompts = _read(
        tmp_path, f'[sweep.workload]\nprompts = "random"\ninput_tokens = 50\nconcurrencies = [2]\n{SERVER}'
    ).bench.prompts

    assert len(prompts.prompts) == 8
    assert {len(prompt.text.split()) for prompt in prompts.prompts} == {50}


@pytest.mark.parametrize(
    ("sweep", "words"),
    [
        (f'{SERVER}shape = "3-1-4"\nsimulated_accept_length = 4.5\n', "between 1 and 4"),
        (f"{SERVER}simulated_accept_length = 0.5\n", "at least 1"),
        ('[[sweep.servers]]\nname = "a"\nsimulated_accept_length = 2\n', "does not speculate"),
        (f"{SERVER}processes = 0\n", "starts nothing"),
        (f'launch = "vllm serve"\n{SERVER}shape = "3-4-16"\n', "chains only"),
        (f'[sweep.workload]\nprompts = "random-ids"\n{SERVER}', "needs a length"),
        (f'[sweep.workload]\nprompts = "random-ids"\ninput_tokens = 8\n{SERVER}', "vocabulary is not known"),
        ('[sweep.axes]\nshape = [3]\n', "Expected `str"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_advice(tmp_path: Path, sweep: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        _read(tmp_path, sweep)

    assert caught.value.hint
    assert str(tmp_path) in (caught.value.where or "")


@pytest.mark.slow
def test_a_campaign_says_that_its_acceptance_was_forced_on_purpose(tmp_path: Path) -> None:
    _models(tmp_path)
    _swept(tmp_path, f'{SERVER}shape = "3-1-4"\nsimulated_accept_length = 2\n')
    session = Session(now=NOW, environ=dict(os.environ), cwd=tmp_path)
    plain = f'{HEAD}[[inputs]]\npath = "out/servers/a"\n'

    (tmp_path / "campaign.toml").write_text(f"{plain}simulated_acceptance = true\n")
    (meant,) = log_run(LogRequest(inputs=(tmp_path,), dry_run=True), session).outcomes
    (tmp_path / "campaign.toml").write_text(plain)
    (left,) = log_run(LogRequest(inputs=(tmp_path,), dry_run=True), session).outcomes

    assert _codes(meant.record)["SYNTHETIC_ACCEPTANCE"] == "info"
    assert _codes(left.record)["SYNTHETIC_ACCEPTANCE"] == "error"
    assert all(item.voids == ("acceptance",) for item in meant.record.findings if item.code == "SYNTHETIC_ACCEPTANCE")
