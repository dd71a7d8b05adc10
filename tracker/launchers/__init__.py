"""Starting inference servers, waiting until they serve, and ending them whatever happens."""

from __future__ import annotations

from tracker.launchers._failures import Failure, FailureKind, explain, tail
from tracker.launchers._ports import free_port, is_free
from tracker.launchers._waiting import Started, Starting, wait_all
from tracker.launchers.base import Launcher, LaunchSpec, RunningServer
from tracker.plugins import discover

__all__ = [
    "Failure",
    "FailureKind",
    "LaunchSpec",
    "Launcher",
    "RunningServer",
    "Started",
    "Starting",
    "explain",
    "free_port",
    "is_free",
    "launchers",
    "tail",
    "wait_all",
]


def launchers() -> dict[str, Launcher]:
    """Return every launcher by its name for `launcher =` in campaign.toml."""
    return discover(__name__, "LAUNCHER")
