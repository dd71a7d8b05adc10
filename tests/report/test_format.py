"""Numbers become text in one place."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.report import format as fmt


@pytest.mark.parametrize(
    ("value", "decimals", "expected"),
    [
        (2.297, 2, "2.30"),
        (2.125, 2, "2.13"),
        (2.075, 2, "2.08"),
        (-1617, 0, "−1,617"),
        (17280, 0, "17,280"),
        (3454, -2, "3,500"),
        (-0.001, 1, "0.0"),
        (0.0, 0, "0"),
        (1e-9, 2, "0.00"),
    ],
)
def test_rounds_half_up_with_separators_and_a_real_minus(value: float, decimals: int, expected: str) -> None:
    assert expected == fmt.fixed(value, decimals)


def test_sign_is_shown_on_request_and_never_on_zero() -> None:
    assert [fmt.fixed(value, 0, signed=True) for value in (3, -3, 0, 0.2)] == ["+3", "−3", "0", "0"]


@given(st.floats(min_value=-1e9, max_value=1e9), st.integers(min_value=-3, max_value=4))
def test_text_reads_back_within_half_a_unit(value: float, decimals: int) -> None:
    text = fmt.fixed(value, decimals)

    assert abs(float(text.replace(",", "").replace("−", "-")) - value) <= 0.5000001 * 10.0**-decimals


@pytest.mark.parametrize(
    ("half_width", "digits", "expected"), [(0.03, 1, 2), (0.3, 1, 1), (3084, 2, -2), (None, 1, 7), (0.0, 1, 7)]
)
def test_decimals_follow_the_uncertainty(half_width: float | None, digits: int, expected: int) -> None:
    assert expected == fmt.decimals_for(half_width, 7, digits=digits)


def test_intervals_use_a_dash_unless_a_sign_could_be_misread() -> None:
    assert fmt.span(2.269, 2.324, 2) == "2.27–2.32"
    assert fmt.span(-40, 1828, 0, signed=True) == "−40 to +1,828"
    assert fmt.span(15, float("inf"), 0) == "15–open"


@pytest.mark.parametrize(
    ("fraction", "expected"),
    [(0.094, "+9.4 %"), (0.2, "+20 %"), (-0.0856, "−8.6 %"), (0.0999, "+10 %"), (0.0, "0.0 %")],
)
def test_per_cent_keeps_two_digits(fraction: float, expected: str) -> None:
    assert expected == fmt.percent(fraction)


def test_samples_are_short_in_charts_and_long_in_sentences() -> None:
    sizes = [300, 1000, 10_000, 1_500_000, 10_000_000]

    assert [fmt.samples_short(size) for size in sizes] == ["300", "1K", "10K", "1.5M", "10M"]
    assert [fmt.samples_long(size) for size in sizes] == ["300", "1,000", "10,000", "1.5 million", "10 million"]
    assert fmt.samples_long(25_480) == "25,000"


@pytest.mark.parametrize(("days", "expected"), [(16.2, "16 days"), (1, "1 day"), (0.25, "6 hours"), (0.01, "1 hour")])
def test_days_read_as_a_calendar_does(days: float, expected: str) -> None:
    assert expected == fmt.days(days)


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ((2026, 11, 23), (2026, 11, 30), "23–29 Nov 2026"),
        ((2026, 11, 30), (2026, 12, 7), "30 Nov – 6 Dec 2026"),
        ((2026, 12, 28), (2027, 1, 4), "28 Dec 2026 – 3 Jan 2027"),
        ((2026, 11, 30), (2026, 12, 1), "30 Nov 2026"),
    ],
)
def test_window_is_written_by_its_days(since: tuple[int, ...], until: tuple[int, ...], expected: str) -> None:
    start, end = datetime(*since, tzinfo=UTC), datetime(*until, tzinfo=UTC)  # type: ignore[misc,arg-type]

    assert expected == fmt.period(start, end, UTC)


def test_moment_is_shown_local_and_in_utc() -> None:
    moment = datetime(2026, 11, 22, 23, 0, tzinfo=UTC)

    assert fmt.moment_long(moment, ZoneInfo("Europe/Berlin")) == "Mon 23 Nov 2026 00:00 CET (Sun 22 Nov 2026 23:00 UTC)"
    assert fmt.moment_long(moment, UTC) == "Sun 22 Nov 2026 23:00 UTC"
