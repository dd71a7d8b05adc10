"""Starting inference servers, waiting until they serve, and ending them whatever happens."""

from __future__ import annotations

from tracker.launchers._failures import Failure, FailureKind, explain, tail
from tracker.launchers._ports import ReservedPort, is_free, reserve_port
from tracker.launchers._waiting import Started, Starting, wait_all
from tracker.launchers.base import Launcher, LaunchSpec, RunningServer
from tracker.plugins import discover

__all__ = [
    "Failure",
    "FailureKind",
    "LaunchSpec",
    "Launcher",
    "ReservedPort",
    "RunningServer",
    "Started",
    "Starting",
    "explain",
    "is_free",
    "launchers",
    "reserve_port",
    "tail",
    "wait_all",
]


def launchers() -> dict[str, Launcher]:
    """Return every launcher by its name for `launcher =` in campaign.toml."""
    return discover(__name__, "LAUNCHER")
