"""The servers of a sweep that are up: started together, waited for, and ended whatever happens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tracker import launchers
from tracker.errors import InputError
from tracker.launchers import Failure, Launcher, LaunchSpec, RunningServer
from tracker.load.control import Control
from tracker.workflows.sweep_plan import Arm, SweepPlan

_HEALTH_TIMEOUT_S = 2.0
_KILLED_S = 2.0
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Up:
    """One server that was started."""

    arm: Arm
    """Its configuration."""
    argv: tuple[str, ...]
    """The whole command as launched."""
    host: str
    """`[sweep] host`."""
    port: int
    """Its port."""
    reserved: launchers.ReservedPort
    """What keeps it from others."""
    log: Path
    """What it printed."""
    server: RunningServer
    """The process."""

    @property
    def url(self) -> str:
        """Return where it is reached."""
        return f"http://{self.server.host(self.host) or self.host}:{self.port}"

    def is_queued(self) -> bool:
        """Return whether a scheduler has not given it a host yet."""
        return self.server.host(self.host) is None and self.server.exit_code() is None

    def crashed(self, wait_s: float = 0.0) -> Failure | None:
        """Return why it is gone; None while it runs.

        Args:
            wait_s: Seconds to give a process that no longer answers to be seen ending.
        """
        deadline_s = time.monotonic() + wait_s
        while (code := self.server.exit_code()) is None and time.monotonic() < deadline_s:
            time.sleep(0.05)
        return None if code is None else launchers.explain(self.log, exit_code=code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """What became of servers that were started together."""

    up: tuple[Up, ...]
    """Those that serve, in the order asked for."""
    failed: tuple[tuple[Up, Failure], ...]
    """Those that do not, already ended."""
    took_s: float | None
    """Seconds until the last of those served; None when none does."""


class Fleet:
    """Servers on one device; a context manager that leaves none behind."""

    def __init__(self, plan: SweepPlan, logs: Path, tell: Tell) -> None:
        """Start nothing yet; logs go to the folder `logs`."""
        self._plan, self._logs, self._tell = plan, logs, tell
        self._launcher = _launcher(plan)
        self._running: dict[str, Up] = {}

    def __enter__(self) -> Fleet:
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """End every server; a second Ctrl-C ends them at once."""
        try:
            self.stop(tuple(self._running))
        except KeyboardInterrupt:
            self._tell("ending servers at once")
            for item in self._running.values():
                item.server.kill()
            for item in self._running.values():
                item.server.stop(_KILLED_S)
            raise

    @property
    def size(self) -> int:
        """Return how many servers are up."""
        return len(self._running)

    def launch(self, arms: Iterable[Arm], *, tag: str) -> Launched:
        """Start servers together and return once each serves or has failed; `tag` tells their logs apart.

        Raises:
            InputError: The folder of logs cannot be written.
            ServerError: The command cannot be run at all, or there is no free port.
        """
        started = [self._start(arm, tag) for arm in arms]
        table = self._plan.table
        starting = {
            item.arm.name: launchers.Starting(
                server=item.server, log=item.log, healthy=partial(_healthy, item), queued=item.is_queued
            )
            for item in started
        }
        begun = launchers.wait_all(starting, timeout_s=table.health_timeout_s, on_change=self._told)
        failed: list[tuple[Up, Failure]] = []
        for item in started:
            failure = begun[item.arm.name].failure
            if failure is not None:
                failed.append((item, failure))
        self.stop([item.arm.name for item, _ in failed])
        return Launched(
            up=tuple(item for item in started if begun[item.arm.name].failure is None),
            failed=tuple(failed),
            # One that hangs is waited for until its time limit, which says nothing about the next start.
            took_s=max((state.waited_s for state in begun.values() if state.failure is None), default=None),
        )

    def stop(self, names: Iterable[str]) -> None:
        """End some servers, all asked first so that they end together."""
        items = [self._running[name] for name in names if name in self._running]
        for item in items:
            item.server.request_stop()
        for item in items:
            item.server.stop(self._plan.table.stop_grace_s)
            item.reserved.release()
            del self._running[item.arm.name]

    def _start(self, arm: Arm, tag: str) -> Up:
        table = self._plan.table
        log = self._logs / f"{arm.name}{tag}.log"
        try:
            self._logs.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot write here: {error.strerror}", where=str(self._logs), hint="Name another folder with --out."
            ) from error
        port = launchers.reserve_port(table.start_port)
        argv = arm.command(host=table.host, port=port.number)
        spec = LaunchSpec(
            name=arm.name,
            argv=argv,
            environment=arm.environment,
            folder=self._plan.models,
            log=log,
            template=table.template,
            grace_s=table.stop_grace_s,
            options=table.launcher_options,
        )
        try:
            server = self._launcher.start(spec)
        except BaseException:
            port.release()
            raise
        up = Up(arm=arm, argv=argv, host=table.host, port=port.number, reserved=port, log=log, server=server)
        self._running[arm.name] = up
        return up

    def _told(self, name: str, state: launchers.Started) -> None:
        if state.failure is None:
            self._tell(f"{name}: up after {state.waited_s:.0f} s")
            return
        self._tell(f"{name}: did not come up ({state.failure.kind}): {state.failure.reason}")
        for line in state.failure.last_lines:
            self._tell(f"    {line[:200]}")


def _healthy(up: Up) -> bool:
    if up.is_queued():
        return False
    with Control(up.url, timeout_s=_HEALTH_TIMEOUT_S) as control:
        return control.healthy()


def _launcher(plan: SweepPlan) -> Launcher:
    return launchers.launchers()[plan.table.launcher]
