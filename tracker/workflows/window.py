"""From --since and --until to two moments."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo

from tracker.analysis.results import Window
from tracker.domain.when import LastReport, RunStart, parse_when
from tracker.errors import UsageError
from tracker.store.base import RunStore


def resolve_window(
    since: str,
    until: str,
    *,
    now: datetime,
    zone: tzinfo,
    store: Callable[[], RunStore],
    last_report: Callable[[], datetime | None],
) -> Window:
    """Return the reporting window in UTC.

    Args:
        since: WHEN expression.
        until: WHEN expression.
        now: The current moment, aware.
        zone: The reader's time zone.
        store: Gives the store when a run has to be looked up.
        last_report: Gives the end of the previous memo's window; None when there is none.

    Raises:
        UsageError: An expression cannot be read, there is no previous report, or the window is empty.
        RunNotFoundError: `run:ID` names no run.
    """

    def moment(text: str, option: str) -> datetime:
        try:
            parsed = parse_when(text, now=now, zone=zone)
        except ValueError as error:
            raise UsageError(f"{option}: {error}") from error
        if isinstance(parsed, RunStart):
            return store().load(parsed.run).record.provenance.logged_at
        if isinstance(parsed, LastReport):
            return _previous(last_report(), option)
        return parsed

    window = Window(since=moment(since, "--since"), until=moment(until, "--until"))
    if window.since >= window.until:
        raise UsageError(
            f"the window is empty: {describe(window.since, zone)} is not before {describe(window.until, zone)}",
            hint="Put --since before --until.",
        )
    return window


def describe(moment: datetime, zone: tzinfo) -> str:
    """Return a moment in local time and UTC, as memos and terminals show it."""
    local = moment.astimezone(zone)
    in_utc = moment.astimezone(UTC)
    if local.utcoffset() == in_utc.utcoffset():
        return f"{in_utc:%a %Y-%m-%d %H:%M} UTC"
    return f"{local:%a %Y-%m-%d %H:%M} {local:%Z} ({in_utc:%Y-%m-%d %H:%M} UTC)"


def _previous(moment: datetime | None, option: str) -> datetime:
    if moment is None:
        raise UsageError(
            f"{option} last-report: no earlier memo was found", hint="Use last-week or a date for the first memo."
        )
    return moment
