"""A sweep over a fake engine: real processes, real sockets, real command lines."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import WriteCheckpoint
from tests.fakes.servers import ENGINE, free_port
from tracker.domain.record import RunRecord
from tracker.errors import ServerError, UsageError
from tracker.importers import read as read_inputs
from tracker.load.chat_template import read_chat_template
from tracker.store import Spool
from tracker.workflows.session import Session
from tracker.workflows.sweep import SweepOptions, SweepResult, run_sweep
from tracker.workflows.sweep_fleet import Tell
from tracker.workflows.sweep_plan import read_sweep

HEAD = """
schema_version = 1
[campaign]
name = "fake"
[hardware]
gpu = "none"
gpu_count = 2
[drafter_facts]
vocabulary_coverage_fraction = 0.9
[[drafters]]
name = "small"
paths = ["drafters/small"]
[[drafters]]
name = "large"
paths = ["drafters/large"]
"""


@dataclass
class Campaign:
    """A campaign folder with checkpoints and a way to sweep it."""

    folder: Path
    told: list[str] = field(default_factory=list)

    def write(
        self,
        servers: str,
        *,
        sweep: str = "",
        baseline: str = "",
        workload: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> Campaign:
        variables = {"PYTHONPATH": str(ENGINE), "FAKE_STEP_MS": "0.2", **(environment or {})}
        table = "\n".join(f"{name} = {json.dumps(value)}" for name, value in variables.items())
        (self.folder / "campaign.toml").write_text(
            f"{HEAD}\n[sweep]\nlaunch = {json.dumps([sys.executable, '-m', 'sglang.launch_server'])}\n"
            f'target = "target"\nstart_port = {free_port()}\nhealth_timeout_s = 20\nstop_grace_s = 2\n{sweep}\n'
            f"[sweep.environment]\n{table}\n{baseline}\n"
            '[sweep.workload]\nprompts = "prompts.jsonl"\noutput_tokens = 16\nwarmup = 1\ntimeout_s = 5\n'
            f"loads = [{{concurrency = 1, requests = 6}}, {{concurrency = 3, requests = 12}}]\n{workload}\n{servers}"
        )
        return self

    def run(self, *, tell: Tell | None = None, **options: Any) -> SweepResult:
        session = Session(now=datetime.now(UTC), environ=dict(os.environ), cwd=self.folder)
        chosen = SweepOptions(out=self.folder / "out", spool=self.folder / "spool", **options)
        return run_sweep(
            read_sweep(self.folder), chosen, session, tell=tell or self.told.append, on_progress=lambda _: None
        )

    def records(self) -> dict[str, RunRecord]:
        spool = Spool(self.folder / "spool")
        return {run.record.name: run.record for run in map(spool.read, spool.pending())}


def server(name: str, drafter: str | None = "large", algorithm: str | None = "EAGLE3", more: str = "") -> str:
    parts = [f'[[sweep.servers]]\nname = "{name}"']
    if drafter is not None:
        parts.append(f'drafter = "{drafter}"')
    if algorithm is not None:
        parts += [f'algorithm = "{algorithm}"', 'shape = "3-1-4"']
    return "\n".join([*parts, more, ""])


RESIDENT = "[sweep.baseline]\nresident = true\n"


@pytest.fixture
def campaign(tmp_path: Path, write_checkpoint: WriteCheckpoint) -> Campaign:
    target = {"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_hidden_layers": 8, "vocab_size": 512}
    write_checkpoint(tmp_path / "target", target, {"lm_head.weight": ("BF16", (512, 64))})
    draft = target | {"architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1, "draft_vocab_size": 256,
                      "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 3, 6]}}  # fmt: skip
    tensors = {"fc.weight": ("BF16", (64, 192)), "lm_head.weight": ("BF16", (256, 64)), "norm.weight": ("BF16", (64,)),
               "d2t": ("I64", (256,)), "t2d": ("BOOL", (512,), b"\1" * 256 + b"\0" * 256)}  # fmt: skip
    for name, samples in (("small", 1_000), ("large", 9_000)):
        folder = write_checkpoint(tmp_path / "drafters" / name, draft, tensors)
        (folder / "training.json").write_text(json.dumps({"samples": samples, "epochs": 5}))
    lines = (json.dumps({"prompt": f"prompt {index}", "category": "ab"[index % 2]}) for index in range(12))
    (tmp_path / "prompts.jsonl").write_text("\n".join(lines))
    return Campaign(tmp_path)


@pytest.mark.slow
def test_every_server_is_measured_between_two_measurements_of_the_resident_baseline(campaign: Campaign) -> None:
    servers = server("a", "small") + server("b", "large")

    result = campaign.write(servers, sweep="batch = 2", baseline=RESIDENT).run()

    records = campaign.records()
    assert set(records) == {"a", "b", "baseline-1"}
    assert result.left == ()
    for name in "ab":
        (one, three) = records[name].pooled()
        assert (one.concurrency, one.requests_completed, one.output_tokens) == (1, 6, 96)
        assert (three.concurrency, three.requests_completed, three.output_tokens) == (3, 12, 192)
        assert one.extra["baseline_before_output_throughput_tok_s"] > 0
        assert one.extra["baseline_after_output_throughput_tok_s"] > 0
        assert records[name].role == "candidate"
        assert records[name].validity == "ok"
        assert "2 other servers stood idle" in (records[name].note or "")
    repeats = {cell.repeat for cell in records["baseline-1"].measurements if cell.repeat is not None}
    assert repeats == {0, 1, 2}
    assert records["baseline-1"].role == "baseline"
    assert records["baseline-1"].speculation is not None
    assert not records["baseline-1"].speculation.enabled


@pytest.mark.slow
def test_a_record_says_what_ran_on_which_checkpoint_trained_on_what(campaign: Campaign) -> None:
    campaign.write(server("a", "small"), baseline=RESIDENT).run()

    record = campaign.records()["a"]
    assert record.server is not None
    assert record.server.argv is not None
    assert record.server.argv[1:5] == ("-m", "sglang.launch_server", "--model-path", "target")
    assert record.server.version == "0.0.0+fake"
    assert record.drafter is not None
    assert record.drafter.name == "small"
    assert record.drafter.header_digest is not None
    assert record.drafter.vocabulary_coverage_fraction == 0.9
    assert record.training is not None
    assert record.training.samples == 1_000
    assert record.speculation is not None
    assert record.speculation.num_steps == 3
    assert record.workload is not None
    assert record.workload.prompts == 12
    assert record.hardware is not None
    assert record.hardware.gpu_count == 2


@pytest.mark.slow
def test_a_record_says_in_which_chat_template_and_with_which_thinking_the_prompts_were_sent(campaign: Campaign) -> None:
    (campaign.folder / "target" / "chat_template.jinja").write_text("<user>{{ messages[0].content }}<model>")

    campaign.write(server("a"), workload='chat_template = "target"\nthinking = false').run()

    workload = campaign.records()["a"].workload
    assert workload is not None
    assert workload.template_digest == read_chat_template(campaign.folder / "target").digest
    assert workload.thinking is False


@pytest.mark.slow
def test_a_servers_folder_can_be_logged_again_and_gives_the_same_counts(campaign: Campaign) -> None:
    campaign.write(server("a"), baseline=RESIDENT).run()

    (run,) = read_inputs(campaign.folder / "out" / "servers" / "a")

    pooled = [cell for cell in run.measurements if cell.category is None and cell.repeat is None]
    for mine, theirs in zip(campaign.records()["a"].pooled(), pooled, strict=True):
        for name in ("requests_completed", "output_tokens", "verify_steps", "accepted_drafts", "accepted_histogram",
                     "wall_s", "prompts"):  # fmt: skip
            assert getattr(mine, name) == getattr(theirs, name), name


@pytest.mark.slow
def test_no_prompt_text_is_kept_anywhere(campaign: Campaign) -> None:
    campaign.write(server("a"), baseline=RESIDENT).run()

    kept = [path for part in ("out", "spool") for path in (campaign.folder / part).rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if b"prompt 3" in path.read_bytes()]


def test_the_wrong_flag_is_refused_and_recorded_as_refused(campaign: Campaign) -> None:
    result = campaign.write(server("wrong", algorithm="EAGLE"), baseline=RESIDENT).run()

    (wrong,) = result.records
    assert wrong.validity == "invalid"
    assert "refused before launch by ALGO_MISMATCH_EAGLE_FOR_EAGLE3" in (wrong.validity_reason or "")
    assert wrong.measurements == ()
    assert [finding.code for finding in wrong.findings if finding.severity == "error"]
    assert not (campaign.folder / "out" / "logs").exists()


@pytest.mark.slow
def test_beside_a_refused_server_the_others_are_measured(campaign: Campaign) -> None:
    result = campaign.write(server("good") + server("wrong", algorithm="EAGLE"), baseline=RESIDENT).run()

    assert {record.name: record.validity for record in result.records} == {
        "wrong": "invalid", "good": "ok", "baseline-1": "ok",
    }  # fmt: skip
    assert not list((campaign.folder / "out" / "logs").glob("wrong*"))


def test_a_drafter_that_is_not_there_costs_no_start_and_is_told_with_its_cure(campaign: Campaign) -> None:
    campaign.write(server("a", "drafters/gone")).run()

    record = campaign.records()["a"]
    assert record.validity == "invalid"
    assert [finding.code for finding in record.findings if finding.severity == "error"] == ["MODEL_PATH_NOT_FOUND"]
    assert any("fix: Correct the path" in line for line in campaign.told)
    assert not (campaign.folder / "out" / "logs").exists()


def test_a_second_sweep_into_the_same_folder_is_refused_while_the_first_one_runs(campaign: Campaign) -> None:
    campaign.write(server("wrong", algorithm="EAGLE"))
    refused: list[str] = []

    def again(_: str) -> None:
        with pytest.raises(UsageError, match="another tracker sweep is at work here") as caught:
            campaign.run()
        refused.append(caught.value.hint or "")

    result = campaign.run(tell=again)

    assert [record.name for record in result.records] == ["wrong"]
    assert refused
    assert "--out" in refused[0]
    assert campaign.run().before == 1


def test_a_record_that_the_spool_does_not_take_waits_beside_the_results(campaign: Campaign) -> None:
    campaign.write(server("wrong", algorithm="EAGLE") + server("wrong too", "small", algorithm="EAGLE"))
    spool = campaign.folder / "spool"

    def fill(text: str) -> None:
        campaign.told.append(text)
        if text.startswith("wrong: refused"):
            (spool / "campaigns").rename(campaign.folder / "moved")
            shutil.rmtree(spool)
            spool.write_text("no folder any more")

    result = campaign.run(tell=fill)

    kept = Spool(campaign.folder / "out" / "spool")
    assert [kept.read(path).record.name for path in result.spooled] == ["wrong", "wrong too"]
    assert {path.parent for path in result.spooled} == {kept.folder}
    assert result.left == ()
    assert any("tracker sync" in line and str(kept.folder) in line for line in campaign.told)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["file", "option"])
def test_the_wrong_flag_runs_where_it_is_allowed_and_its_finding_stays(campaign: Campaign, where: str) -> None:
    code = "ALGO_MISMATCH_EAGLE_FOR_EAGLE3"
    more = f'allow = ["{code}"]' if where == "file" else ""
    campaign.write(server("wrong", algorithm="EAGLE", more=more), baseline=RESIDENT)

    campaign.run(allow=(code,) if where == "option" else ())

    wrong = campaign.records()["wrong"]
    assert wrong.validity == "ok"
    assert wrong.measurements
    assert code in {finding.code for finding in wrong.findings}


@pytest.mark.slow
def test_without_residence_the_baseline_is_started_anew_between_candidates(campaign: Campaign) -> None:
    campaign.write(server("a") + server("b"), baseline="[sweep.baseline]\n").run()

    order = sorted(campaign.records().values(), key=lambda record: record.measured_at)
    assert [record.name for record in order] == ["baseline-1", "a", "baseline-2", "b", "baseline-3"]
    assert all("no other of its servers up" in (record.note or "") for record in order)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "kind"), [("oom", "out_of_memory"), ("crash", "crash"), ("port", "port_in_use"), ("hang", "hang")]
)
def test_a_server_that_does_not_come_up_is_recorded_without_numbers_and_the_others_go_on(
    campaign: Campaign, how: str, kind: str
) -> None:
    bad = server("bad", more=f'environment = {{FAKE_FAIL_START = "{how}"}}')
    sweep = "batch = 2" if how != "hang" else "batch = 2\nhealth_timeout_s_ = 3"
    campaign.write(bad + server("good"), sweep=sweep.replace("\nhealth_timeout_s_ = 3", ""), baseline=RESIDENT)
    if how == "hang":
        file = campaign.folder / "campaign.toml"
        file.write_text(file.read_text().replace("health_timeout_s = 20", "health_timeout_s = 3"))

    campaign.run()

    records = campaign.records()
    assert records["bad"].validity == "invalid"
    assert (records["bad"].validity_reason or "").startswith(kind)
    assert records["bad"].measurements == ()
    assert records["good"].validity == "ok"


@pytest.mark.slow
def test_a_server_that_crashes_under_load_is_suspect_or_invalid_never_ok(campaign: Campaign) -> None:
    first = server("at-once", more='environment = {FAKE_MODE = "crash:1"}')
    later = server("later", more='environment = {FAKE_MODE = "crash:12"}')
    campaign.write(first + later + server("good"), sweep="batch = 3", baseline=RESIDENT).run()

    records = campaign.records()
    assert records["at-once"].validity == "invalid"
    assert records["at-once"].measurements == ()
    assert records["later"].validity == "suspect"
    assert "crash" in (records["later"].validity_reason or "")
    # The pass at one stream was whole, the one at three was cut: no throughput is invented for it.
    (one, three) = records["later"].pooled()
    assert one.output_throughput_tok_s is not None
    assert three.output_throughput_tok_s is None
    assert records["good"].validity == "ok"
    (told,) = [line for line in campaign.told if line.startswith("later: ") and "tok/s" in line]
    assert "requests failed; the server failed while it was measured (crash" in told
    # Both died, so both are asked again.
    again = campaign.run(retry_failed=True)
    assert {record.name for record in again.records if record.role == "candidate"} == {"at-once", "later"}


@pytest.mark.slow
def test_failed_requests_are_counted_and_told(campaign: Campaign) -> None:
    campaign.write(server("a", more='environment = {FAKE_MODE = "http500:5"}'), baseline=RESIDENT).run()

    record = campaign.records()["a"]
    assert sum(cell.requests_failed or 0 for cell in record.pooled()) == 3
    assert sum(cell.output_tokens or 0 for cell in record.pooled()) == (18 - 3) * 16
    assert "REQUESTS_FAILED" in {finding.code for finding in record.findings}


@pytest.mark.slow
def test_a_second_call_goes_on_where_the_first_one_stopped(campaign: Campaign) -> None:
    campaign.write(server("a") + server("b"), baseline=RESIDENT)
    first = campaign.run(only=("a",))

    second = campaign.run()

    assert {record.name for record in first.records} == {"a", "baseline-1"}
    assert {record.name for record in second.records} == {"b", "baseline-2"}
    assert second.before == 1


@pytest.mark.slow
def test_a_third_call_has_nothing_to_do_and_starts_nothing(campaign: Campaign) -> None:
    campaign.write(server("a"), baseline=RESIDENT).run()
    campaign.told.clear()

    again = campaign.run()

    assert again.records == ()
    assert again.before == 1
    assert campaign.told == []


def test_what_failed_is_tried_again_when_asked_and_the_new_record_supersedes_the_old(campaign: Campaign) -> None:
    campaign.write(server("a", more='environment = {FAKE_FAIL_START = "oom"}'), baseline=RESIDENT)
    failed = campaign.run().records[0]
    assert campaign.run().records == ()

    tried = campaign.run(retry_failed=True)

    assert tried.records[0].name == "a"
    assert tried.records[0].supersedes == failed.record_id


def test_a_budget_too_short_begins_nothing_and_says_what_is_left(campaign: Campaign) -> None:
    result = campaign.write(server("a"), sweep="start_estimate_s = 100", baseline=RESIDENT).run(budget_s=50)

    assert result.records == ()
    assert result.left == ("a",)
    assert "no time for another batch: it takes about 100 s, and 50 s are left" in campaign.told[-1]


def test_a_baseline_that_does_not_come_up_is_an_error_and_leaves_no_server(campaign: Campaign) -> None:
    campaign.write(server("a"), baseline=RESIDENT, environment={"FAKE_FAIL_START": "oom"})

    with pytest.raises(ServerError, match="baseline did not come up"):
        campaign.run()

    assert _left_over(campaign) == []


def test_a_first_baseline_that_does_not_come_up_stops_the_sweep_before_it_costs_more(campaign: Campaign) -> None:
    campaign.write(server("a"), baseline='[sweep.baseline]\nenvironment = {FAKE_FAIL_START = "crash"}\n')

    with pytest.raises(ServerError, match="baseline did not come up") as caught:
        campaign.run()

    assert caught.value.hint
    assert set(campaign.records()) == {"baseline-1"}


def test_a_server_that_fails_the_same_way_twice_is_two_runs(campaign: Campaign) -> None:
    campaign.write(server("a", more='environment = {FAKE_FAIL_START = "oom"}'))

    ids = {campaign.run(retry_failed=True).records[0].record_id for _ in range(2)}

    assert len(ids) == 2


def test_the_users_own_benchmark_can_measure_instead(campaign: Campaign) -> None:
    script = campaign.folder / "own.py"
    script.write_text(
        "import json, sys, urllib.request as u\n"
        "body = json.dumps({'text': 'x', 'sampling_params': {'max_new_tokens': 16}}).encode()\n"
        "answer = json.load(u.urlopen(u.Request(sys.argv[1] + '/generate', body)))\n"
        "open(sys.argv[2], 'w').write(json.dumps({'concurrency': 1, 'meta_info': answer['meta_info']}))\n"
    )
    command = f"{sys.executable} {script} {{url}} {{out}}"
    campaign.write(server("a"), sweep=f"command = {json.dumps(command)}")

    campaign.run()

    (cell,) = campaign.records()["a"].pooled()
    assert (cell.requests_completed, cell.output_tokens) == (1, 16)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_command_ends_every_server_and_the_next_call_goes_on(
    campaign: Campaign, number: signal.Signals
) -> None:
    campaign.write(server("a") + server("b"), sweep="batch = 2", baseline=RESIDENT, environment={"FAKE_STEP_MS": "8"})
    process = _command(campaign)
    _wait_for(campaign, "requests", process)

    process.send_signal(number)
    _, told = process.communicate(timeout=40)

    assert process.returncode == 130, told
    assert "stopped; servers are ended" in told
    assert _left_over(campaign) == []
    file = campaign.folder / "campaign.toml"
    file.write_text(file.read_text().replace('FAKE_STEP_MS = "8"', 'FAKE_STEP_MS = "0.2"'))
    assert campaign.run().left == ()
    records = campaign.records()
    assert {"a", "b"} <= set(records) <= {"a", "b", "baseline-1", "baseline-2"}
    for name in "ab":
        assert records[name].validity == "ok"
        assert [cell.requests_completed for cell in records[name].pooled()] == [6, 12]


@pytest.mark.slow
def test_a_second_interrupt_ends_servers_that_do_not_listen_at_once(campaign: Campaign) -> None:
    variables = {"FAKE_STEP_MS": "8", "FAKE_IGNORE_TERM": "1"}
    campaign.write(server("a"), baseline=RESIDENT, environment=variables)
    file = campaign.folder / "campaign.toml"
    file.write_text(file.read_text().replace("stop_grace_s = 2", "stop_grace_s = 300"))
    process = _command(campaign)
    _wait_for(campaign, "requests", process)

    process.send_signal(signal.SIGINT)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=40)

    assert process.returncode == 130, told
    assert "ending servers at once" in told
    assert _left_over(campaign) == []


@pytest.mark.slow
def test_killing_the_command_leaves_no_server(campaign: Campaign) -> None:
    campaign.write(server("a"), baseline=RESIDENT, environment={"FAKE_STEP_MS": "8"})
    process = _command(campaign)
    _wait_for(campaign, "requests", process)

    process.kill()
    process.communicate()

    deadline = time.monotonic() + 15
    while _left_over(campaign) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert _left_over(campaign) == []
    result = campaign.run()
    assert result.left == ()
    assert campaign.records()["a"].validity == "ok"


def _command(campaign: Campaign) -> subprocess.Popen[str]:
    folder = campaign.folder
    return subprocess.Popen(
        [sys.executable, "-c", "from tracker.cli.main import main; main()", "sweep", str(folder),
         "--out", str(folder / "out"), "--spool", str(folder / "spool")],
        cwd=Path(__file__).parents[2], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def _wait_for(campaign: Campaign, what: str, process: subprocess.Popen[str]) -> None:
    """Wait until the first server is under load."""
    assert process.stderr is not None
    for line in process.stderr:
        if "measuring" in line:
            time.sleep(0.3)
            return
    raise AssertionError(f"the command ended before {what}")


def _left_over(campaign: Campaign) -> list[str]:
    """Return the command lines of fake servers of this campaign that still run."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
                same = (folder / "cwd").resolve() == campaign.folder.resolve()
            except OSError:
                continue
            if same and b"sglang.launch_server" in words:
                found.append(b" ".join(words).decode())
    return found
