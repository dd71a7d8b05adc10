"""Text that knows where its numbers come from."""

from __future__ import annotations

import pytest

from tracker.report.spans import capital, fit_words, known, listing, number, quote, rich, sentence, strong


def test_quoted_numerals_keep_their_value_and_source() -> None:
    text = quote("about 17,280 GPU-hours, −8.6 % at 300K", "assumptions[horizon]", ["r1"])

    found = [(span.text, span.fact.value) for span in text.spans if span.fact is not None]
    assert found == [("17,280", 17280.0), ("−8.6", -8.6), ("300K", 300_000.0)]
    assert text.text == "about 17,280 GPU-hours, −8.6 % at 300K"


@pytest.mark.parametrize("text", ["EAGLE3", "Kimi-K2.5", "v0.5.17", "r12", "x86_64"])
def test_digits_inside_names_are_no_numbers(text: str) -> None:
    assert [span for span in quote(text, "name").spans if span.fact is not None] == []


def test_first_sentence_stays_and_later_ones_only_where_they_fit() -> None:
    parts = [rich("one two three."), rich("four five six seven."), rich("eight.")]

    assert fit_words(4, *parts).text == "one two three. eight."
    assert fit_words(1, *parts).text == "one two three."


def test_lists_read_as_sentences_do() -> None:
    assert [listing(items).text for items in (["A"], ["A", "B"], ["A", "B", "C"])] == ["A", "A and B", "A, B and C"]


def test_bold_keeps_the_facts() -> None:
    bold = strong("worth ", number("159", 159, "evpi"))

    assert [(span.bold, span.fact is not None) for span in bold.spans] == [(True, False), (True, True)]


def test_sentence_ends_once() -> None:
    assert [sentence(rich(text)).text for text in ("a", "a.", "a?", "a:")] == ["a.", "a.", "a?", "a:"]


def test_unknown_number_is_never_shown() -> None:
    with pytest.raises(ValueError, match="not known"):
        known(None)


@pytest.mark.parametrize("text", ["campaign.toml states no shares", "eagle3-d100-3-1-4 is dear", "memo.json has them"])
def test_names_of_files_and_runs_are_never_capitalised(text: str) -> None:
    assert capital(text) == text
    assert capital("e.g. this") == "E.g. this"
