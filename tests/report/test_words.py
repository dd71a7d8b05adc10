"""Words of the memo: verdict first, plain, short; every branch says what to do."""

from __future__ import annotations

import dataclasses
import re

import pytest

from tests.report.examples import MEMOS, NO_OPTIONS
from tests.report.founding import context, founding
from tests.report.founding_options import founding_decision
from tests.report.h200 import h200, h200_decision
from tracker.analysis.results import NextExperiment
from tracker.domain.estimate import Estimate
from tracker.report import MemoView, build, render_text

FORBIDDEN = re.compile(r"\b(better|worse|significant(ly)?|seems?|very|huge|NaN|None|inf|nan)\b")
HEADLINES = {
    "founding": "Go back to the plain server: the best drafter setup is 8.6 % slower",
    "h200": "Use the drafter at 1 stream, not at 32; at 8 the data do not decide",
    "faster": "Deploy the drafter: 1.32 times as fast at 1 stream",
    "undecided": "Measure again: 10.3 % ahead, below the 22 % that these runs could show",
    "refused_fit": "Go back to the plain server: the best drafter setup is 8.6 % slower",
    "no_baseline": "No verdict: run the baseline first",
    "one_run": "No verdict: nothing to compare the baseline with",
    "nothing_new": "Nothing new since 30 Nov 2026: the verdict stands",
    "unfixed_cause": "Correct the flag first: the drafter never ran as it was trained",
    "second": "Go back to the plain server: the best drafter setup is 2.3 % slower",
    "third": "Deploy the drafter: 1.10 times as fast at 1 stream",
    "detailed": "Use the drafter at 1 stream, not at 32; at 8 the data do not decide",
    "targets": "Go back to the plain server: the best drafter setup is 8.6 % slower",
    "simulated": "A drafter pays from 2.30 tokens a step at 1 stream",
    "level": "Go back to the plain server: the drafter is level with it, within 2.0 %",
}


@pytest.mark.parametrize("name", sorted(MEMOS))
def test_headline_says_what_to_do_and_why(name: str) -> None:
    assert HEADLINES[name] == MEMOS[name]().headline.text


def test_brief_has_four_lines_of_at_most_30_words(memo: tuple[str, MemoView]) -> None:
    name, view = memo
    labels = [item.label for item in view.brief]

    assert labels == ([] if name == "nothing_new" else ["Asked of you", "Why", "Do next", "Least certain"])
    for item in view.brief:
        words = f"{item.lead.text} {item.text.text}".split()
        assert 0 < len(words) <= 30, item


def test_the_ask_is_a_question_and_names_what_is_deployed(memo: tuple[str, MemoView]) -> None:
    name, view = memo
    if name == "nothing_new":
        return
    ask = view.brief[0]

    assert ask.lead.text.endswith("?")
    deployed = view.source.analysis.campaign.deployed
    assert deployed is not None
    assert deployed in ask.text.text


def test_no_adjective_stands_where_a_number_belongs(memo: tuple[str, MemoView]) -> None:
    _, view = memo

    assert FORBIDDEN.findall(render_text(view)) == []


def test_sentences_are_well_formed(memo: tuple[str, MemoView]) -> None:
    _, view = memo
    text = " ".join(render_text(view).split())

    assert not re.search(r"\s[,.;:](?=\s|$)", text), re.findall(r".{20}\s[,.;:](?=\s|$)", text)
    assert not re.search(r"(?<!\.)\.\.(?!\.)", text), re.findall(r".{30}\.\.", text)
    assert "  ." not in text
    assert " 0 runs" not in text


def test_root_cause_stands_before_the_brief_with_both_flags() -> None:
    text = render_text(MEMOS["founding"]())

    cause = text.index("ROOT CAUSE")
    assert text.index("8.6 % slower") < cause < text.index("Asked of you")
    assert "− --speculative-algorithm EAGLE\n" in text
    assert "+ --speculative-algorithm EAGLE3\n" in text
    assert "One missing character in a flag made the drafter useless; it is fixed" in text


def test_founding_memo_holds_the_agreed_figures() -> None:
    text = " ".join(render_text(MEMOS["founding"]()).split())

    assert "break-even: 2.30 [2.24–2.35] (2.27–2.32)" in text
    assert "break-even: 2.65 [2.59–2.71] (2.60–2.70)" in text
    assert "break-even: 2.13 [2.08–2.18] (2.12–2.15)" in text
    assert "unreachable if it ran with 2 steps" in text
    assert "82.3 against 90.0 tok/s; 80 % interval 5 to 12 % slower" in text
    assert "Cannot be planned from one size: 15,000 samples, or more than 10 million." in text
    assert "The author's estimate of 2.5" in text


