"""Free ports for servers."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Collection

from tracker.errors import ServerError

# SGLang takes further ports just above the one it is given (`--nccl-port` and the distributed store among them).
STRIDE = 100
_TRIES = 50


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Return whether a server could listen on this port now."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_port(start: int, *, taken: Collection[int], stride: int = STRIDE) -> int:
    """Return the first free port from `start` on in steps of `stride` that is not in `taken`.

    Raises:
        ServerError: None of 50 is free.
    """
    for port in range(start, start + stride * _TRIES, stride):
        if port < 65_536 and port not in taken and is_free(port):
            return port
    raise ServerError(
        f"no free port from {start} on in steps of {stride}",
        hint="End old servers, or name another start with `start_port` under [sweep].",
    )
