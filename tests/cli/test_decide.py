"""A memo, the decision on it, and the next memo, as typed in a terminal."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Cli
from tracker.resources import experiments_dir


def test_decision_goes_beside_the_memo_and_into_its_run(cli: Cli, tmp_path: Path) -> None:
    assert cli("log-run", experiments_dir() / "kimi-k2.5-eagle3").code == 0
    written = cli("report", "--since", "1h", "--out", tmp_path / "memos", "--tz", "UTC")
    memo = Path(written.out.strip())
    run_id = json.loads(memo.with_name("memo.json").read_text())["report_run"]["run_id"]

    decided = cli("decide", memo, "--option", "keep_baseline", "--by", "A. Lead", "--note", "for now")
    by_run = cli("decide", run_id, "--option", "A", "--json")
    runs = cli("runs", "--json")

    assert f"kept in the store as run {run_id}" in written.err
    assert (decided.code, decided.out.strip()) == (0, str(memo.with_name("decision.json")))
    assert "decided: Keep the baseline (by A. Lead)" in decided.err
    assert f"kept with run {run_id}" in decided.err
    assert json.loads(by_run.out)["option"] == json.loads(memo.with_name("memo.json").read_text())["options"][0]["key"]
    assert run_id not in {row["run_id"] for row in json.loads(runs.out)}


def test_unknown_option_or_memo_ends_with_the_way_out(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "memo.json").write_text('{"generated_at": "2026-11-30T08:00:00+00:00", "options": []}')

    option = cli("decide", tmp_path, "--option", "keep_baseline")
    memo = cli("decide", tmp_path / "nowhere.html", "--option", "A")

    assert (option.code, option.out) == (2, "")
    assert "the memo has no option 'keep_baseline'" in option.err
    assert memo.code == 1
    assert "there is no memo here" in memo.err
    assert not (tmp_path / "decision.json").exists()


def test_a_file_that_is_no_memo_is_told_from_one_that_cannot_be_read(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a memo")
    (tmp_path / "folder").mkdir()

    file = cli("decide", tmp_path / "notes.txt", "--option", "A")
    folder = cli("decide", tmp_path / "folder", "--option", "A")

    for outcome in (file, folder):
        assert outcome.code == 1
        assert "this is no memo" in outcome.err
        assert "tracker report" in outcome.err
