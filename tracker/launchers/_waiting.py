"""Waiting until servers that start together all serve, or have failed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tracker.launchers._failures import Failure, explain
from tracker.launchers.base import RunningServer

POLL_S = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Starting:
    """One server on its way up."""

    server: RunningServer
    """The process."""
    log: Path
    """Its log."""
    healthy: Callable[[], bool]
    """Whether it serves."""
    queued: Callable[[], bool] = lambda: False
    """Whether it has not begun to start; such time does not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """How one start ended."""

    waited_s: float
    """Seconds until it served or had failed."""
    failure: Failure | None = None
    """Why it failed; None when it serves."""


def wait_all(
    starting: Mapping[str, Starting], *, timeout_s: float, on_change: Callable[[str, Started], None]
) -> dict[str, Started]:
    """Return how each start ended, once all have; one that fails or hangs does not hold up the others' answer.

    Args:
        starting: Servers by name.
        timeout_s: Seconds after which a server that does not serve counts as hanging.
        on_change: Called with each server as soon as its start has ended.
    """
    begun_s = dict.fromkeys(starting, time.monotonic())
    ended: dict[str, Started] = {}
    while len(ended) < len(starting):
        for name, item in starting.items():
            if name in ended:
                continue
            if item.queued():
                begun_s[name] = time.monotonic()
            state = _state(item, time.monotonic() - begun_s[name], timeout_s)
            if state is not None:
                ended[name] = state
                on_change(name, state)
        if len(ended) < len(starting):
            time.sleep(POLL_S)
    return ended


def _state(item: Starting, waited_s: float, timeout_s: float) -> Started | None:
    # The process first: another server may answer on its port.
    code = item.server.exit_code()
    if code is not None:
        return Started(waited_s=waited_s, failure=explain(item.log, exit_code=code))
    if item.healthy():
        return Started(waited_s=waited_s)
    if waited_s >= timeout_s:
        return Started(waited_s=waited_s, failure=explain(item.log, exit_code=None, waited_s=waited_s))
    return None
