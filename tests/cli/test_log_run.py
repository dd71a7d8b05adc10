"""Logging from the command line, rightly and wrongly."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

TABLE = """config,speculative_algorithm,num_draft_tokens,output_throughput_tok_s,accept_length,accept_rate
baseline,,,90.0,,
"EAGLE3, 5 draft",EAGLE3,5,82.3,2.1,0.42
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "results.csv"
    path.write_text(TABLE)
    return path


def test_a_table_gives_one_run_a_row_and_the_ids_alone_on_stdout(cli: Cli, table: Path) -> None:
    outcome = cli("log-run", table, "--experiment", "trial", "--concurrency", "1")

    assert outcome.code == 0
    assert len(outcome.out.split()) == 2
    assert "as table" in outcome.err
    listed = json.loads(cli("runs", "--json").out)
    assert [row["output_throughput_tok_s"] for row in listed] == [90.0, 82.3]
    assert [row["role"] for row in listed] == ["baseline", "candidate"]
    assert {row["concurrency"] for row in listed} == {1}


def test_logging_the_same_file_again_is_the_same_run(cli: Cli, table: Path) -> None:
    first = cli("log-run", table)
    second = cli("log-run", table)

    assert first.out == second.out
    assert len(json.loads(cli("runs", "--json").out)) == 2


def test_the_same_file_with_other_facts_is_an_error_that_names_amend(cli: Cli, table: Path) -> None:
    cli("log-run", table)
    outcome = cli("log-run", table, "--samples", "10000")

    assert outcome.code == 1
    assert "tracker amend" in outcome.err
    assert "Traceback" not in outcome.err


def test_values_can_be_typed_by_hand(cli: Cli) -> None:
    outcome = cli(
        "log-run", "--metric", "output_throughput_tok_s=82.3", "--metric", "accept_length=2.1", "--concurrency", "1",
        "--server-cmd", "python -m sglang.launch_server --model-path T --speculative-algorithm EAGLE3 "
        "--speculative-draft-model-path D --speculative-num-steps 3 --speculative-eagle-topk 1 "
        "--speculative-num-draft-tokens 4", "--name", "typed",
    )  # fmt: skip

    assert outcome.code == 0
    shown = json.loads(cli("show", outcome.out.strip(), "--json").out)
    assert shown["speculation"]["algorithm"] == "EAGLE3"
    assert shown["speculation"]["num_steps"] == 3
    assert shown["measurements"][0]["reported_accept_length"] == {"half_width": 0.05, "value": 2.1}
    assert shown["role"] == "candidate"


def test_a_dry_run_stores_nothing(cli: Cli, table: Path) -> None:
    outcome = cli("log-run", table, "--dry-run", "--json")

    assert outcome.code == 0
    assert [item["record"]["name"] for item in json.loads(outcome.out)] == ["baseline", "EAGLE3, 5 draft"]
    assert cli("runs").out == ""


def test_a_command_is_run_its_result_logged_and_its_output_kept(cli: Cli, tmp_path: Path) -> None:
    script = f"open('out.csv','w').write({TABLE!r}); print('benchmark says hello')"

    outcome = cli("log-run", tmp_path / "out.csv", "--", sys.executable, "-c", script)

    assert outcome.code == 0
    assert len(outcome.out.split()) == 2
    assert "benchmark says hello" in outcome.err


def test_a_failing_command_passes_its_exit_code_on_and_its_runs_are_marked(cli: Cli, tmp_path: Path) -> None:
    script = f"open('out.csv','w').write({TABLE!r}); raise SystemExit(7)"

    outcome = cli("log-run", tmp_path / "out.csv", "--", sys.executable, "-c", script)

    assert outcome.code == 7
    rows = json.loads(cli("runs", "--json").out)
    assert {row["validity"] for row in rows} == {"suspect"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("name,colour\na,red\n", "throughput"),
        ("\x00\x01\x02 nothing we know", "format"),
        ("", "empty"),
    ],
)
def test_bad_files_give_one_clear_error_and_nothing_is_stored(
    cli: Cli, tmp_path: Path, content: str, words: str
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)

    outcome = cli("log-run", path)

    assert outcome.code == 1
    assert "bad.csv" in outcome.err
    assert words in outcome.err
    assert "next:" in outcome.err
    assert "Traceback" not in outcome.err
    assert cli("runs").out == ""


def test_a_truncated_response_file_keeps_what_is_whole(cli: Cli, tmp_path: Path) -> None:
    whole = {"concurrency": 1, "meta_info": {"completion_tokens": 50, "spec_verify_ct": 20, "e2e_latency": 0.5,
             "spec_num_correct_drafts": 30, "spec_num_proposed_drafts": 60, "prompt_tokens": 9}}  # fmt: skip
    path = tmp_path / "requests.jsonl"
    path.write_text(json.dumps(whole) + "\n" + json.dumps(whole) + "\n" + json.dumps(whole)[:60])

    outcome = cli("log-run", path)

    assert outcome.code == 0
    assert "partial" in outcome.err
    assert "line 3" in outcome.err
    shown = json.loads(cli("show", outcome.out.strip(), "--json").out)
    assert shown["measurements"][0]["requests_completed"] == 2


