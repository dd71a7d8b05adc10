"""The campaigns of experiments/ from their files to memo.json: what the memos must say."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tracker.resources import experiments_dir
from tracker.store import MemoryStore
from tracker.workflows.log_run import LogRequest, log_run
from tracker.workflows.report import ReportRequest, write_reports
from tracker.workflows.session import Session

NOW = datetime(2026, 11, 30, 6, 0, tzinfo=UTC)


def memo_of(name: str, folder: Path) -> tuple[dict[str, Any], str]:
    session = Session(now=NOW, environ={}, cwd=folder, folder=folder, _store=MemoryStore())
    logged = log_run(LogRequest(inputs=(experiments_dir() / name,)), session)
    assert logged.store_error is None
    session.now = NOW + timedelta(seconds=1)
    (memo,) = write_reports(ReportRequest(since="1h", out=folder / "reports"), session).memos
    return dict(memo.content), memo.path.with_suffix(".txt").read_text()


@pytest.fixture(scope="module")
def founding(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    return memo_of("kimi-k2.5-eagle3", tmp_path_factory.mktemp("founding"))


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    return memo_of("h200-tiny-llama", tmp_path_factory.mktemp("clean"))


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    return memo_of("h200-llama-8b-simulated", tmp_path_factory.mktemp("simulated"))


@pytest.fixture(scope="module")
def h200(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    return memo_of("h200-tiny-llama-contaminated", tmp_path_factory.mktemp("h200"))


def row(memo: dict[str, Any], name: str, concurrency: int = 1) -> dict[str, Any]:
    (found,) = (item for item in memo["evidence"] if (item["name"], item["concurrency"]) == (name, concurrency))
    return dict(found)


@pytest.mark.parametrize(
    ("name", "value", "rounding_low", "rounding_high"),
    [
        ("EAGLE3, CUDA graph, 5 draft", 2.30, 2.27, 2.33),
        ("EAGLE3, CUDA graph, 16 draft", 2.65, 2.59, 2.71),
        ("EAGLE3, CUDA graph, 5 draft, 2-step", 2.13, 2.12, 2.15),
        ("EAGLE3, no CUDA graph, 16 draft", 3.50, 3.42, 3.58),
        ("EAGLE3, no CUDA graph, 5 draft", 3.55, 3.50, 3.60),
        ("AQ-MedAI, EAGLE3, no CUDA graph", 3.39, 3.29, 3.48),
    ],
)
def test_founding_break_even_and_what_rounding_leaves_open(
    founding: tuple[dict[str, Any], str], name: str, value: float, rounding_low: float, rounding_high: float
) -> None:
    bar = row(founding[0], name)["break_even"]

    assert bar["value"] == pytest.approx(value, abs=0.006)
    assert bar["rounding_low"] == pytest.approx(rounding_low, abs=0.006)
    assert bar["rounding_high"] == pytest.approx(rounding_high, abs=0.006)
    assert bar["low"] < bar["rounding_low"]
    assert bar["high"] > bar["rounding_high"]


def test_founding_is_slower_by_8_6_percent_on_these_prompts(founding: tuple[dict[str, Any], str]) -> None:
    memo, text = founding
    (load,) = memo["verdict"]["by_concurrency"]

    assert memo["verdict"]["status"] == "slower"
    assert load["speedup"]["value"] == pytest.approx(82.3 / 90.0)
    assert load["speedup"]["low"] == pytest.approx(0.88, abs=0.02)
    assert load["speedup"]["high"] == pytest.approx(0.95, abs=0.02)
    assert memo["verdict"]["population_speedup"]["high"] > load["speedup"]["high"]
    assert "8.6 % slower" in text
    assert "5 prompts" in text


def test_founding_reach_is_unknown_where_the_steps_are(founding: tuple[dict[str, Any], str]) -> None:
    memo, text = founding

    assert row(memo, "EAGLE3, CUDA graph, 5 draft")["reachable"] is None
    assert row(memo, "EAGLE3, CUDA graph, 5 draft, 2-step")["reachable"] is True
    assert row(memo, "EAGLE3, no CUDA graph, 5 draft")["reachable"] is None
    assert "unreachable if it ran with 2 steps" in _one_line(text)


def test_founding_names_the_wrong_flag_that_was_fixed(founding: tuple[dict[str, Any], str]) -> None:
    memo, text = founding
    cause = memo["root_cause"]

    assert memo["findings"][0]["code"] == "ALGO_MISMATCH_EAGLE_FOR_EAGLE3"
    assert cause["fixed"] is True
    assert text.index("ROOT CAUSE") < text.index("Asked of you")
    assert "- --speculative-algorithm EAGLE\n" in text.replace("−", "-")
    assert "+ --speculative-algorithm EAGLE3" in text
    void = row(memo, "EAGLE flag given for the EAGLE-3 drafter (before the fix)")
    assert void["excluded_reason"] is not None
    assert void["break_even"]["value"] is None


def test_founding_forecast_from_one_size_is_an_interval_with_its_chance_of_never(
    founding: tuple[dict[str, Any], str],
) -> None:
    scaling = founding[0]["scaling"]
    needed = scaling["samples_to_break_even"]

    assert scaling["status"] == "qualified"
    assert scaling["data_share"] == 0
    assert needed["low"] == pytest.approx(15_000, rel=0.15)
    assert needed["median"] == pytest.approx(25_000, rel=0.15)
    assert needed["high"] is None
    assert needed["p_never"] == pytest.approx(0.11, abs=0.03)


def test_founding_puts_the_earlier_estimate_right_and_asks_about_what_is_deployed(
    founding: tuple[dict[str, Any], str],
) -> None:
    memo, text = founding

    assert "2.13" in memo["claims"][0]["message"]
    assert "2.65" in memo["claims"][0]["message"]
    assert "Deployed now: 5 draft tokens, 2 steps, CUDA graph" in _one_line(text)
    assert memo["acceptance"]["rejections_explained"] == pytest.approx(0.04, abs=0.005)
    assert any("8, 10" in sentence for sentence in memo["next_experiment"]["do_not_test"])


def test_h200_names_the_wrong_flag_server_as_root_cause(h200: tuple[dict[str, Any], str]) -> None:
    memo, _ = h200

    assert memo["findings"][0]["code"] == "ALGO_MISMATCH_EAGLE_FOR_EAGLE3"
    for load in (1, 8, 32):
        assert row(memo, "eagle-wrong-flag-d100000-3-1-4", load)["excluded_reason"] is not None


def test_h200_finds_its_own_noise_and_carries_it_into_the_verdicts(h200: tuple[dict[str, Any], str]) -> None:
    memo, _ = h200
    noise = next(note for note in memo["data_quality"] if note["topic"] == "noise between runs")
    by_load = {load["concurrency"]: load for load in memo["verdict"]["by_concurrency"]}

    assert re.search(r"3\.6 to \d\.\d ms at 1 stream", noise["message"])
    assert by_load[8]["status"] == "undecided"
    assert by_load[8]["smallest_detectable"] > 0.1
    assert memo["verdict"]["status"] == "mixed"
    width = by_load[32]["speedup"]["high"] / by_load[32]["speedup"]["low"]
    assert width > 1.5


def test_h200_refuses_the_step_time_fit_and_the_scaling_fit(h200: tuple[dict[str, Any], str]) -> None:
    memo, _ = h200

    assert memo["step_time"]["status"] == "refused"
    assert "2 draft steps cost more than 3" in memo["step_time"]["reason"]
    assert memo["scaling"]["status"] == "refused"
    assert "training" in memo["scaling"]["reason"]
    assert memo["scaling"]["forecast"] == []


def test_h200_compares_one_stream_on_the_prompts_in_common(h200: tuple[dict[str, Any], str]) -> None:
    memo, text = h200
    first = memo["verdict"]["by_concurrency"][0]

    assert first["concurrency"] == 1
    assert 10 <= first["prompts_in_common"] <= 19
    assert "prompts in common" in _one_line(text)


def test_h200_names_the_draft_vocabulary_as_a_lever(h200: tuple[dict[str, Any], str]) -> None:
    memo, _ = h200

    assert memo["acceptance"]["vocabulary"]["is_lever"] is True
    assert memo["acceptance"]["rejections_explained"] == pytest.approx(1 / 3, abs=0.05)
    assert any(option["key"].startswith("enlarge_vocabulary") for option in memo["options"])


@pytest.mark.slow
def test_clean_campaign_decides_one_stream_and_leaves_the_others_open(clean: tuple[dict[str, Any], str]) -> None:
    memo, _ = clean
    by_load = {load["concurrency"]: load for load in memo["verdict"]["by_concurrency"]}

    assert memo["verdict"]["status"] == "mixed"
    assert [by_load[load]["status"] for load in (1, 8, 32)] == ["faster", "undecided", "undecided"]
    assert by_load[1]["speedup"]["value"] == pytest.approx(1037.3 / 652.3, rel=1e-3)
    assert 1 < by_load[1]["speedup"]["low"] < 1.3
    assert len({item["run_id"] for item in memo["evidence"]}) == 18


@pytest.mark.slow
def test_clean_campaign_finds_the_noise_between_its_processes(clean: tuple[dict[str, Any], str]) -> None:
    noise = {item["concurrency"]: item for item in clean[0]["noise"]}

    assert all(noise[load]["source"] == "measured" for load in (1, 8, 32))
    assert all(0.1 < noise[load]["sd"] < 0.2 for load in (1, 8, 32))


@pytest.mark.slow
def test_clean_campaign_names_the_wrong_flag_and_keeps_it_out_of_every_fit(clean: tuple[dict[str, Any], str]) -> None:
    memo, _ = clean
    wrong = row(memo, "eagle-wrong-flag-100000-3-1-4")

    assert memo["findings"][0]["code"] == "ALGO_MISMATCH_EAGLE_FOR_EAGLE3"
    assert wrong["excluded_reason"] is not None
    assert wrong["run_id"] not in memo["step_time"]["run_ids"]


@pytest.mark.slow
def test_clean_campaign_splits_the_step_and_follows_its_curve(clean: tuple[dict[str, Any], str]) -> None:
    memo, _ = clean

    assert memo["step_time"]["status"] == "fitted"
    assert memo["step_time"]["fixed_ms"]["value"] == pytest.approx(2.04, abs=0.1)
    assert memo["scaling"]["status"] == "qualified"
    assert [size["samples"] for size in memo["scaling"]["sizes"]] == [
        1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000,
    ]  # fmt: skip
    assert "2,000 samples at 10 instead of 5 epochs: 1.72 against 1.50" in memo["scaling"]["reason"]
    assert memo["acceptance"]["rejections_explained"] == pytest.approx(1 / 3, abs=0.05)


@pytest.mark.slow
def test_simulated_campaign_gives_a_bar_for_each_load_and_no_verdict(simulated: tuple[dict[str, Any], str]) -> None:
    memo, text = simulated
    bars = {
        (item["configuration"], item["concurrency"]): item["break_even"]["value"]
        for item in memo["break_even_by_configuration"]
    }

    assert memo["verdict"]["status"] == "undecided"
    assert bars[("EAGLE3 2-1-3", 1)] == pytest.approx(1.40, abs=0.01)
    assert bars[("EAGLE3 7-1-8", 64)] == pytest.approx(4.34, abs=0.02)
    assert "no drafter was served" in text
    assert not any(item["severity"] == "error" for item in memo["findings"])


def _one_line(text: str) -> str:
    return " ".join(text.split())
