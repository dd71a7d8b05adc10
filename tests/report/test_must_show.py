"""Campaigns that lack something, from records to memo: refused or qualified in words, with what to measure."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

import pytest

from tests.analysis.builders import BASE, chain, drafter, run
from tests.analysis.campaigns import FOUNDING, WINDOW, founding_runs, printed
from tests.report.as_read import payload
from tests.report.founding import context
from tracker import options
from tracker.analysis.campaign import analyse
from tracker.analysis.decision import gather
from tracker.domain.campaign import Campaign
from tracker.domain.measurement import Measurement
from tracker.domain.record import StoredRun
from tracker.domain.server import Speculation
from tracker.report import MemoView, build, render_text
from tracker.report.view_parts import TableView
from tracker.report.walk import blocks_of

PLAIN = dataclasses.replace(FOUNDING, claims=(), deployed_run=None)


def memo(*runs: StoredRun, campaign: Campaign = PLAIN) -> MemoView:
    result = analyse(runs, campaign=campaign, window=WINDOW)
    return build(result, options.decide(gather(result)), context(run_urls={}))


def flat(view: MemoView) -> str:
    return " ".join(" ".join(line.removeprefix("| ").split()) for line in render_text(view).splitlines())


def changes(view: MemoView) -> dict[str, list[str]]:
    """What was, is and changed since the memo before, by name."""
    (table,) = (block for block in blocks_of(view) if isinstance(block, TableView) and block.key == "changes")
    return {row.head.text.text: [cell.text.text for cell in row.cells] for row in table.rows}


def forced(name: str, steps: int, tok_s: dict[int, str]) -> StoredRun:
    """A server whose acceptance is set to two tokens a step, at several loads."""
    speculation = Speculation(
        enabled=True,
        algorithm="EAGLE3",
        num_steps=steps,
        eagle_topk=1,
        num_draft_tokens=steps + 1,
        simulated_accept_length=2.0,
    )
    cells = tuple(
        Measurement(
            concurrency=load,
            prompts=20,
            reported_throughput_tok_s=printed(speed),
            reported_accept_length=printed("2.00"),
        )
        for load, speed in tok_s.items()
    )
    return run(name, speed="1.0", length="2.00", speculation=speculation, measurements=cells)


def plain(tok_s: dict[int, str]) -> StoredRun:
    """A baseline at several loads."""
    cells = tuple(
        Measurement(concurrency=load, prompts=20, reported_throughput_tok_s=printed(speed))
        for load, speed in tok_s.items()
    )
    return run("baseline", speed="1.0", measurements=cells)


def without_baseline() -> MemoView:
    return memo(*founding_runs()[1:], campaign=FOUNDING)


def drifting() -> MemoView:
    return memo(BASE, run("base again", speed="99.0", minutes=5), run("spec", speed="104.0", length="2.40", minutes=9))


def close_race() -> MemoView:
    speeds = ("90.5", "91.0", "91.5", "91.8", "92.2", "92.8")
    return memo(
        BASE, *(chain(f"chain-{steps}", steps, speed=speed, length="1.9") for steps, speed in enumerate(speeds, 1))
    )


def other_mixes() -> MemoView:
    mixes = ((1_000, "1.60", "chat"), (10_000, "2.10", "code"), (100_000, "2.50", "maths"))
    return memo(BASE, *(drafter(size, length, mix=mix, epochs=3) for size, length, mix in mixes))


def simulated() -> MemoView:
    return memo(
        plain({1: "190.0", 8: "1400"}),
        forced("sim-1", 1, {1: "296.9", 8: "2089.6"}),
        forced("sim-3", 3, {1: "245.2", 8: "1647.1"}),
        forced("sim-5", 5, {1: "211.1", 8: "1365.9"}),
    )


CASES: dict[str, tuple[Callable[[], MemoView], tuple[str, ...]]] = {
    "no baseline": (
        without_baseline,
        (
            "No verdict: run the baseline first",
            "Benchmark the plain server at 1 stream on the same workload: 1 GPU-hour.",
        ),
    ),
    "drift beyond the effect": (
        drifting,
        (
            "Measure again: 2 baselines differ by 10 %, the drafter by 5.1 %",
            "at least as much as the effect of 5.1 %; measure the baseline before and after.",
            "Mostly baseline drift: the baseline before and after the drafter narrows it",
        ),
    ),
    "a lead that choice may explain": (
        close_race,
        (
            "Measure again: 3.1 % ahead, in part for being the fastest of several",
            "The fastest of 6 candidates that may be as fast is in part the luckiest",
            "would decide it.",
        ),
    ),
    "sizes of different mixes": (
        other_mixes,
        (
            "The sizes differ in data mix: chat, code and maths.",
            "Cure: Train the sizes on one mix with equal passes over the data",
            "Not answered: the data do not carry a forecast.",
        ),
    ),
    "simulated acceptance": (
        simulated,
        (
            "NOT DECIDABLE no drafter was served",
            "No drafter was served, so whether one is faster is not decidable.",
            "without simulated acceptance, on these prompts",
            "Break-even accept length by load",
        ),
    ),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_what_cannot_be_concluded_is_said_with_what_to_measure(name: str) -> None:
    make, sentences = CASES[name]
    text = flat(make())

    for sentence in sentences:
        assert sentence in text


def test_a_missing_baseline_leaves_no_ratio_in_the_memo() -> None:
    document = payload(without_baseline())

    assert document["verdict"]["comparable"] is False
    assert all(row["break_even"]["value"] is None and row["speedup"]["value"] is None for row in document["evidence"])
    assert document["break_even_by_configuration"] == []


def test_the_speed_that_was_said_with_the_deployed_server_is_not_said_twice() -> None:
    assert "the 2-step server at 81.7 tok/s." in flat(without_baseline())
    assert "81.7 tok/s, 81.7" not in flat(without_baseline())


def test_a_refused_curve_is_not_praised_for_predicting_its_largest_size() -> None:
    assert "The refused curve all the same: predicted from the smaller sizes, 100,000 samples" in flat(other_mixes())


def test_simulated_acceptance_gives_the_bar_and_no_verdict() -> None:
    view = simulated()
    document = payload(view)
    text = flat(view)
    bars = {(row["configuration"], row["concurrency"]): row for row in document["break_even_by_configuration"]}

    assert view.state.key == "no_drafter"
    assert document["verdict"]["comparable"] is False
    assert bars["EAGLE3 3-1-4", 1]["break_even"]["value"] == pytest.approx(1.55, abs=0.01)
    assert bars["EAGLE3 5-1-6", 8]["break_even"]["value"] == pytest.approx(2.05, abs=0.01)
    assert re.search(r"Chain of 3 4 1\.55 \[\S+\] 1\.70 \[\S+\]", text)
    assert "Nothing can be valued before a speed is measured" in text
    assert "Each of 3 runs ran with simulated acceptance" in text


def test_the_speed_of_a_simulated_run_is_never_shown_as_one() -> None:
    view = simulated()
    rows = [row for row in payload(view)["evidence"] if row["step_time_only"]]

    assert len(rows) == 6
    assert "2,090" not in render_text(view).split("EVIDENCE")[1]


def test_chains_are_compared_at_equal_quality_of_the_drafter() -> None:
    view = simulated()
    (table,) = (block for block in blocks_of(view) if isinstance(block, TableView) and block.key == "fastest-chains")
    (at_70,) = (row for row in table.rows if row.head.text.text == "70 %")
    one, eight = at_70.cells

    # (1 + 0.7 + 0.49 + 0.343) / 1.55 at one stream, / 1.70 at eight, where no longer chain is expected to win
    assert one.small[-1].text == "1.63×, chain of 3"
    assert eight.text.text == "1.49×, chain of 3"
    # One step more is predicted from the measured chains and marked as such, in memo.json as well.
    assert one.text.text == "1.66×, chain of 4 predicted"
    (bar,) = (bar for bar in payload(view)["chain_bars"] if (bar["num_steps"], bar["concurrency"]) == (4, 1))
    assert not bar["measured"]
    assert (1 + 0.7 + 0.49 + 0.343 + 0.2401) / bar["break_even"]["value"] == pytest.approx(1.66, abs=0.005)
    assert "measured chains" in bar["basis"]


def test_real_drafters_beside_simulated_ones_get_their_verdict() -> None:
    real = chain("real", 5, speed="97.0", length="2.6")
    view = memo(BASE, forced("sim-3", 3, {1: "140.0"}), real)

    assert view.state.key == "faster"
    assert "acceptance simulated: step time only" in flat(view)


def test_a_second_simulated_memo_says_how_the_bar_moved() -> None:
    first = simulated()
    base, *rest = (
        plain({1: "190.0", 8: "1400"}),
        forced("sim-1", 1, {1: "316.7", 8: "2089.6"}),
        forced("sim-3", 3, {1: "245.2", 8: "1647.1"}),
    )
    result = analyse((base, *rest), campaign=PLAIN, window=WINDOW)
    view = build(result, options.decide(gather(result)), context(run_urls={}, previous=payload(first), memo_number=2))

    # 2 * 190 / 296.9 before, 2 * 190 / 316.7 now
    assert changes(view)["Break-even of chain of 1"] == ["1.28", "1.20", "−6.3 %"]


def test_repeats_that_would_change_no_choice_are_not_asked_for() -> None:
    text = flat(
        memo(BASE, chain("three", 3, speed="92.0", length="2.40"), chain("five", 5, speed="91.0", length="2.70"))
    )

    assert "Asked of you: Approve 40 GPU-hours for option A? Cut overhead only. At worst 40 are lost." in text
    assert "Do next: Option A: cut overhead only. It leads whichever way repeats would decide." in text
    assert "--samples" not in text[: text.index("EVIDENCE")]


def test_a_throughput_that_did_not_move_is_no_change() -> None:
    first = memo(plain({1: "527.7"}), forced("sim-1", 1, {1: "700.0"}))
    again = build(
        first.source.analysis,
        first.source.decision,
        context(run_urls={}, previous=payload(first), memo_number=2),
    )

    assert changes(again)["Baseline, tok/s"] == ["528", "528", "none"]
