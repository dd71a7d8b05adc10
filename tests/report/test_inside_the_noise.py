"""What noise hides is not told as a lead, and no sentence claims more than its table shows."""

from __future__ import annotations

import dataclasses
import json

import pytest

from tests.report.as_read import payload
from tests.report.examples import MEMOS
from tests.report.founding import context, founding
from tests.report.founding_options import founding_decision
from tests.report.h200 import h200, h200_decision
from tracker.analysis.results import CampaignAnalysis, Note
from tracker.domain.estimate import Estimate
from tracker.report import MemoView, build, render_explore, render_html, render_text
from tracker.report.naming import MAX_RUNS, short_words


def flat(view: MemoView) -> str:
    return " ".join(render_text(view).split())


def memo(analysis: CampaignAnalysis) -> MemoView:
    return build(analysis, founding_decision(), context())


def test_a_lead_inside_the_noise_clears_no_bar() -> None:
    text = flat(MEMOS["undecided"]())

    assert "chain of 3, 10K samples is too close to it to tell" in text
    assert "still needs: clears it [inside the noise]" in text
    assert "2 of 6 yield more tokens a step than they must, all by less than the noise." in text
    assert "Not for certain: the weakest, jax, yields 2.76, and the bar of 2.72 may lie as high as 3.02." in text
    assert "10K samples clears it" not in text


def test_leads_inside_and_beyond_the_noise_are_counted_apart() -> None:
    source = h200()
    noisy = tuple(
        dataclasses.replace(point, speedup=dataclasses.replace(point.speedup, low=0.9))
        if point.run_id == "d10000"
        else point
        for point in source.points
    )
    view = build(dataclasses.replace(source, points=noisy), h200_decision(), context(run_urls={}))

    text = flat(view)
    assert "2 of 6 configurations run above 528 tok/s at 1 stream, 1 of them by more than the noise" in text
    assert "2 of 6 yield more tokens a step than they must, 1 of them by more than the noise." in text
    assert "inside the noise" in text
    assert "Distances in grey are inside the noise." in render_html(view)


def test_where_all_leads_exceed_the_noise_nothing_is_added() -> None:
    assert "by more than the noise" not in flat(MEMOS["faster"]())


def test_a_step_that_its_parts_do_not_add_up_to_says_by_how_much() -> None:
    fit = founding().step_time
    view = memo(dataclasses.replace(founding(), step_time=dataclasses.replace(fit, example_step_ms=24.9)))

    assert "The parts add up to 25.5 ms: this server took 0.6 ms less than they say." in flat(view)
    assert "the whole step, as measured, 24.9 ms" in flat(view)
    figures = json.loads(render_explore(view).decode().split('id="figures">', 1)[1].split("</script>", 1)[0])
    assert figures["step-time"]["data"][0]["measure"][-1] == "absolute"


@pytest.mark.parametrize("name", ["faster", "refused_fit", "level"])
def test_the_brief_ends_in_whole_sentences(name: str) -> None:
    for item in MEMOS[name]().brief:
        text = item.text.text
        assert text.rstrip().endswith((".", "?", "!")), text
        assert all(part[:1].isupper() or part[:1].isdigit() for part in text.split(". ")), text


def test_no_heading_speaks_of_what_the_memo_does_not_hold() -> None:
    assert "from the assumptions above" not in flat(MEMOS["nothing_new"]())
    assert "order of the options is stable" not in flat(MEMOS["undecided"]())
    assert "Only the baseline counts: what ran with the drafter is excluded" in flat(MEMOS["unfixed_cause"]())
    assert "Both runs are new." in flat(MEMOS["unfixed_cause"]())


def test_the_table_of_one_load_names_no_other_loads() -> None:
    text = flat(MEMOS["h200"]())

    assert "Every run at 1 stream The prompts in common, 1 x H200. Small figures" in text


def test_a_thinned_campaign_does_not_claim_to_show_every_run() -> None:
    source = founding()
    note = Note(topic="runs left aside", message="The campaign has 201 runs of 8 kinds.", run_ids=())
    view = memo(dataclasses.replace(source, data_quality=(*source.data_quality, note)))

    assert "Every kind of run, worst included" in flat(view)
    assert "Every run, worst included" not in flat(view)
    assert ">Every kind of run</h2>" in render_explore(view).decode()


