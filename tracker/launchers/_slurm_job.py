"""What a Slurm job runs: one server, until it ends, is told to end, or nobody asks for it any more.

The job and whoever submitted it talk through a folder that both see: the job writes where it runs and its exit code,
the other side renews a lease and may leave a request to stop. `scancel` and the time limit end the job as well.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from pathlib import Path

from tracker.launchers.base import LaunchSpec
from tracker.launchers.local import start_guarded

STATE_FILE = "job.json"
LEASE_FILE = "lease"
STOP_FILE = "stop"
_POLL_S = 0.2


def serve(spec: LaunchSpec, mailbox: Path, *, lease_s: float) -> int:
    """Run a server and return its exit code.

    Args:
        spec: The server.
        mailbox: Folder shared with whoever submitted the job.
        lease_s: Seconds without a renewed lease after which the server is ended.

    Raises:
        ServerError: The command cannot be run, or the log cannot be written.
    """
    if (mailbox / STOP_FILE).exists():  # told while it was queued
        write_state(mailbox, exit_code=-signal.SIGTERM)
        return 0
    server = start_guarded(spec, spec.argv)
    told = False

    def on_signal(*_: object) -> None:
        nonlocal told
        told = True

    # submitit's own handler ignores SIGTERM and waits for Slurm's SIGKILL, which would leave no time to end a server.
    signal.signal(signal.SIGTERM, on_signal)
    write_state(mailbox, host=os.environ.get("SLURMD_NODENAME") or socket.gethostname())
    lease = _Lease(mailbox / LEASE_FILE, lease_s)
    try:
        while server.exit_code() is None and not told and not (mailbox / STOP_FILE).exists() and lease.holds():
            time.sleep(_POLL_S)
    finally:
        code = server.exit_code()
        server.stop(spec.grace_s)
        write_state(mailbox, exit_code=server.exit_code() if code is None else code)
    return code or 0


def write_state(mailbox: Path, **facts: object) -> None:
    """Replace the job's state so that a reader sees the old or the new one."""
    temporary = mailbox / f".{STATE_FILE}"
    temporary.write_text(json.dumps({**read_state(mailbox), **facts}), encoding="utf-8")
    temporary.replace(mailbox / STATE_FILE)


def read_state(mailbox: Path) -> dict[str, object]:
    """Return what the job has said; empty before it runs."""
    try:
        found: dict[str, object] = json.loads((mailbox / STATE_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


class _Lease:
    """Whether somebody still renews the lease; changes are timed on this machine's clock, which may differ."""

    def __init__(self, path: Path, seconds: float) -> None:
        self._path, self._seconds = path, seconds
        self._seen: int | None = None
        self._seen_s = time.monotonic()

    def holds(self) -> bool:
        try:
            stamp: int | None = self._path.stat().st_mtime_ns
        except OSError:
            stamp = None
        if stamp is not None and stamp != self._seen:
            self._seen, self._seen_s = stamp, time.monotonic()
        return time.monotonic() - self._seen_s < self._seconds
