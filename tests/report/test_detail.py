"""What is folded: interval parts, targets, sizes, costs by phase, experiments; and the words around them."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.as_read import payload
from tests.report.detailed import detailed_analysis, memo_level, memo_targets
from tests.report.examples import MEMOS
from tests.report.founding import context
from tests.report.h200 import h200, h200_decision
from tracker.analysis.results import Note, SpreadPart
from tracker.report import MemoView, build, compose, render_html, render_text
from tracker.report import format as fmt
from tracker.report._alike_notes import joined
from tracker.report._fig_spread import spread_group
from tracker.report.naming import name_runs, option_letters, rows_of
from tracker.report.view_parts import FigureView, Folded, TableView
from tracker.report.walk import blocks_of


def fold(view: MemoView, key: str) -> Folded:
    """The folded block of that name."""
    (found,) = (
        block for section in view.sections for block in section.blocks if isinstance(block, Folded) and block.key == key
    )
    return found


def cells(view: MemoView, key: str) -> dict[str, list[str]]:
    """The rows of a table by their head, wherever it stands."""
    (table,) = (block for block in blocks_of(view) if isinstance(block, TableView) and block.key == key)
    return {row.head.text.text: [cell.text.text for cell in row.cells] for row in table.rows}


def test_chances_near_certainty_are_never_called_certain() -> None:
    assert [fmt.chance(value) for value in (1.0, 0.9901, 0.99, 0.5, 0.01, 0.0099, 0.0)] == [
        *(">0.99", ">0.99", "0.99", "0.50", "0.01", "<0.01", "<0.01"),
    ]


@given(sds=st.lists(st.floats(0.001, 0.5), min_size=1, max_size=6))
def test_parts_of_an_interval_add_up_as_squares_and_stand_largest_first(sds: list[float]) -> None:
    parts = [SpreadPart(name=f"part {index}", sd=sd, df=3.0) for index, sd in enumerate(sds)]
    group = spread_group(parts, title="", runs=(), source="verdict")

    assert group.total == pytest.approx(math.sqrt(sum(sd**2 for sd in sds)))
    assert [row.sd for row in group.rows] == sorted((row.sd for row in group.rows), reverse=True)
    assert [row.largest for row in group.rows] == [True, *(False for _ in group.rows[1:])]


def test_parts_of_one_name_are_one_bar_and_assumptions_are_outlined() -> None:
    parts = (
        SpreadPart(name="prompts", sd=0.03, df=12.0),
        SpreadPart(name="prompts", sd=0.04, df=math.inf),
        SpreadPart(name="baseline drift", sd=0.01, df=math.inf),
        SpreadPart(name="rounding", sd=0.01, df=math.inf),
    )
    rows = spread_group(parts, title="", runs=(), source="verdict").rows

    assert [(row.label, round(row.sd, 9), row.assumed) for row in rows] == [
        ("prompts", 0.05, False),
        ("baseline drift", 0.01, True),
        ("rounding", 0.01, False),
    ]


def test_the_figure_of_the_parts_says_what_would_narrow_the_interval() -> None:
    (figure,) = (
        block for block in blocks_of(MEMOS["detailed"]()) if isinstance(block, FigureView) and block.key == "spread"
    )

    assert figure.answer.text == (
        "Mostly noise between runs: freshly started servers, with the baseline in between, narrow it; more prompts do "
        "not. Without it, 2.2 % instead of 8.3 % would be left."
    )


def test_targets_out_of_reach_are_marked_and_whole_requests_need_more() -> None:
    view = MEMOS["detailed"]()
    (table,) = (block for block in blocks_of(view) if isinstance(block, TableView) and block.key == "required")
    tree = next(row for row in table.rows if row.head.text.text == "Tree of 16, 3 steps")

    assert [line.text for line in tree.cells[3].small] == ["out of reach"]
    assert "against its own flags" in " ".join(line.text for line in tree.cells[2].small)
    assert "never: the prompt alone takes longer" in cells(view, "required-whole")["Chain of 3"]
    assert fold(view, "targets").answer.text.endswith("at most 4 can be yielded.")


def test_sizes_show_budget_cost_and_what_stands_beside_the_curve() -> None:
    view = MEMOS["detailed"]()
    page = render_html(view)

    assert cells(view, "sizes")["2,000"][1:5] == ["120", "5.0", "25 %", "0.4"]
    assert "below the interval: the gain from data slowed sooner than the curve" in fold(view, "sizes").answer.text
    assert "Trained, never served here" in page
    assert "2,000 samples at 10 instead of 5 epochs" in page


def test_samples_for_targets_keep_their_open_ends() -> None:
    rows = cells(memo_targets(), "target-samples")

    assert rows["1×"] == ["2.30", "15,000", "beyond 10M", "beyond 10M", "11 %"]
    assert rows["1.5×"][:2] == ["3.44", "out of reach"]


def test_a_price_below_its_own_phases_is_not_the_worst_case() -> None:
    view = memo_targets()
    (table,) = (block for block in blocks_of(view) if isinstance(block, TableView) and block.key == "options")
    cost = table.rows[0].cells[2]

    assert (cost.text.text, cost.small[0].text) == ("790", "1,190 by phase")
    assert "At worst 1,190" in " ".join(render_text(view).split())
    assert cells(view, "prices")["Cut overhead, train 300K"][:2] == ["180", "1,185"]


def test_the_chance_that_an_option_pays_stands_in_the_table() -> None:
    view = memo_targets()

    assert cells(view, "options")["Cut overhead, train 300K"][4] == "0.90"
    assert cells(view, "options")["Keep the baseline"][4] == ""


def test_lengths_of_use_that_turn_the_ranking_are_one_sentence() -> None:
    text = " ".join(render_text(memo_targets()).split())

    # From H to B within the first hour: where prices are next to nothing that decides nothing.
    assert "Used longer, the lead goes from B to A at 54 days." in text


def test_experiments_not_worth_their_price_are_listed_with_the_others() -> None:
    view = MEMOS["detailed"]()

    assert fold(view, "experiments").answer.text.startswith("1 of 3 is worth more than the price")
    assert cells(view, "experiments") == {
        "Test a chain of 4": ["0.1", ">0.99", "+9"],
        "Train 30,000 first": ["76", "", "−33"],
        "Repeat 8 streams": ["0.5", "", "not computed"],
    }


def test_an_unexplained_jump_stands_under_what_changed() -> None:
    text = render_text(MEMOS["detailed"]())
    changed = " ".join(text[text.index("CHANGED SINCE") : text.index("VERDICT BY LOAD")].split())

    assert "throughput fell by 49 %, from 696 to 355 tok/s; nobody wrote down why" in changed
    assert "First memo, and a jump in it that nobody explained" in changed


def test_speeds_that_are_level_are_not_measured_again() -> None:
    view = memo_level()

    assert view.state.word == "Level"
    assert view.headline.text == "Go back to the plain server: the drafter is level with it, within 2.0 %"
    assert "Approve" not in view.brief[0].lead.text
    message = compose(
        view,
        sender="memo@tracker.example",
        recipients=["lead@example.com"],
        memo_html="",
        date=view.source.context.generated_at,
        message_id_domain="tracker.example",
    )
    assert "Level: Go back to the plain server" in str(message["Subject"])


def test_letters_of_the_options_have_no_gap_where_variants_have_no_row() -> None:
    options = memo_targets().source.decision.options
    many = tuple(
        dataclasses.replace(options[0], key=f"more_data_{size}", title=f"Train {size}", rank=index + 1)
        for index, size in enumerate(range(12))
    )
    letters = option_letters((*many, *options[-2:]))

    assert [letters[option.key] for option in rows_of((*many, *options[-2:]))] == list("ABCDEFGHIJ")


def test_rows_are_told_apart_by_what_differs() -> None:
    source = h200()
    twin = [
        dataclasses.replace(point, run_id=f"twin-{point.concurrency}", name="again", drafter="eagle3-100000-x2")
        for point in source.points
        if point.run_id == "d100000" and point.concurrency == 1
    ]
    names = name_runs(dataclasses.replace(source, points=(*source.points, *twin)))

    assert names.rows["twin-1"] == "chain of 3, 100K samples, eagle3-100000-x2"
    assert "EAGLE3" not in names.rows["d100000"]


def test_notes_that_differ_only_in_the_run_are_said_once() -> None:
    analysis = detailed_analysis()
    names = {point.run_id: point.name for point in analysis.points}
    notes = [
        Note(topic="simulated", message=f"{names[run]} ran with simulated acceptance.", run_ids=(run,))
        for run in ("d100", "d1000", "two")
    ]
    other = Note(topic="simulated", message="Something else.", run_ids=("d100",))

    (first, second) = joined(analysis, [*notes, other])
    assert first.message == "Each of 3 runs ran with simulated acceptance."
    assert first.run_ids == ("d100", "d1000", "two")
    assert second == other
    assert joined(analysis, notes[:2]) == notes[:2]


def test_every_field_of_the_analysis_is_in_the_json() -> None:
    document = payload(MEMOS["detailed"]())
    load = document["verdict"]["by_concurrency"][0]
    cost = document["break_even_by_configuration"][0]
    point = document["evidence"][2]

    assert load["equivalence"] == "undecided"
    assert load["parts"][0] == {"name": "noise between runs", "sd": 0.08, "df": 3.0}
    assert load["parts"][1]["df"] is None
    assert load["smallest_detectable_note"].startswith("A true difference of 22 %")
    assert cost["required_reachable"].keys() == cost["required"].keys()
    assert cost["prefill"]["required"]["1.5"] is None
    assert document["acceptance"]["mix_accept_length"] == 3.02
    assert document["acceptance"]["per_category"][0]["token_share"] == 0.4
    assert document["scaling"]["hold_out"]["pit"] == 0.0015
    assert document["scaling"]["unserved"] == [30_000]
    assert document["scaling"]["sizes"][0]["cost"]["extraction_gpu_hours"] == 0.02
    assert document["noise"][2] == {"concurrency": 32, "sd": 0.08, "df": None, "source": "default"}
    assert {"requests", "verify_steps", "output_tokens", "accepted_drafts"} <= point.keys()
    assert document["engine"] == "sglang"
    assert len(document["experiments"]) == 3
    assert all("p_beats_best" in item for item in document["experiments"])


def test_a_memo_without_the_new_fields_reads_as_before() -> None:
    view = build(h200(), h200_decision(), context(run_urls={}))
    keys = {block.key for section in view.sections for block in section.blocks if isinstance(block, Folded)}

    assert keys.isdisjoint({"resolution", "prices", "experiments", "target-samples", "categories"})
    assert not any(isinstance(block, FigureView) and block.key == "spread" for block in blocks_of(view))
