"""ITL, TPOT and throughput against accept length and concurrency."""

from __future__ import annotations

import pytest

from tracker.domain.finding import Finding
from tracker.domain.measurement import Latency, Measurement, Reported
from tracker.importers import _identities


def _cell(*, length: float, itl_ms: float, tpot_ms: float, concurrency: int | None = None) -> Measurement:
    return Measurement(
        concurrency=concurrency,
        reported_accept_length=Reported(value=length),
        itl_ms=Latency(mean_ms=itl_ms),
        tpot_ms=Latency(mean_ms=tpot_ms),
    )


def _severities(findings: tuple[Finding, ...]) -> list[tuple[str, str]]:
    return [(finding.code, finding.severity) for finding in findings]


def test_itl_over_tpot_equal_to_the_accept_length_is_right() -> None:
    assert _identities.check(_cell(length=3.4928, itl_ms=8.23, tpot_ms=2.38)) == ()


def test_itl_equal_to_tpot_beside_a_long_accept_length_is_told() -> None:
    findings = _identities.check(_cell(length=2.83, itl_ms=34.9, tpot_ms=34.9))

    assert _severities(findings) == [("IDENTITY_ITL_TPOT", "info")]


def test_itl_over_tpot_far_from_the_accept_length_is_a_warning() -> None:
    findings = _identities.check(_cell(length=2.83, itl_ms=50.0, tpot_ms=34.9))

    assert _severities(findings) == [("IDENTITY_ITL_TPOT", "warning")]


def test_without_speculation_itl_and_tpot_are_not_compared() -> None:
    assert _identities.check(_cell(length=1.0, itl_ms=21.54, tpot_ms=15.0)) == ()


@pytest.mark.parametrize(("throughput", "broken"), [(26.0, True), (22.0, False)])
def test_one_stream_cannot_be_faster_than_its_time_per_token(throughput: float, broken: bool) -> None:
    cell = Measurement(
        concurrency=1, tpot_ms=Latency(mean_ms=45.0), reported_throughput_tok_s=Reported(value=throughput)
    )

    assert bool(_identities.check(cell)) is broken
