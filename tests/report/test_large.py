"""A campaign of 200 runs renders within the promised time and size."""

from __future__ import annotations

import dataclasses
import time
from datetime import UTC, datetime
from email.message import EmailMessage

from tests.report.founding import context, founding
from tests.report.founding_options import founding_decision
from tracker.analysis.results import CampaignAnalysis
from tracker.domain.estimate import Estimate
from tracker.report import build, compose, render_html, render_json, render_text


def campaign_of(runs: int) -> CampaignAnalysis:
    source = founding()
    more = tuple(
        dataclasses.replace(
            source.points[1 + index % 6],
            run_id=f"run{index:032d}",
            name=f"sweep {index}",
            throughput_tok_s=Estimate(value=40 + index / 8),
        )
        for index in range(runs)
    )
    return dataclasses.replace(source, points=(*source.points, *more))


def rendered(analysis: CampaignAnalysis) -> tuple[float, str, EmailMessage]:
    """CPU seconds, page and mail of one memo in all its forms."""
    start = time.process_time()
    view = build(analysis, founding_decision(), context())
    page = render_html(view)
    render_text(view)
    render_json(view)
    message = compose(
        view,
        sender="a@b.example",
        recipients=["c@d.example"],
        memo_html=page,
        date=datetime(2026, 11, 30, tzinfo=UTC),
        message_id_domain="b.example",
    )
    return time.process_time() - start, page, message


def test_200_runs_cost_a_few_times_the_smallest_memo_and_stay_within_size() -> None:
    rendered(founding())  # imports matplotlib, which a run of the program does once

    small_s, _, _ = rendered(founding())
    large_s, page, message = rendered(campaign_of(200))

    assert large_s < 8 * small_s
    assert len(page.encode()) < 500_000
    body = message.get_body(("html",))
    assert body is not None
    assert len(body.get_content().encode()) < 90_000
