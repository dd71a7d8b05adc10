"""Earlier forecasts against later runs, decisions, jumps over time, and what of the options is shown."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest

from tests.report.as_read import payload
from tests.report.examples import MEMOS
from tests.report.founding import context, founding
from tests.report.founding_options import founding_decision
from tests.report.h200 import h200, h200_decision
from tracker.analysis.results import NextExperiment
from tracker.domain.estimate import Estimate
from tracker.report import EarlierMemo, MemoView, build, render_html, render_text
from tracker.report.charts import draw
from tracker.report.charts.marks import Line
from tracker.report.figures import OptionRow, OptionsData
from tracker.report.past import Calibration, Expectation, Outcome, calibration, fair_range
from tracker.report.spans import Span
from tracker.report.view_parts import FigureView, TableView


def section(view: MemoView, key: str):  # type: ignore[no-untyped-def]
    """One section of a memo."""
    return next(item for item in view.sections if item.key == key)


def outcome(
    low: float, high: float, measured: float, chance: float | None = None, faster: bool | None = None
) -> Outcome:
    expected = Expectation(
        key="k", title="t", made_at=None, unit="tok/s", value=None, low=low, high=high, p_beats_baseline=chance
    )
    return Outcome(expected=expected, run_id="r", measured=measured, faster=faster)


def test_hits_and_brier_score_are_counted_by_hand() -> None:
    found = Calibration(
        checked=(outcome(1, 2, 1.5, 0.9, True), outcome(1, 2, 2.5, 0.8, False), outcome(1, 2, 2.0, None, None))
    )

    assert found.hits == (2, 3)
    assert found.brier == (pytest.approx((0.1**2 + 0.8**2) / 2), 2)


@pytest.mark.parametrize(("count", "low", "high"), [(1, 0, 1), (5, 2, 5), (10, 6, 10), (50, 35, 44)])
def test_range_of_hits_that_fair_intervals_give(count: int, low: int, high: int) -> None:
    assert fair_range(count) == (low, high)


def test_last_forecast_before_the_run_is_the_one_that_counts() -> None:
    items = payload(MEMOS["third"]())["calibration"]["items"]

    forecast = next(item for item in items if item["key"] == "forecast_100000")
    assert forecast["made_at"].startswith("2026-12-07")
    assert (forecast["measured"], forecast["inside"]) == (2.47, True)


def test_run_that_the_earlier_memo_knew_tests_none_of_its_forecasts() -> None:
    before = EarlierMemo(content=payload(MEMOS["founding"]()))

    assert calibration(founding(), context(earlier=(before,))).checked == ()


def test_excluded_run_tests_no_forecast() -> None:
    third = MEMOS["third"]().source
    rows = tuple(
        dataclasses.replace(point, excluded_reason="wrong flag") if point.is_news else point
        for point in third.analysis.points
    )

    assert calibration(dataclasses.replace(third.analysis, points=rows), third.context).checked == ()


def test_decision_that_no_run_has_tested_is_said_to_be_open() -> None:
    taken = {"option": "more_data_300000", "by": "A. Lead", "decided_at": "2026-11-30T12:00:00+00:00"}
    before = EarlierMemo(content=payload(MEMOS["founding"]()), decision=taken)
    view = build(founding(), founding_decision(), context(earlier=(before,), memo_number=2))

    decided = section(view, "decided")
    assert decided.heading.text == "Train 300K: decided, not yet measured"
    (row,) = decided.blocks[0].rows
    assert [cell.text.text for cell in row.cells] == [
        *("30 Nov 2026", "A. Lead", "109.4", "not yet measured", "not yet measured", ""),
    ]


def test_jumps_stand_in_the_chart_and_are_explained_below() -> None:
    view = MEMOS["third"]()
    history = section(view, "history")
    figure = next(block for block in history.blocks if isinstance(block, FigureView))

    assert history.heading.text == "A series jumped, and nobody wrote down why"
    assert [(change.letter, change.at.day) for change in figure.data.changes] == [("a", 12)]  # type: ignore[union-attr]
    assert "Jump a: The baseline at 1 stream fell from 90.0 to 84.1 tok/s" in render_text(view).replace("\n  ", " ")


def test_runs_of_one_afternoon_have_no_history() -> None:
    moment = datetime(2026, 11, 24, 9, tzinfo=UTC)
    source = founding()
    rows = tuple(
        dataclasses.replace(point, measured_at=moment + timedelta(minutes=index))
        for index, point in enumerate(source.points)
    )
    view = build(dataclasses.replace(source, points=rows), founding_decision(), context())

    assert "history" not in {item.key for item in view.sections}


def test_time_of_logging_places_runs_whose_measuring_time_is_unknown() -> None:
    source = founding()
    days = {point.run_id: datetime(2026, 11, 1 + index, tzinfo=UTC) for index, point in enumerate(source.points)}
    view = build(source, founding_decision(), context(logged_at=days))

    (figure,) = section(view, "history").blocks
    assert "where that is not recorded, by when it was logged" in figure.source.text


def test_cheap_experiment_worth_its_price_is_asked_for_first() -> None:
    experiment = NextExperiment(title="Benchmark it", why="it decides", cost_gpu_hours=1.0, net_value_gpu_hours=121.0)
    view = build(founding(), founding_decision(next_experiment=experiment), context())
    ask = view.brief[0]

    assert ask.lead.text == "Go back to the plain server and spend 1 GPU-hour testing?"
    assert view.mail.subject.endswith("tok/s). Asked: 1 GPU-hour of testing")
    assert (
        ask.text.text
        == "Then option A, at worst 790 GPU-hours lost. Deployed now: the 2-step configuration, 81.7 tok/s."
    )


@pytest.mark.parametrize(("cost", "value"), [(60.0, 121.0), (1.0, -3.0), (1.0, None), (None, 121.0)])
def test_dear_or_worthless_experiment_does_not_delay_the_leader(cost: float | None, value: float | None) -> None:
    experiment = NextExperiment(title="Benchmark it", why="it decides", cost_gpu_hours=cost, net_value_gpu_hours=value)
    view = build(founding(), founding_decision(next_experiment=experiment), context())

    expected = "Move production back to the plain server and spend 790 GPU-hours on option A?"
    assert expected == view.brief[0].lead.text


def test_decider_and_note_come_out_as_text() -> None:
    hostile = "<script>alert(1)</script>{{ 7 * 7 }}\r\nBcc: x@evil.example \u202eabc"
    taken = {"option": "keep_baseline", "by": hostile, "note": hostile, "decided_at": "2026-11-30T12:00:00+00:00"}
    before = EarlierMemo(content=payload(MEMOS["founding"]()), decision=taken)
    view = build(founding(), founding_decision(), context(earlier=(before,), memo_number=2))
    page = render_html(view)

    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;{{ 7 * 7 }}" in page
    assert "\u202e" not in page + render_text(view)
    assert "\nBcc" not in render_text(view)


@pytest.mark.parametrize("cost", [0.0, 790.0, None])
def test_cost_of_an_option_reaches_as_far_below_zero_as_it_can_lose(cost: float | None) -> None:
    row = OptionRow(
        letter="A",
        label="x",
        mean=100.0,
        low=-50.0,
        high=300.0,
        text=Span(text="+100"),
        lead=False,
        known=False,
        cost=cost,
    )
    lines = [mark for mark in draw(OptionsData(rows=(row,))).marks if isinstance(mark, Line) and mark.css == "gap"]

    assert len(lines) == (1 if cost else 0)
    assert all(line.x1 < line.x2 for line in lines)


def test_many_options_are_cut_to_the_best_of_each_kind_and_the_rest_is_counted() -> None:
    given = founding_decision()
    more = tuple(
        dataclasses.replace(given.options[2], key=f"more_data_{size}", title=f"Train {size}", rank=20 + index)
        for index, size in enumerate((1_000_000, 2_000_000, 3_000_000))
    )
    options = (*given.options[:-2], *more, *given.options[-2:])
    view = build(founding(), dataclasses.replace(given, options=options), context())
    table = next(b for b in section(view, "options").blocks if isinstance(b, TableView))
    titles = [row.head.text.text for row in table.rows]

    assert len([title for title in titles if title not in ("Keep the baseline", "Deploy today's drafter")]) <= 8
    assert {"Keep the baseline", "Deploy today's drafter", "Cut overhead only"} <= set(titles)
    assert "of these are in memo.json" in table.conditions.text
    assert len(payload(view)["options"]) == len(options)


def test_no_accept_length_or_interval_lies_below_one() -> None:
    source = founding()
    low = Estimate(value=0.998, low=0.95, high=1.05)
    void = dataclasses.replace(source.points[-1], accept_length=low, accept_length_rounding=(0.95, 1.05))
    cause = dataclasses.replace(source.root_cause, accept_length_before=low)
    analysis = dataclasses.replace(source, points=(*source.points[:-1], void), root_cause=cause)
    memo = payload(build(analysis, founding_decision(), context()))

    assert memo["evidence"][-1]["intervals"]["accept_length"] == {
        "value": 1.0,
        "low": 1.0,
        "high": 1.05,
        "reason": None,
    }
    assert memo["root_cause"]["accept_length_before"]["low"] == 1.0


def test_root_cause_is_told_in_two_sentences_and_the_numbers() -> None:
    source = founding()
    message = "The server ran EAGLE. Nothing was accepted. The measured accept length fits. So does the log."
    finding = dataclasses.replace(source.root_cause.finding, message=message)
    analysis = dataclasses.replace(source, root_cause=dataclasses.replace(source.root_cause, finding=finding))
    view = build(analysis, founding_decision(), context())

    assert view.cause is not None
    assert view.cause.text.text.startswith("The server ran EAGLE. Nothing was accepted. Accept length with it: ")


def test_verdicts_of_each_load_say_what_they_rest_on() -> None:
    source = h200()
    loads = tuple(
        dataclasses.replace(item, reason="noise is larger" if item.concurrency != 1 else "one server each")
        for item in source.verdict.by_concurrency
    )
    view = build(
        dataclasses.replace(source, verdict=dataclasses.replace(source.verdict, by_concurrency=loads)),
        h200_decision(),
        context(),
    )
    facts = section(view, "loads").blocks[-1]

    assert [term for term, _ in facts.items] == ["1 stream", "8 and 32 streams"]


def test_options_that_moved_say_why() -> None:
    before = founding_decision()
    swapped = {"more_data_300000": 4, "more_data_600000": 3}
    after = tuple(
        dataclasses.replace(
            option,
            rank=swapped.get(option.key, option.rank),
            cost_gpu_hours=900 if option.key == "more_data_300000" else option.cost_gpu_hours,
        )
        for option in before.options
    )
    earlier = payload(build(founding(), before, context()))
    view = build(founding(), dataclasses.replace(before, options=after), context(previous=earlier, memo_number=2))
    rows = {row.head.text.text: [cell.text.text for cell in row.cells] for row in view.sections[0].blocks[0].rows}  # type: ignore[union-attr]

    assert rows["Train 300K"] == ["rank 3", "rank 4", "costs 900 GPU-hours, 750 before"]
    assert rows["Train 600K"] == ["rank 4", "rank 3", "its own figures stand; others fell"]
    assert rows["Best configuration"][2] == "none"
