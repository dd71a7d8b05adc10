"""`tracker report --explain`: formulas beside the memo and at the end of its text."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Cli
from tracker.resources import experiments_dir


def test_explain_writes_the_formulas_beside_the_memo_and_says_where(cli: Cli, tmp_path: Path) -> None:
    assert cli("log-run", experiments_dir() / "kimi-k2.5-eagle3").code == 0

    found = cli("report", "--since", "1h", "--out", tmp_path / "reports", "--explain")

    memo = Path(found.out.strip())
    explanation = memo.with_name("explain.txt")
    text = explanation.read_text(encoding="utf-8")
    assert found.code == 0
    assert f"explained in {explanation}" in found.err
    assert "= 25.5164 ms" in text
    assert memo.with_suffix(".txt").read_text(encoding="utf-8").endswith(text)


def test_without_it_no_explanation_is_written(cli: Cli, tmp_path: Path) -> None:
    assert cli("log-run", experiments_dir() / "kimi-k2.5-eagle3").code == 0

    found = cli("report", "--since", "1h", "--out", tmp_path / "reports")

    assert not Path(found.out.strip()).with_name("explain.txt").exists()
    assert "explained" not in found.err
