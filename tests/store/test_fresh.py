"""Asking a store what changed: every moment is asked for, with as little work as what is known allows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tracker.store import mlflow_fresh
from tracker.store.mlflow_projection import sortable


@given(
    since=st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001 - the zone is added below
    span=st.timedeltas(timedelta(), timedelta(days=1500)),
    part=st.floats(0, 1),
    known=st.lists(st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1)), max_size=20),  # noqa: DTZ001
)
def test_every_moment_of_a_span_begins_with_one_of_a_dozen_texts(
    since: datetime, span: timedelta, part: float, known: list[datetime]
) -> None:
    first = since.replace(tzinfo=UTC)
    stamps = [sortable(moment.replace(tzinfo=UTC)) for moment in known]
    found = mlflow_fresh.beginnings(sortable(first), sortable(first + span), known=stamps)

    assert any(sortable(first + span * part).startswith(text) for text in found)
    assert len(found) <= 12


def test_an_hour_is_asked_about_at_once_where_nothing_known_happened_in_it() -> None:
    nights = [f"2026-{month:02}-11T02:00:00.000000" for month in range(1, 12)] * 100
    since, until = "2026-11-30T10:44:00.000000+00:00", "2026-11-30T11:15:00.000000+00:00"

    assert mlflow_fresh.beginnings(since, until, known=nights) == ["2026-11-30"]
    assert mlflow_fresh.beginnings(since, until, known=[*nights, *["2026-11-30T03:00:00.000000"] * 9]) == [
        "2026-11-30T10", "2026-11-30T11",
    ]  # fmt: skip
    assert mlflow_fresh.beginnings(since, until, known=[*nights, *["2026-11-30T10:20:00.000000"] * 9]) == [
        "2026-11-30T10:4", "2026-11-30T10:5", "2026-11-30T11:0", "2026-11-30T11:1",
    ]  # fmt: skip
    assert mlflow_fresh.beginnings(since, until) == [
        "2026-11-30T10:4", "2026-11-30T10:5", "2026-11-30T11:0", "2026-11-30T11:1",
    ]  # fmt: skip
