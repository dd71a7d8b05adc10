"""Starting the fake engine for a test, and ending it."""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx

ENGINE = Path(__file__).parent / "engine"
LAUNCH = (sys.executable, "-m", "sglang.launch_server")
EAGLE3 = ("--speculative-algorithm", "EAGLE3", "--speculative-num-steps", "3")


def free_port() -> int:
    """Return a port that nobody listens on."""
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def serving(*flags: str, **variables: str) -> Iterator[str]:
    """Run the fake engine with these flags and variables, and yield its address."""
    with _started(flags, variables) as url:
        yield url


_RUNNING = contextlib.ExitStack()
_SHARED: dict[tuple[object, ...], str] = {}
atexit.register(_RUNNING.close)


def shared(*flags: str, **variables: str) -> contextlib.AbstractContextManager[str]:
    """Yield the address of a server that all tests of this process share: they cost its start once.

    For tests that need no failure of it and count from where its counters stand.
    """
    key = (flags, *sorted(variables.items()))
    if key not in _SHARED:
        _SHARED[key] = _RUNNING.enter_context(_started(flags, variables))
    return contextlib.nullcontext(_SHARED[key])


@contextlib.contextmanager
def _started(flags: tuple[str, ...], variables: Mapping[str, str]) -> Iterator[str]:
    port = free_port()
    environment = {**os.environ, "PYTHONPATH": str(ENGINE), "FAKE_STEP_MS": "0.2", **variables}
    process = subprocess.Popen(
        [*LAUNCH, "--model-path", "target", *flags, "--port", str(port)], env=environment, stdout=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url, process)
        yield url
    finally:
        process.kill()
        process.wait()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        assert process.poll() is None, "the fake engine ended by itself"
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(f"{url}/health", trust_env=False).status_code == 200:
                return
        time.sleep(0.05)
    raise AssertionError("the fake engine did not come up")
