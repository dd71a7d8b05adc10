"""`tracker bench` and `tracker sweep` as typed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.conftest import WriteCheckpoint
from tests.fakes.servers import EAGLE3, ENGINE, LAUNCH, free_port, shared
from tracker.store import Spool, open_store

ROOT = Path(__file__).parents[2]


@pytest.fixture
def campaign(tmp_path: Path, write_checkpoint: WriteCheckpoint) -> Path:
    folder = tmp_path / "campaign"
    folder.mkdir()
    target = {"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_hidden_layers": 8, "vocab_size": 512}
    write_checkpoint(folder / "target", target)
    write_checkpoint(
        folder / "draft", target | {"architectures": ["LlamaForCausalLMEagle3"]}, {"fc.weight": ("BF16", (64, 192))}
    )
    (folder / "campaign.toml").write_text(
        'schema_version = 1\n[campaign]\nname = "c"\n[hardware]\ngpu_count = 1\n[sweep]\ntarget = "target"\n'
        '[[sweep.servers]]\nname = "wrong"\ndrafter = "draft"\nalgorithm = "EAGLE"\nshape = "3-1-4"\n'
    )
    return folder


def test_the_plan_names_servers_checks_time_and_gpu_hours_and_starts_nothing(cli: Cli, campaign: Path) -> None:
    done = cli("sweep", campaign, "--plan")

    assert done.code == 3
    assert "refused: ALGO_MISMATCH_EAGLE_FOR_EAGLE3" in done.out
    assert "GPU-hours" in done.out
    assert "--speculative-algorithm EAGLE3" in done.err
    assert "no [sweep.baseline]" in done.err
    assert not (campaign / "out").exists()


def test_the_plan_as_json_is_for_programs(cli: Cli, campaign: Path) -> None:
    done = cli("sweep", campaign, "--plan", "--json", "--allow", "ALGO_MISMATCH_EAGLE_FOR_EAGLE3")

    plan = json.loads(done.out)
    assert plan["servers"][0]["name"] == "wrong"
    assert "ALGO_MISMATCH_EAGLE_FOR_EAGLE3" in plan["servers"][0]["findings"]
    assert "ALGO_MISMATCH_EAGLE_FOR_EAGLE3" not in plan["servers"][0]["refused_by"]
    assert plan["expected"]["total_s"] >= 0


def test_the_plan_of_some_servers_only_shows_and_counts_those(cli: Cli, campaign: Path) -> None:
    arguments = ["sweep", campaign, "--plan", "--allow", "ALGO_MISMATCH_EAGLE_FOR_EAGLE3"]
    file = campaign / "campaign.toml"
    servers = file.read_text()
    file.write_text(servers + '[[sweep.servers]]\nname = "plain"\n')

    plans = [json.loads(cli(*arguments, "--json", *only).out) for only in ([], ["--only", "plain"])]

    assert [[item["name"] for item in plan["servers"]] for plan in plans] == [["wrong", "plain"], ["plain"]]
    assert plans[0]["expected"]["total_s"] == 2 * plans[1]["expected"]["total_s"]


@pytest.mark.parametrize(
    ("options", "adaptive"),
    [
        ([], False),
        (["--budget", "1h"], True),
        (["--adaptive"], True),
        (["--budget", "1h", "--in-order"], False),
    ],
)
def test_with_a_budget_the_plan_says_what_would_come_first_and_why(
    cli: Cli, campaign: Path, options: list[str], adaptive: bool
) -> None:
    arguments = ["sweep", campaign, "--plan", "--allow", "ALGO_MISMATCH_EAGLE_FOR_EAGLE3", *options]

    told = cli(*arguments)
    plan = json.loads(cli(*arguments, "--json").out)

    assert ("wrong: It fails ALGO_MISMATCH_EAGLE_FOR_EAGLE3 and is started on purpose" in told.out) == adaptive
    assert [(item["name"], item["stage"]) for item in plan.get("order", [])] == [("wrong", "identify")] * adaptive


def test_a_refused_server_is_recorded_and_the_command_exits_with_three(cli: Cli, campaign: Path) -> None:
    done = cli("sweep", campaign, "--out", campaign / "out", "--spool", campaign / "spool")
    again = cli("sweep", campaign, "--out", campaign / "out", "--spool", campaign / "spool", "--json", "--retry-failed")

    assert done.code == again.code == 3
    first, second = Spool(campaign / "spool").pending()
    told = json.loads(again.out)
    assert {done.out.strip(), *told["spooled"]} == {str(first), str(second)}
    assert told["runs"][0]["validity"] == "invalid"
    assert "ALGO_MISMATCH_EAGLE_FOR_EAGLE3" in told["runs"][0]["reason"]


def test_the_plan_counts_what_an_earlier_call_left(cli: Cli, campaign: Path) -> None:
    folders = ["--out", campaign / "out", "--spool", campaign / "spool"]
    cli("sweep", campaign, *folders)  # refuses the only server, which is done with that
    arguments = ["sweep", campaign, "--plan", "--allow", "ALGO_MISMATCH_EAGLE_FOR_EAGLE3", *folders]

    again = [json.loads(cli(*arguments, "--json", *more).out)["expected"] for more in ([], ["--retry-failed"])]

    assert [(item["batches"], item["done_before"]) for item in again] == [(0, 1), (1, 0)]
    assert "; 1 done by an earlier call" in cli(*arguments).out


def _sweep_of_failures(folder: Path, *, baseline: str) -> None:
    """Write a sweep whose candidate does not come up."""
    file = folder / "campaign.toml"
    file.write_text(
        file.read_text().partition("[sweep]")[0]
        + f'[sweep]\nlaunch = {json.dumps(LAUNCH)}\ntarget = "target"\nstart_port = {free_port()}\nstop_grace_s = 2\n'
        f"[sweep.environment]\nPYTHONPATH = {json.dumps(str(ENGINE))}\n[sweep.baseline]\n{baseline}\n"
        "[sweep.workload]\noutput_tokens = 4\nwarmup = 0\nloads = [{concurrency = 1, requests = 2}]\n"
        '[[sweep.servers]]\nname = "bad"\nalgorithm = "NGRAM"\nenvironment = {FAKE_FAIL_START = "oom"}\n'
    )


@pytest.mark.slow
def test_a_sweep_in_which_only_the_baseline_could_be_measured_exits_with_one(cli: Cli, campaign: Path) -> None:
    _sweep_of_failures(campaign, baseline="every = 9")

    done = cli("sweep", campaign, "--out", campaign / "out", "--spool", campaign / "spool")

    assert done.code == 1, done.err
    names = {run.record.name: run.record.validity for run in map(Spool(campaign / "spool").read, _files(campaign))}
    assert names == {"baseline-1": "ok", "bad": "invalid", "baseline-2": "ok"}


def test_a_sweep_that_ends_with_an_error_says_where_its_records_wait(cli: Cli, campaign: Path) -> None:
    _sweep_of_failures(campaign, baseline='environment = {FAKE_FAIL_START = "crash"}')

    done = cli("sweep", campaign, "--out", campaign / "out")

    assert done.code == 1
    assert "the baseline did not come up" in done.err
    assert "records waiting in" in done.err
    assert "tracker sync" in done.err


def _files(campaign: Path) -> tuple[Path, ...]:
    return Spool(campaign / "spool").pending()


@pytest.mark.parametrize("through_a_spool", [True, False])
def test_the_campaigns_facts_are_in_the_store_however_its_records_got_there(
    cli: Cli, campaign: Path, tmp_path: Path, through_a_spool: bool
) -> None:
    file = campaign / "campaign.toml"
    file.write_text(
        file.read_text().replace('name = "c"', 'name = "c"\ndecision_concurrency = 8\n[costs]\nhorizon_days = 30')
    )
    spool = tmp_path / "carried"

    cli("sweep", campaign, "--out", tmp_path / "out", *(["--spool", spool] if through_a_spool else []))
    if through_a_spool:
        done = cli("sync", spool)
        assert (done.code, len(done.out.split())) == (0, 1), done.err

    store = open_store(f"sqlite:///{tmp_path / 'data' / 'mlflow.db'}", environ={}, cache_dir=tmp_path / "cache")
    facts = store.load_campaign("c")
    assert facts is not None
    assert (facts.decision_concurrency, facts.costs.horizon_days) == (8, 30)
    assert list((tmp_path / "data").rglob("*.campaign.json")) == []


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--only", "nobody"], 2, "names no server"),
        (["--budget", "soon"], 2, "no span of time"),
    ],
)
def test_mistakes_in_options_are_told_with_advice(
    cli: Cli, campaign: Path, arguments: list[str], code: int, words: str
) -> None:
    done = cli("sweep", campaign, *arguments)

    assert done.code == code
    assert words in done.err
    assert "next:" in done.err


def test_bench_prints_the_run_id_to_stdout_and_the_table_to_stderr(cli: Cli) -> None:
    with shared(*EAGLE3) as url:
        done = cli("bench", url, "--concurrency", "1,2", "--requests", "4", "--output-tokens", "8", "--repeats", "1")

    assert done.code == 0, done.err
    assert len(done.out.split()) == 1
    assert "accept length" in done.err
    shown = cli("show", done.out.strip(), "--json")
    assert json.loads(shown.out)["measurements"][0]["output_tokens"] == 32


@pytest.mark.parametrize("text", ["0", "a", "1,,2", "1.5", "-1"])
def test_loads_that_mean_nothing_are_refused(cli: Cli, text: str) -> None:
    done = cli("bench", "http://127.0.0.1:1", f"--concurrency={text}")

    assert done.code == 2
    assert "--concurrency" in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--timeout", "0s"], "leaves no time"),
        (["--budget", "0m"], "leaves no time"),
        (["--thinking", "on"], "none is used"),
        (["--thinking", "off", "--route", "openai"], "none is used"),
        (["--rate", "0"], "--rate"),
    ],
)
def test_options_of_bench_that_mean_nothing_are_refused_with_advice(cli: Cli, arguments: list[str], words: str) -> None:
    done = cli("bench", "http://127.0.0.1:1", *arguments)

    assert done.code == 2
    assert words in done.err
    assert "next:" in done.err


@pytest.mark.parametrize("url", ["host:xx", "ftp://host", "http://", "http://a b:80", "host:70000", "http://[::1"])
def test_what_is_no_address_is_refused_with_advice(cli: Cli, url: str) -> None:
    done = cli("bench", url, "--dry-run")

    assert done.code == 2
    assert "is no address of a server" in done.err
    assert "next:" in done.err


def test_an_address_with_the_openai_path_is_the_servers(cli: Cli) -> None:
    with shared(*EAGLE3) as url:
        done = cli("bench", f"{url.removeprefix('http://')}/v1/", "--requests", "4", "--concurrency", "1",
                   "--output-tokens", "8", "--repeats", "1", "--dry-run", "--json")  # fmt: skip

    assert done.code == 0, done.err
    assert json.loads(done.out)[0]["record"]["tags"]["bench.route"] == "sglang"
    assert "by position" in done.err


def test_a_huge_data_set_is_cut_and_the_record_names_what_was_sent(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "huge.jsonl"
    path.write_text("".join(json.dumps({"prompt": f"p {index}"}) + "\n" for index in range(700)))
    arguments = ["--prompts", path, "--concurrency", "64", "--output-tokens", "2", "--repeats", "1", "--dry-run"]
    with shared() as url:
        done = cli("bench", url, *arguments, "--json")

    record = json.loads(done.out)[0]["record"]
    assert "500 of the 700 prompts in huge are sent" in done.err
    assert record["workload"]["prompts"] == record["measurements"][0]["prompts"] == 500


@pytest.mark.parametrize("wrong", [("--experiment", "a/b"), ("--drafter", "missing"), ("--target", "missing")])
def test_what_would_keep_a_bench_from_being_logged_is_said_before_the_server_is_asked(
    cli: Cli, wrong: tuple[str, str]
) -> None:
    done = cli("bench", "http://127.0.0.1:9", *wrong)

    assert done.code == 1
    assert wrong[1] in done.err
    assert "127.0.0.1" not in done.err


@pytest.mark.slow
def test_an_interrupted_bench_keeps_what_was_measured(tmp_path: Path) -> None:
    with shared(*EAGLE3, FAKE_STEP_MS="4") as url:
        process = subprocess.Popen(
            [sys.executable, "-c", "from tracker.cli.main import main; main()", "bench", url, "--concurrency", "1",
             "--repeats", "1", "--output-tokens", "16", "--spool", str(tmp_path / "spool")],
            cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stderr is not None
        # The first answer is told at once; some more are to follow.
        first = process.stderr.readline()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, told = process.communicate(timeout=30)

    assert "1 of 111" in first
    assert process.returncode == 130, told
    run = Spool(tmp_path / "spool").read(Path(out.strip()))
    (cell,) = run.record.pooled()
    assert run.record.validity == "partial"
    assert "interrupted" in (run.record.validity_reason or "")
    assert cell.requests_completed is not None
    assert 0 < cell.requests_completed < 111
    assert cell.output_tokens == 16 * cell.requests_completed
    # A pass that was cut has no wall time, and so no throughput is claimed for it.
    assert cell.output_throughput_tok_s is None
