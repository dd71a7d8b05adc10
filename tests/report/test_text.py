"""The memo as plain text: what stands in small print in HTML stands here too."""

from __future__ import annotations

import re

from tests.report.examples import MEMOS
from tests.report.test_must_show import forced, memo, plain
from tracker.report import render_text


def test_a_table_that_would_fit_in_columns_keeps_the_intervals_of_its_numbers() -> None:
    text = render_text(memo(plain({1: "100.0", 8: "500.0"}), forced("f3", 3, {1: "150.0", 8: "700.0"})))
    table = text[text.index("Break-even accept length by load") : text.index("What 1.5, 2.0")]

    assert re.search(r"Chain of 3 +4 +1\.33 \[1\.30–1\.36\] +1\.43 \[1\.40–1\.46\]", table)


def test_a_row_says_under_which_condition_it_stands() -> None:
    text = render_text(memo(plain({1: "100.0"}), forced("f3", 3, {1: "150.0"})))

    assert "acceptance simulated: step time only" in text


def test_sizes_far_beyond_the_data_are_marked_as_the_table_says() -> None:
    text = render_text(MEMOS["founding"]())

    assert re.search(r"^300,000 \(speculative\) +2\.77 +2\.19–3\.41 +0\.85$", text, re.MULTILINE)
