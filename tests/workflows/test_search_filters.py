"""The search filters that the README lists: each is typed into MLflow as it stands there, and finds what it says."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tracker.store.mlflow_compared import VS_BASELINE, compared
from tracker.workflows.demo import run_demo
from tracker.workflows.session import Session

ROOT = Path(__file__).parents[2]
# In the past of whoever runs this: the store notes when it is told of a change, by the real clock.
NOW = datetime(2026, 6, 1, 8, 0, tzinfo=UTC)
DRAFTED = {
    "eagle3-1000-3-1-4", "eagle3-10000-3-1-4", "eagle3-10000-x2-3-1-4", "eagle3-2000-3-1-4", "eagle3-2000-x2-3-1-4",
    "eagle3-20000-3-1-4", "eagle3-5000-3-1-4", "eagle3-50000-3-1-4",
}  # fmt: skip
LARGEST = {f"eagle3-100000-{shape}" for shape in ("1-1-2", "2-1-3", "3-1-4", "3-4-16", "5-1-6", "7-1-8")}
BASELINES = {"baseline-1", "baseline-2", "baseline-3"}
WRONG = "eagle-wrong-flag-100000-3-1-4"
EXPECTED = {
    "EAGLE-3 runs of one drafter that are faster than the baseline": {"eagle3-100000-5-1-6", "eagle3-100000-7-1-8"},
    "at least 5 % faster, whatever the interval": {
        "eagle3-10000-3-1-4", "eagle3-10000-x2-3-1-4", "eagle3-100000-3-1-4", "eagle3-100000-3-4-16",
        "eagle3-100000-5-1-6", "eagle3-100000-7-1-8",
    },
    "slower for certain": {
        "AQ-MedAI, EAGLE3, no CUDA graph", "EAGLE3, CUDA graph, 16 draft", "EAGLE3, CUDA graph, 5 draft",
        "EAGLE3, CUDA graph, 5 draft, 2-step", "EAGLE3, no CUDA graph, 16 draft", "EAGLE3, no CUDA graph, 5 draft",
        "eagle3-1000-3-1-4", "eagle3-2000-3-1-4", "eagle3-2000-x2-3-1-4", "eagle3-100000-1-1-2",
    },
    "ran with the wrong flag": {"EAGLE flag given for the EAGLE-3 drafter (before the fix)", WRONG},
    "baselines whose numbers may be used": {"SGLang baseline (no speculation)"} | BASELINES,
    "more than 2.5 tokens a step with 4 draft tokens": {
        "eagle3-10000-3-1-4", "eagle3-10000-x2-3-1-4", "eagle3-20000-3-1-4", "eagle3-50000-3-1-4",
        "eagle3-100000-3-1-4",
    },
    "drafters of 100,000 samples or more": {WRONG} | LARGEST,
    "all runs on one prompt set": {WRONG} | LARGEST | DRAFTED | BASELINES,
    "memos that said slower": {"memo 2026-06-01: slower"},
}  # fmt: skip


def documented() -> dict[str, str]:
    """Return the filters of the README's section by what it says of them."""
    section = (
        (ROOT / "README.md").read_text(encoding="utf-8").partition("## Searching in MLflow")[2].partition("\n## ")[0]
    )
    lines = re.findall(r"^    (.+?)\s{2,}# (.+)$", section, re.MULTILINE)
    return {meaning.strip(): condition.strip() for condition, meaning in lines}


def a_demo(folder: Path) -> Session:
    session = Session(now=NOW, environ={}, cwd=folder, folder=folder / "store")
    run_demo(folder / "memos", session, UTC)
    return session


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Return what every filter is tried on: no test may write to it, the order of the tests is not fixed."""
    return a_demo(tmp_path_factory.mktemp("demo"))


def test_the_readme_lists_the_filters_that_are_tried_here() -> None:
    assert documented().keys() == EXPECTED.keys()


@pytest.mark.parametrize("meaning", EXPECTED)
@pytest.mark.slow
def test_a_filter_finds_what_the_readme_says(meaning: str, demo: Session) -> None:
    import mlflow

    mlflow.set_tracking_uri(demo.store().uri)
    found = mlflow.search_runs(
        experiment_names=list(demo.store().experiments()), filter_string=documented()[meaning], output_format="list"
    )

    assert {run.info.run_name for run in found} == EXPECTED[meaning]


@pytest.mark.slow
def test_a_later_memo_says_anew_how_a_run_compares(tmp_path: Path) -> None:
    from tracker.workflows.amend import AmendRequest, amend_run
    from tracker.workflows.report import ReportRequest, write_reports

    demo = a_demo(tmp_path)
    store = demo.mlflow_store()
    run = store.load("eagle3-100000-3-1-4")
    session = Session(now=NOW + timedelta(days=1), environ={}, cwd=tmp_path, folder=demo.folder)
    amend_run(AmendRequest(run=run.run_id, validity="invalid", reason="throttled"), session)
    write_reports(ReportRequest(since="7d", experiment="h200-tiny-llama", out=tmp_path), session)

    assert store.client.get_run(run.run_id).data.tags[VS_BASELINE] == "not compared"


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"verdict": null, "evidence": []}', b"\xff"])
def test_a_document_that_is_no_memo_compares_nothing(content: bytes) -> None:
    assert compared(content) == {}
