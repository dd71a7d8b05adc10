"""Spans of time as people write them on a command line."""

from __future__ import annotations

import re

from tracker.errors import UsageError

_SPAN = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


def seconds(text: str, option: str) -> float:
    """Return the seconds in `90s`, `9m` or `1.5h`.

    Raises:
        UsageError: Not such a span.
    """
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{option} {text!r} is no span of time", hint=f"Write {option} 90s, 9m or 1.5h.")
    return float(found[1]) * _SECONDS[found[2]]