def test_plain_server_is_stayed_on_where_it_is_deployed() -> None:
    source = founding()
    rows = tuple(dataclasses.replace(point, deployed=False) for point in source.points)
    campaign = dataclasses.replace(source.campaign, deployed="the plain server", deployed_run=None)
    view = build(dataclasses.replace(source, points=rows, campaign=campaign), founding_decision(), context())

    assert view.headline.text.startswith("Stay on the plain server: ")
    assert view.brief[0].lead.text == "Approve 790 GPU-hours for option A?"
    assert "Production stays on the plain server." in view.brief[0].text.text


def test_nothing_worth_its_cost_ends_in_stopping() -> None:
    source = founding()
    rows = tuple(dataclasses.replace(point, deployed=False) for point in source.points)
    campaign = dataclasses.replace(source.campaign, deployed=None, deployed_run=None)
    view = build(dataclasses.replace(source, points=rows, campaign=campaign), NO_OPTIONS, context())

    assert view.brief[0].lead.text == "Stay on the plain server and stop here?"
    assert "What is deployed now is not recorded." in view.brief[0].text.text


def test_what_is_deployed_and_best_is_kept() -> None:
    source = h200()
    load = source.verdict.by_concurrency[0]
    rows = tuple(
        dataclasses.replace(point, deployed=point.run_id == "d100000")
        for point in source.points
        if point.concurrency == 1
    )
    verdict = dataclasses.replace(source.verdict, status="faster", decision_concurrency=1, by_concurrency=(load,))
    view = build(dataclasses.replace(source, points=rows, verdict=verdict), h200_decision(), context())

    assert view.headline.text == "Keep the drafter: 1.32 times as fast at 1 stream"
    assert view.brief[0].lead.text == "Keep chain of 3, 100K samples?"


def test_a_drafter_that_pays_is_served_today_tested_against_itself_and_outdone_later() -> None:
    today = dataclasses.replace(h200_decision().options[0], rank=2)
    more = dataclasses.replace(
        today, key="tune_configuration_5_1_6", title="Tune to 5 steps", cost_gpu_hours=1.0, rank=1,
        net_gpu_hours=Estimate(value=560, low=400, high=680),
    )  # fmt: skip
    test = NextExperiment(
        title="Benchmark 5 steps", why="It may.", cost_gpu_hours=0.2, net_value_gpu_hours=9, p_success=0.99,
        p_beats_best=0.55,
    )  # fmt: skip
    decision = h200_decision(options=(more, today, *h200_decision().options[1:]), next_experiment=test)
    view = build(h200(), decision, context(run_urls={}))
    ask, _, follows, _ = view.brief
    options = next(section for section in view.sections if section.key == "options")

    assert ask.lead.text.startswith("Serve traffic at 1 stream with")
    assert follows.text.text == (
        "Benchmark 5 steps: under 1 GPU-hour, chance 0.55 to beat 696. Then option A: tune to 5 steps."
    )
    assert options.heading.text == ("Today's drafter is worth +520 GPU-hours; option A would add 40: tune to 5 steps")


def test_loads_that_are_never_faster_are_named() -> None:
    source = h200()
    loads = source.verdict.by_concurrency[1:]
    verdict = dataclasses.replace(source.verdict, by_concurrency=loads)
    view = build(dataclasses.replace(source, verdict=verdict), h200_decision(), context())

    expected = "Stay on the plain server: the drafter is slower at 32 streams; at 8 the data do not decide"
    assert expected == view.headline.text


def test_memo_after_another_says_what_moved() -> None:
    view = MEMOS["second"]()
    changed = view.sections[0]

    assert changed.heading.text == "Nearer, still short: 2.1 tok/s missing, 7.7 before"
    rows = {row.head.text.text: [cell.text.text for cell in row.cells] for row in changed.blocks[0].rows}  # type: ignore[union-attr]
    assert rows["Verdict"] == ["slower", "slower", "none"]
    assert rows["Best contender, tok/s"] == ["82.3", "87.9", "+6.8 %"]
    assert rows["Break-even of the best contender"] == ["2.30", "2.15", "−6.4 %"]
    assert rows["Best option"][2] == "none"


def test_memo_without_news_wants_no_mail() -> None:
    assert {name: MEMOS[name]().mail_wanted for name in ("founding", "nothing_new")} == {
        "founding": True,
        "nothing_new": False,
    }


def test_subject_states_verdict_numbers_and_ask() -> None:
    expected = (
        "[kimi-k2.5-eagle3] Slower: Go back to the plain server: the best drafter setup is 8.6 % slower "
        "(82.3 against 90.0 tok/s). Asked: 790 GPU-hours"
    )

    assert expected == MEMOS["founding"]().mail.subject
