"""Runs one server and ends it when whoever started it is gone; a script of its own, standard library only.

The parent holds the other end of a pipe. However the parent dies (also by SIGKILL, when nothing of it can run any
more), the pipe closes, and the server's whole process group is ended. SIGTERM ends it after a grace, SIGINT at once.
Usage: `_guard.py PIPE_FD GRACE_SECONDS ARGV...`
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time

_POLL_S = 0.2


def main() -> int:
    """Run the command until it ends or the pipe closes, and return its exit code."""
    pipe, grace_s, argv = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    asked: list[int] = []
    # Before the server exists: a signal that ends the guard in between would leave the server behind.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: asked.append(number))
    # Its own group: ending the group later must not end the guard.
    try:
        server = subprocess.Popen(argv, process_group=0)
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
    # Workers of a server that crashed may still hold the device.
    _signal(server.pid, signal.SIGKILL)
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


if __name__ == "__main__":
    sys.exit(main())
