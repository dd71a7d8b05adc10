"""Runs one server and ends it when whoever started it is gone; a script of its own, standard library only.

The parent holds the other end of a pipe. However the parent dies (also by SIGKILL, when nothing of it can run any
more), the pipe closes, and the server's whole process group is ended. SIGTERM ends it after a grace, SIGINT at once.
With `all`, processes that the server put into groups or sessions of their own (mpirun's ranks, Ray's workers) end with
it: orphans become children of this script. With `group` they are left, as an ssh's shared connection must be.
Usage: `_guard.py PIPE_FD GRACE_SECONDS all|group ARGV...`
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

_PROC = Path("/proc")
_POLL_S = 0.2
# A process that waits for its device cannot be ended; nobody is to wait for it for ever.
_ORPHANS_S = 5.0
# Linux, sys/prctl.h.
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def main() -> int:
    """Run the command until it ends or the pipe closes, and return its exit code."""
    pipe, grace_s, adopts, argv = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3] == "all", sys.argv[4:]
    asked: list[int] = []
    # Before the server exists: a signal that ends the guard in between would leave the server behind.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: asked.append(number))
    prctl = _prctl()
    if adopts:
        prctl(_PR_SET_CHILD_SUBREAPER, 1)
    # Its own group: ending the group later must not end the guard. Killed itself, the guard takes the server along.
    try:
        server = subprocess.Popen(argv, process_group=0, preexec_fn=lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL))
    except OSError as error:
        sys.stdout.write(f"{type(error).__name__}: {error}\n")
        return 127
    signal.signal(signal.SIGTERM, lambda *_: _end(server, grace_s))
    signal.signal(signal.SIGINT, lambda *_: _signal(server.pid, signal.SIGKILL))
    if asked:
        _end(server, grace_s)
    while server.poll() is None:
        ready, _, _ = select.select([pipe], [], [], _POLL_S)
        if ready and not os.read(pipe, 1):
            _end(server, grace_s)
        _reap(server.pid)
    # Workers of a server that crashed may still hold the device.
    _signal(server.pid, signal.SIGKILL)
    if adopts:
        _end_orphans()
    code = server.returncode
    return code if code >= 0 else 128 - code


def _end(server: "subprocess.Popen[bytes]", grace_s: float) -> None:
    _signal(server.pid, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while server.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    _signal(server.pid, signal.SIGKILL)
    server.wait()


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _prctl() -> Callable[[int, int], int]:
    """Return the system's prctl; where there is none, something that does nothing."""
    try:
        import ctypes  # a Python that was built without libffi has none

        call: Callable[[int, int], int] = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return lambda *_: -1
    return call


def _reap(server: int) -> None:
    """Let go of orphans that have ended; the server's own end is left for whoever asks for its exit code."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if ended.si_pid == server:
                return
            os.waitpid(ended.si_pid, 0)


def _end_orphans() -> None:
    """End what the server left in other groups; what those leave in turn is found in the next round."""
    deadline = time.monotonic() + _ORPHANS_S
    while (orphans := _children()) and time.monotonic() < deadline:
        for process in orphans:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        _reap(0)
        time.sleep(0.02)


def _children() -> list[int]:
    found = []
    for folder in _PROC.iterdir() if _PROC.is_dir() else ():
        with contextlib.suppress(OSError, ValueError, IndexError):
            # `pid (name) state parent ...`; a name may hold brackets and blanks.
            if int((folder / "stat").read_bytes().rpartition(b")")[2].split()[1]) == os.getpid():
                found.append(int(folder.name))
    return found


if __name__ == "__main__":
    sys.exit(main())
