"""A campaign of 200 runs renders within the promised time and size."""

from __future__ import annotations

import dataclasses
import time
from datetime import UTC, datetime

from tests.report.founding import context, founding
from tests.report.founding_options import founding_decision
from tracker.domain.estimate import Estimate
from tracker.report import build, compose, render_html, render_json, render_text


def test_200_runs_render_in_three_seconds() -> None:
    source = founding()
    more = tuple(
        dataclasses.replace(
            source.points[1 + index % 6],
            run_id=f"run{index:032d}",
            name=f"sweep {index}",
            throughput_tok_s=Estimate(value=40 + index / 8),
        )
        for index in range(200)
    )
    analysis = dataclasses.replace(source, points=(*source.points, *more))
    compose(  # imports matplotlib, which a run of the program does once
        build(source, founding_decision(), context()),
        sender="a@b.example",
        recipients=["c@d.example"],
        memo_html="",
        date=datetime(2026, 11, 30, tzinfo=UTC),
        message_id_domain="b.example",
    )

    start = time.perf_counter()
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
    seconds = time.perf_counter() - start

    assert seconds < 3
    assert len(page.encode()) < 500_000
    body = message.get_body(("html",))
    assert body is not None
    assert len(body.get_content().encode()) < 90_000
