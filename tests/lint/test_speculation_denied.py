"""Acceptance on a server that is said not to speculate."""

from __future__ import annotations

import pytest

from tracker.domain.measurement import Measurement, Reported
from tracker.domain.server import Speculation
from tracker.lint.base import Subject
from tracker.lint.speculation_denied import RULE

PLAIN = Speculation(enabled=False)


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (Measurement(concurrency=1, verify_steps=500, accepted_drafts=900), "500 verify steps"),
        (Measurement(concurrency=1, reported_accept_length=Reported(value=2.1, half_width=0.05)), "accept length 2.1"),
    ],
)
def test_acceptance_without_speculation_is_an_error_that_voids_the_run(cell: Measurement, words: str) -> None:
    (finding,) = RULE.check(Subject(speculation=PLAIN, measurements=(cell,)))

    assert (finding.severity, finding.voids) == ("error", ("acceptance", "speed"))
    assert words in finding.message


@pytest.mark.parametrize(
    ("speculation", "cell"),
    [
        (None, Measurement(concurrency=1, verify_steps=500)),
        (Speculation(enabled=True), Measurement(concurrency=1, verify_steps=500)),
        (PLAIN, Measurement(concurrency=1, output_tokens=500)),
        (PLAIN, Measurement(concurrency=1, reported_accept_length=Reported(value=1.0))),
    ],
)
def test_nothing_is_said_where_nothing_contradicts(speculation: Speculation | None, cell: Measurement) -> None:
    assert list(RULE.check(Subject(speculation=speculation, measurements=(cell,)))) == []
