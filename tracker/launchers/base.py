"""What a launcher is.

A new launcher is one module here with a constant `LAUNCHER`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSpec:
    """One server to start."""

    name: str
    """Name of the configuration."""
    argv: tuple[str, ...]
    """The command, program first."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables on top of the launcher's own environment."""
    folder: Path
    """Working directory of the server."""
    log: Path
    """File for everything that it prints."""
    template: str | None = None
    """Command template around the server's command, for launchers that use one."""
    grace_s: float = 15.0
    """Seconds it may take to end before it is killed."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """`[sweep.launcher_options]`, for launchers that take some."""


class RunningServer(Protocol):
    """A server that was started."""

    def host(self, configured: str) -> str | None:
        """Return the host on which it is reached; None while that is not known, e.g. in a queue.

        Args:
            configured: `[sweep] host`.
        """
        ...

    def exit_code(self) -> int | None:
        """Return its exit code, negative for a signal; None while it runs."""
        ...

    def request_stop(self) -> None:
        """Ask it to end; returns at once."""
        ...

    def stop(self, grace_s: float) -> None:
        """End it and all its processes: ask, wait up to `grace_s`, then force. Doing it twice is harmless."""
        ...

    def kill(self) -> None:
        """End it without waiting for anything; returns at once."""
        ...


class Launcher(Protocol):
    """One way to start a server."""

    name: str
    """Name for `launcher =` in campaign.toml; equals the module's name."""

    def start(self, spec: LaunchSpec) -> RunningServer:
        """Start a server and return at once.

        Raises:
            ServerError: The command cannot be run, or the log cannot be written.
        """
        ...
