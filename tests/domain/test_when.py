"""The grammar of --since."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.domain.when import LastReport, RunStart, parse_when

NOW = datetime(2026, 11, 29, 23, 12, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", "2026-11-29T23:12"),
        ("today", "2026-11-29T00:00"),
        ("yesterday", "2026-11-28T00:00"),
        ("sunday", "2026-11-29T00:00"),
        ("monday", "2026-11-23T00:00"),
        ("this-week", "2026-11-23T00:00"),
        ("last-week", "2026-11-16T00:00"),
        ("LAST-WEEK", "2026-11-16T00:00"),
        ("this-month", "2026-11-01T00:00"),
        ("last-month", "2026-10-01T00:00"),
        ("7d", "2026-11-22T23:12"),
        ("2w", "2026-11-15T23:12"),
        ("36h", "2026-11-28T11:12"),
        ("15m", "2026-11-29T22:57"),
        ("2026-11-01", "2026-11-01T00:00"),
        ("2026-W47", "2026-11-16T00:00"),
        ("2026-11-01T08:30", "2026-11-01T08:30"),
        ("2026-11-01T08:30+02:00", "2026-11-01T06:30"),
    ],
)
def test_each_form_means_one_moment(text: str, expected: str) -> None:
    assert datetime.fromisoformat(expected).replace(tzinfo=UTC) == parse_when(text, now=NOW, zone=UTC)


def test_days_are_local_days() -> None:
    assert datetime(2026, 11, 29, 23, 0, tzinfo=UTC) == parse_when("today", now=NOW, zone=BERLIN)


def test_calendar_days_and_hours_differ_across_a_clock_change() -> None:
    after_change = datetime(2026, 11, 2, 14, 0, tzinfo=UTC)

    days = parse_when("7d", now=after_change, zone=NEW_YORK)
    hours = parse_when("168h", now=after_change, zone=NEW_YORK)

    assert days == datetime(2026, 10, 26, 13, 0, tzinfo=UTC)
    assert hours == datetime(2026, 10, 26, 14, 0, tzinfo=UTC)


def test_lookups_are_returned_not_guessed() -> None:
    assert RunStart("abc") == parse_when("run:abc", now=NOW, zone=UTC)
    assert LastReport() == parse_when("last-report", now=NOW, zone=UTC)


@pytest.mark.parametrize(
    "text", ["", "5", "may", "01.11.2026", "2026-13-01", "2026-W60", "run:", "last week", "7y", "-7d"]
)
def test_everything_else_is_an_error_that_lists_the_forms(text: str) -> None:
    with pytest.raises(ValueError, match=r"accepted: now, today"):
        parse_when(text, now=NOW, zone=UTC)


def test_the_future_is_an_error() -> None:
    with pytest.raises(ValueError, match="future"):
        parse_when("2026-12-24", now=NOW, zone=UTC)


@given(st.integers(min_value=0, max_value=9999))
def test_hours_are_exact(hours: int) -> None:
    assert NOW - timedelta(hours=hours) == parse_when(f"{hours}h", now=NOW, zone=BERLIN)


@given(st.text(max_size=12))
def test_any_text_gives_a_moment_or_a_value_error(text: str) -> None:
    try:
        moment = parse_when(text, now=NOW, zone=UTC)
    except ValueError:
        return
    assert not isinstance(moment, datetime) or moment <= NOW
