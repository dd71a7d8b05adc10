"""Session and time zone of a command-line call: the only readers of clock, environment and current folder."""

from __future__ import annotations

import os
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tracker.errors import UsageError

if TYPE_CHECKING:
    from tracker.workflows.session import Session


def session(tracking_uri: str | None = None, folder: Path | None = None) -> Session:
    """Return the session of this call."""
    from tracker.workflows.session import Session

    return Session(
        now=datetime.now(UTC), environ=dict(os.environ), cwd=Path.cwd(), tracking_uri=tracking_uri, folder=folder
    )


def time_zone(name: str | None) -> tzinfo:
    """Return the named zone, TZ's, or the system's.

    Raises:
        UsageError: No such zone.
    """
    if name is None:
        try:
            return datetime.now(UTC).astimezone().tzinfo or UTC
        except ValueError as error:  # e.g. UTC+25
            wrong = os.environ.get("TZ")
            raise UsageError(
                f"no time zone is {wrong!r}", where="TZ", hint="Set TZ to a name such as Europe/Berlin or UTC."
            ) from error
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise UsageError(f"no time zone is called {name!r}", hint="Use a name such as Europe/Berlin or UTC.") from error


def pairs(values: tuple[str, ...], option: str, *, example: str) -> dict[str, str]:
    """Return `KEY=VALUE` texts as a mapping.

    Args:
        values: As typed.
        option: The option they were given to.
        example: What one may look like.

    Raises:
        UsageError: One has no `=`, an empty key, or a key given twice.
    """
    found: dict[str, str] = {}
    for text in values:
        key, separator, value = text.partition("=")
        if not separator or not key.strip():
            raise UsageError(f"{option} {text!r} is not KEY=VALUE", hint=f"Write e.g. {option} {example}.")
        if key.strip() in found:
            raise UsageError(f"{option} gives {key.strip()!r} twice", hint="Keep one.")
        found[key.strip()] = value.strip()
    return found
