"""Points in time as people write them on a command line.

General date parsers misread the words wanted here (`last-week`, `36h`, `2026-W47`); this grammar is small and its own:

    now today yesterday | monday .. sunday | this-week last-week this-month last-month
    15m 36h (elapsed)   | 7d 2w (calendar, same wall clock) | 2026-11-01 | 2026-W47 | an ISO time | run:ID | last-report
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

FORMS = (
    "now, today, yesterday, monday .. sunday, this-week, last-week, this-month, last-month, 15m, 36h, 7d, 2w, "
    "2026-11-01, 2026-W47, an ISO time such as 2026-11-01T08:30, run:ID, last-report"
)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_AMOUNT = re.compile(r"(\d{1,4})([mhdw])")


@dataclass(frozen=True, slots=True)
class RunStart:
    """The moment a run was logged; resolved by whoever has the store."""

    run: str
    """Run id, prefix or name."""


@dataclass(frozen=True, slots=True)
class LastReport:
    """The end of the previous memo's window."""


def parse_when(text: str, *, now: datetime, zone: tzinfo) -> datetime | RunStart | LastReport:
    """Return the moment `text` means, in UTC, or what has to be looked up for it.

    `m` and `h` are exact elapsed time; `d` and `w` are calendar days at the same wall clock in `zone`, so they differ
    from multiples of 24 h across a clock change. Days, weeks and months begin at local midnight; weeks are ISO weeks.

    Args:
        text: What the user wrote.
        now: The current moment, aware.
        zone: The user's time zone.

    Raises:
        ValueError: Not one of the accepted forms, not a calendar date, or in the future; the message lists the forms.
    """
    word = text.strip()
    lowered = word.lower()
    if lowered == "last-report":
        return LastReport()
    if lowered.startswith("run:") and len(word) > len("run:"):
        return RunStart(word[len("run:") :])
    local_now = now.astimezone(zone)
    moment = _relative(lowered, local_now, now, zone) or _absolute(word, zone)
    if moment is None:
        raise ValueError(f"cannot read {text!r} as a time; accepted: {FORMS}")
    if moment > now:
        raise ValueError(f"{text!r} lies in the future ({moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC)")
    return moment.astimezone(UTC)


def _relative(word: str, local_now: datetime, now: datetime, zone: tzinfo) -> datetime | None:
    today = local_now.date()
    monday = today - timedelta(days=today.weekday())
    first = today.replace(day=1)
    named: dict[str, date] = {
        "today": today,
        "yesterday": today - timedelta(days=1),
        "this-week": monday,
        "last-week": monday - timedelta(days=7),
        "this-month": first,
        "last-month": (first - timedelta(days=1)).replace(day=1),
    }
    if word == "now":
        return now
    if word in named:
        return _midnight(named[word], zone)
    if word in _DAYS:
        return _midnight(today - timedelta(days=(today.weekday() - _DAYS.index(word)) % 7), zone)
    amount = _AMOUNT.fullmatch(word)
    if amount is None:
        return None
    count, unit = int(amount[1]), amount[2]
    if unit in "mh":
        return now - (timedelta(minutes=count) if unit == "m" else timedelta(hours=count))
    wall = local_now.replace(tzinfo=None) - timedelta(days=count * (7 if unit == "w" else 1))
    return wall.replace(tzinfo=zone)


def _absolute(word: str, zone: tzinfo) -> datetime | None:
    if re.fullmatch(r"\d{4}-[Ww]\d{2}", word):
        word = f"{word.upper()}-1"
    if not re.match(r"\d{4}-(\d{2}-\d{2}|W\d{2}-\d)", word):
        return None
    try:
        moment = datetime.fromisoformat(word)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=zone)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"cannot read {word!r} as a time ({error}); accepted: {FORMS}") from error


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time(), tzinfo=zone)
