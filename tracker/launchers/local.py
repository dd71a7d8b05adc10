"""A server as a process of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tracker.errors import ServerError
from tracker.launchers.base import LaunchSpec

_GUARD_S = 5.0
_GUARD = Path(__file__).with_name("_guard.py")


class LocalServer:
    """A guarded process group."""

    def __init__(self, process: subprocess.Popen[bytes], pipe: int) -> None:
        """Hold the guard's process and the pipe that keeps it alive."""
        self._process, self._pipe = process, pipe

    def host(self, configured: str) -> str | None:
        """Return the host that campaign.toml names: this machine, or where a template leads."""
        return configured

    def exit_code(self) -> int | None:
        """Return the server's exit code; None while it runs."""
        code = self._process.poll()
        return code if code is None or code <= 128 else 128 - code

    def request_stop(self) -> None:
        """Ask the guard to end the server."""
        if self._process.poll() is None:
            self._process.terminate()

    def stop(self, grace_s: float) -> None:
        """End the server; after `grace_s` the guard is told to force it, and is itself forced if it hangs."""
        self.request_stop()
        try:
            self._process.wait(timeout=grace_s)
        except subprocess.TimeoutExpired:
            self.kill()
            self._await_end()
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    def kill(self) -> None:
        """Tell the guard to kill the server."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def _await_end(self) -> None:
        try:
            self._process.wait(timeout=_GUARD_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def start_guarded(spec: LaunchSpec, argv: tuple[str, ...], *, whole_tree: bool = True) -> LocalServer:
    """Start `argv` under a guard and return it; without `whole_tree` only its process group ends with it.

    The guard is a session of its own, so that Ctrl-C in the terminal reaches this program alone, which then ends its
    servers in order.

    Raises:
        ServerError: As for `Launcher.start`.
    """
    ends = "all" if whole_tree else "group"
    read_end, write_end = os.pipe()
    try:
        with spec.log.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-S", "-E", str(_GUARD), str(read_end), str(spec.grace_s), ends, *argv],
                env={**os.environ, **spec.environment},
                cwd=spec.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(read_end,),
                start_new_session=True,
            )
    except OSError as error:
        os.close(write_end)
        raise ServerError(
            f"the server {spec.name!r} cannot be started: {error.strerror or error}",
            where=str(error.filename or spec.log),
            hint="Check the command, the folder and the disk.",
        ) from error
    finally:
        os.close(read_end)
    return LocalServer(process, write_end)


class Local:
    """Starts servers as processes of this machine."""

    name = "local"

    def start(self, spec: LaunchSpec) -> LocalServer:
        """Start the server's own command."""
        return start_guarded(spec, spec.argv)


LAUNCHER = Local()