def test_the_mail_does_not_call_a_part_of_the_runs_every_run() -> None:
    table = MEMOS["founding"]().mail.evidence

    assert table is not None
    assert table.caption.text == "Every run that counts"


def test_very_many_runs_are_not_all_listed_behind_a_sentence() -> None:
    source = founding()
    points = tuple(dataclasses.replace(source.points[1], run_id=f"run{index:03d}") for index in range(60))
    ids = tuple(point.run_id for point in points)
    notes = (Note(topic="repeats", message="No run was repeated", run_ids=ids),)
    view = memo(dataclasses.replace(source, points=(*source.points, *points), data_quality=notes))

    assert (
        f"No run was repeated. r9, r10, r11, {', '.join(f'r{9 + i}' for i in range(3, MAX_RUNS))} and 44 more"
        in flat(view)
    )


@pytest.mark.parametrize(
    ("words", "limit", "shown"),
    [
        ("chain of 5, 100K samples", 38, "chain of 5, 100K samples"),
        ("Chain of 3, 10K samples, eagle3-10000-x2", 38, "Chain of 3, 10K, eagle3-10000-x2"),
        ("16 draft tokens, 4 steps, drafter-of-the-first-week", 38, "16 draft tokens, 4 steps…e-first-week"),
    ],
)
def test_a_name_cut_for_a_chart_keeps_both_ends(words: str, limit: int, shown: str) -> None:
    assert short_words(words, limit) == shown
    assert len(shown) <= limit


def test_words_for_screen_readers_carry_whole_names_and_the_explorer_distinct_ones() -> None:
    source = founding()
    name = "drafter-regenerated-with-thinking-on-perfectblend-attempt-3"
    points = tuple(
        dataclasses.replace(point, drafter=name, samples=None) if index == 3 else point
        for index, point in enumerate(source.points)
    )
    view = memo(dataclasses.replace(source, points=points))

    assert f"16 draft tokens, {name} drafter 74.9" in flat(view)
    page = render_explore(view).decode()
    figures = json.loads(page.split('id="figures">', 1)[1].split("</script>", 1)[0])
    places = [place.replace("<br>", " ") for place in figures["throughput"]["data"][0]["y"]]
    (cut,) = (place for place in places if "…" in place)
    assert cut.startswith("16 draft tokens,")
    assert cut.endswith("attempt-3 With CUDA graph")
    assert len(set(places)) == len(places) == 6


def test_a_configuration_is_found_in_the_explorer_by_the_words_of_the_memo() -> None:
    page = render_explore(MEMOS["h200"]()).decode()

    assert "<bdi>chain of 3 · EAGLE3 3-1-4</bdi>" in page
    assert "<bdi>no speculation" in page


def test_a_size_that_is_measured_is_named_before_the_far_end_of_the_interval() -> None:
    source = founding()
    needed = dataclasses.replace(source.scaling.samples_to_break_even, low=5_000, median=9_800, high=168_000)
    view = memo(dataclasses.replace(source, scaling=dataclasses.replace(source.scaling, samples_to_break_even=needed)))

    assert "About 9,800 samples, within the measured sizes; the 80 % interval reaches 170,000." in flat(view)


def test_a_prior_that_the_data_rule_out_is_not_also_called_open() -> None:
    decision = founding_decision()
    item = dataclasses.replace(
        decision.sensitivity[0],
        samples=100_000,
        stated=Estimate(value=2.58, low=2.17, high=3.05),
        reweighted=Estimate(value=2.36, low=2.07, high=2.67),
        held=Estimate(reason="7 effective draws meet the data, too few to tell"),
        likelihood_ratio=0.0005,
    )
    view = build(founding(), dataclasses.replace(decision, sensitivity=(item,)), context())

    assert "they rule it out." in flat(view)
    assert "too few to tell" not in flat(view)


def test_a_note_for_each_of_very_many_configurations_is_not_a_page_of_text() -> None:
    source = founding()
    notes = tuple(
        Note(topic="noise between runs", message=f"{index} servers of one configuration differ", run_ids=())
        for index in range(2, 22)
    )
    view = memo(dataclasses.replace(source, data_quality=notes))

    assert "5 servers of one configuration differ. 16 more notes of this kind are in memo.json." in flat(view)
    assert "6 servers of one configuration" not in flat(view)
    assert len(payload(view)["data_quality"]) == 20