def test_an_unreachable_server_is_named(cli: Cli, table: Path) -> None:
    outcome = cli("log-run", table, "--server", "http://127.0.0.1:9")

    assert outcome.code == 1
    assert "127.0.0.1:9" in outcome.err
    assert "Traceback" not in outcome.err
    assert cli("runs").out == ""


def test_nothing_to_log_is_a_usage_error(cli: Cli) -> None:
    outcome = cli("log-run")

    assert outcome.code == 2
    assert "--metric" in outcome.err


def test_a_store_that_is_down_keeps_the_run_and_sync_sends_it(cli: Cli, table: Path) -> None:
    down = cli("log-run", table, "--tracking-uri", "http://127.0.0.1:9")
    sent = cli("sync")

    assert down.code == 1
    assert down.out == ""
    assert "tracker sync" in down.err
    assert "Traceback" not in down.err
    assert sent.code == 0
    assert len(sent.out.split()) == 2
    assert len(json.loads(cli("runs", "--json").out)) == 2
    assert cli("sync").out == ""


def test_a_campaigns_facts_wait_with_its_runs_while_the_store_is_down(cli: Cli, table: Path) -> None:
    table.with_name("campaign.toml").write_text(
        'schema_version = 1\n[campaign]\nname = "trial"\ntitle = "A trial"\n[[inputs]]\npath = "results.csv"\n'
        "concurrency = 1\n"
    )

    cli("log-run", table.parent, "--tracking-uri", "http://127.0.0.1:9")
    cli("sync")

    cli("report", "--since", "7d", "--out", table.parent / "memos")
    told = json.loads(next((table.parent / "memos").glob("*/memo.json")).read_text())
    assert told["title"] == "A trial"


def test_a_failing_command_without_a_result_is_logged_with_its_output_and_exit_code(cli: Cli, tmp_path: Path) -> None:
    script = "print('out of memory at step 3'); raise SystemExit(9)"

    outcome = cli("log-run", tmp_path / "never-written.csv", "--name", "trial", "--", sys.executable, "-c", script)

    assert outcome.code == 9
    shown = json.loads(cli("show", outcome.out.strip(), "--json").out)
    assert shown["measurements"] == []
    assert shown["validity"] == "suspect"
    assert "exited with 9" in shown["validity_reason"]
    assert "never-written.csv" in outcome.err
    assert "Traceback" not in outcome.err


def test_a_command_that_ends_well_without_its_result_is_logged_and_still_an_error(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("log-run", tmp_path / "never-written.csv", "--", sys.executable, "-c", "print('done')")

    assert outcome.code == 1
    assert "never-written.csv" in outcome.err
    (row,) = json.loads(cli("runs", "--json").out)
    assert row["validity"] == "partial"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (["--experiment", "a/b"], "a/b"),
        (["--experiment", "what?"], "what?"),
        (["--drafter", "missing"], "missing"),
        (["--target", "missing"], "missing"),
        (["--as", "nonsense"], "nonsense"),
        (["--metric", "accept_length=abc"], "abc"),
        (["--tracking-uri", "nonsense"], "nonsense"),
    ],
)
def test_what_would_keep_a_result_from_being_logged_is_said_before_the_command_runs(
    cli: Cli, tmp_path: Path, wrong: list[str], words: str
) -> None:
    outcome = cli("log-run", *wrong, "--", sys.executable, "-c", "open('ran', 'w')")

    assert outcome.code in (1, 2)
    assert words in outcome.err
    assert "next:" in outcome.err
    assert not (tmp_path / "ran").exists()


def test_a_drafter_that_vanished_while_the_command_ran_does_not_cost_its_result(cli: Cli, tmp_path: Path) -> None:
    drafter = tmp_path / "drafter"
    drafter.mkdir()
    (drafter / "config.json").write_text('{"architectures": ["LlamaForCausalLMEagle3"]}')
    script = f"import shutil; shutil.rmtree('drafter'); open('out.csv','w').write({TABLE!r})"

    outcome = cli("log-run", tmp_path / "out.csv", "--drafter", drafter, "--", sys.executable, "-c", script)

    assert outcome.code == 1
    assert "drafter" in outcome.err
    assert len(outcome.out.split()) == 2


@pytest.mark.parametrize("typed", ["accept_length=", "accept_length=abc", "accept_length=-1", "colour=3"])
def test_a_value_typed_by_hand_that_is_no_measurement_makes_no_run(cli: Cli, typed: str) -> None:
    outcome = cli("log-run", "--metric", typed)

    assert outcome.code == 1
    assert typed.partition("=")[0] in outcome.err
    assert "where: --metric" in outcome.err
    assert cli("runs").out == ""
