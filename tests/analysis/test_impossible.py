"""What cannot be is named, and carries no number: lengths below the bonus token, steps that drafts make cheaper."""

from __future__ import annotations

import pytest

from tests.analysis.builders import BASE, analysed, run
from tracker.domain.record import StoredRun
from tracker.domain.workload import Workload


def on(name: str, prompts: str, *, speed: str, length: str | None = None) -> StoredRun:
    return run(name, speed=speed, length=length, workload=Workload(prompt_set=prompts))


def test_an_accept_length_below_the_bonus_token_is_none_and_is_named() -> None:
    analysis = analysed(BASE, run("spec", speed="120.0", length="0.8"))
    row = next(point for point in analysis.points if point.name == "spec")

    assert row.accept_length.value is None
    assert row.break_even is None
    assert analysis.costs == ()
    (note,) = (item for item in analysis.data_quality if item.topic == "accept length")
    assert "0.80 is less than the bonus token" in note.message
    assert analysis.verdict.status == "faster"


@pytest.mark.parametrize(("printed", "value"), [("1.0", 1.0), ("0.98", None), ("1", 1.0)])
def test_a_length_that_rounding_may_bring_to_one_is_kept(printed: str, value: float | None) -> None:
    rows = analysed(BASE, run("spec", speed="50.0", length=printed)).points

    assert next(point for point in rows if point.name == "spec").accept_length.value == value


def test_a_lead_over_a_baseline_that_is_too_slow_says_so() -> None:
    analysis = analysed(run("base", speed="90.0"), run("spec", speed="270.0", length="1.50"))
    (verdict,) = analysis.verdict.by_concurrency

    assert verdict.reason is not None
    assert verdict.reason.endswith(
        "A speculative step takes less time than a plain one (0.50): the baseline is slower than it should be, so "
        "measure it again before trusting the speed-up."
    )


def test_the_verdict_names_its_prompts_where_the_campaign_has_others() -> None:
    chat = [on("base", "chat", speed="90.0"), on("spec", "chat", speed="120.0", length="2.00")]
    code = [on("spec-code", "code", speed="150.0", length="2.50")]

    assert analysed(*chat, *code).verdict.scope == "these 20 prompts of chat, 1 stream"
    assert analysed(*chat).verdict.scope == "these 20 prompts, 1 stream"
