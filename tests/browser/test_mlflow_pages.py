"""MLflow's own pages on both example campaigns, opened as `tracker ui` says: they show what people look for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from playwright.sync_api import Page

from tests.browser.mlflow_site import Site, shown, started
from tests.workflows.test_search_filters import EXPECTED, documented
from tracker.store.mlflow_store import WORKFLOW
from tracker.store.mlflow_view import MEMOS_VIEW_ID, VIEW_ID
from tracker.workflows.demo import run_demo
from tracker.workflows.session import Session

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]

H200, KIMI = "h200-tiny-llama", "kimi-k2.5-eagle3"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("ui")
    now = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
    run_demo(folder / "memos", Session(now=now, environ={}, cwd=folder, folder=folder / "store"), UTC)
    with started(folder / "store", H200) as found:
        yield found


def test_ui_starts_on_the_store_and_opens_at_the_campaign_and_says_so(site: Site, page: Page) -> None:
    assert site.opened.startswith(f"{site.experiment(H200)}/runs?{WORKFLOW}")
    assert f"store: {site.store.uri}" in site.said

    text = shown(page, site.opened, "matching runs", "eagle3-100000-3-1-4")

    assert "At which load should the drafter be served" in text
    assert "Model training" in text


def test_runs_come_fastest_first_with_the_columns_that_matter_and_without_the_memos(site: Site, page: Page) -> None:
    url = f"{site.experiment(H200)}/runs?{WORKFLOW}&viewStateShareKey={VIEW_ID}"
    text = shown(page, url, "18 matching runs", "eagle3-100000-5-1-6", "eagle3-100000-7-1-8")

    names = re.findall(r"^(?:eagle3?|baseline)[\w-]*", text, re.MULTILINE)
    assert names[:2] == ["eagle3-100000-5-1-6", "eagle3-100000-7-1-8"]
    heads = ["accept_length", "output_throughput_tok_s", "speedup_over_baseline", "step_time_ms", "train/samples",
             "speculation.algorithm"]  # fmt: skip
    assert all(head in text for head in heads)
    assert "memo 2026" not in text


def test_memos_have_a_view_of_their_own(site: Site, page: Page) -> None:
    text = shown(page, f"{site.experiment(KIMI)}/runs?{WORKFLOW}&viewStateShareKey={MEMOS_VIEW_ID}", "1 matching run")

    assert "memo 2026-11-30: slower" in text
    assert "report/speedup" in text


def test_charts_draw_the_curve_over_concurrency(site: Site, page: Page) -> None:
    page.goto(f"{site.experiment(H200)}/runs?{WORKFLOW}&viewStateShareKey={VIEW_ID}&compareRunsMode=CHART")
    page.get_by_text("bench/accept_length", exact=True).first.wait_for()
    page.wait_for_function("document.querySelectorAll('.scatterlayer .trace').length >= 9")

    points = page.evaluate("document.querySelector('.scatterlayer .trace').querySelectorAll('.point').length")
    assert points == 3


def test_a_runs_page_shows_verdict_cause_and_values_without_scrolling_sideways(site: Site, page: Page) -> None:
    url = f"{site.run('eagle-wrong-flag-100000-3-1-4')}?{WORKFLOW}"
    shown(page, url, "ALGO_MISMATCH_EAGLE_FOR_EAGLE3", "About this run", "python-source")

    for text in ("294.2 tok/s", "ALGO_MISMATCH_EAGLE_FOR_EAGLE3", "Value", "About this run"):
        box = page.get_by_text(text, exact=False).first.bounding_box()
        assert box is not None, text
        assert box["x"] + min(box["width"], 100) <= 1600, text
    assert page.get_by_text("294.169", exact=False).first.is_visible()


def test_tables_and_the_memo_display_among_the_artifacts(site: Site, page: Page) -> None:
    text = shown(
        page, f"{site.run('eagle3-100000-3-1-4')}/artifacts/measurements.csv?{WORKFLOW}", "Previewing the first"
    )
    assert "output_throughput_tok_s" in text
    (memo,) = site.store.reports(KIMI)

    page.goto(f"{site.experiment(KIMI)}/runs/{memo.run_id}/artifacts/memo.html?{WORKFLOW}")

    frame = page.frame_locator("iframe")
    frame.locator("h1").wait_for()
    headline = json.loads(memo.memo_json)["headline"]
    assert frame.locator("h1").inner_text().split() == headline.split()
    assert frame.locator("svg.c").count() > 0


def test_a_memos_page_says_the_verdict_first(site: Site, page: Page) -> None:
    (memo,) = site.store.reports(KIMI)

    text = shown(page, f"{site.experiment(KIMI)}/runs/{memo.run_id}?{WORKFLOW}", "report/speedup", "verdict")

    assert json.loads(memo.memo_json)["headline"] in text
    assert "0.914444" in text


def test_a_drafters_page_shows_samples_and_the_acceptance_served(site: Site, page: Page) -> None:
    models = site.store.client.search_logged_models([site.store.experiment_id(H200)])
    drafter = next(model for model in models if model.name == "eagle3-10000")

    text = shown(page, f"{site.experiment(H200)}/models/{drafter.model_id}?{WORKFLOW}", "accept_length", "samples")

    assert re.search(r"Drafter .*, trained on 10,000 samples", text)
    assert "2.76323" in text
    assert "eagle3-10000-3-1-4" in text
    assert "python-source" in text


@pytest.mark.parametrize(
    "meaning", ["EAGLE-3 runs of one drafter that are faster than the baseline", "ran with the wrong flag"]
)
def test_a_documented_filter_works_when_typed_into_the_page(site: Site, page: Page, meaning: str) -> None:
    page.goto(f"{site.experiment(H200)}/runs?{WORKFLOW}&searchFilter={quote(documented()[meaning])}")
    expected = {name for name in EXPECTED[meaning] if name.startswith("eagle")}
    page.get_by_text(f"{len(expected)} matching run", exact=False).first.wait_for()

    names = sorted({name[:12] for name in expected})
    page.wait_for_function("names => names.every(name => document.body.innerText.includes(name))", arg=names)
