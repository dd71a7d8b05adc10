"""explore.html and the index of a reports folder."""

from __future__ import annotations

import json
import re

from tests.report.examples import MEMOS
from tests.report.outline import outline
from tracker.report import entry_from, render_explore, render_index, render_json


def test_explorer_holds_the_same_figures_and_every_run() -> None:
    view = MEMOS["h200"]()
    page = render_explore(view).decode()
    figures = json.loads(page.split('id="figures">', 1)[1].split("</script>", 1)[0])

    assert set(figures) == {"load", "throughput", "gap", "positions", "categories", "scaling", "options"}
    assert page.count("<tr") - 1 == len(view.source.analysis.points)
    assert figures["load"]["data"][0]["name"] == "chain of 3, 100K samples"
    assert 'href="memo.html"' in page


def test_explorer_needs_no_other_host() -> None:
    page = render_explore(MEMOS["founding"]()).decode()
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)

    assert "plotly.js" in page
    assert not re.search(r'<(?:script|link|img)[^>]+(?:src|href)="(?!data:)', own)


def test_same_view_gives_the_same_explorer() -> None:
    assert render_explore(MEMOS["faster"]()) == render_explore(MEMOS["faster"]())


def test_index_lists_memos_newest_first() -> None:
    memos = {name: json.loads(render_json(MEMOS[name]())) for name in ("founding", "second", "h200", "no_baseline")}
    entries = [entry_from(memo, f"{name}/memo.html") for name, memo in memos.items()]
    page = render_index(entries)

    outline(page)
    assert page.index("second/memo.html") < page.index("founding/memo.html")
    assert page.count("<section") == 2
    assert "0.91×" in page
    assert "No verdict: run the baseline first" in page
    assert page.count("Speed-up of the best contender in each memo") == 1
    assert "30 Nov 2026: 0.91×; 7 Dec 2026: 0.98×" in page
