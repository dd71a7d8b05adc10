"""Free ports for servers, reserved for as long as a server may be up."""

from __future__ import annotations

import contextlib
import socket
from dataclasses import dataclass

from tracker.errors import ServerError

# SGLang takes further ports from 100 above the one it is given (`--nccl-port` and the distributed store among them).
STRIDE = 100
_TRIES = 50
_LAST = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservedPort:
    """A port that nobody else who asks here is given.

    A server listens only once its model is loaded: until then a second sweep on this machine would find its port free,
    take the first one's server for its own, and measure it. What is held is the last port below the next server's.
    """

    number: int
    """The port."""
    held: socket.socket
    """Bound for as long as the port is reserved; the system lets it go however this process ends."""

    def release(self) -> None:
        """Let others have it; doing it twice is harmless."""
        self.held.close()


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Return whether a server could listen on this port now."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def reserve_port(start: int, *, stride: int = STRIDE) -> ReservedPort:
    """Return the first port from `start` on in steps of `stride` that is free and that nobody has reserved.

    Raises:
        ServerError: None of 50 is.
    """
    for port in range(start, start + stride * _TRIES, stride):
        if port > _LAST:
            break
        held = _held(port + stride - 1 if port + stride - 1 <= _LAST else port - 1)
        if held is None:
            continue
        if is_free(port):
            return ReservedPort(number=port, held=held)
        held.close()
    raise ServerError(
        f"no free port from {start} on in steps of {stride}",
        hint="End old servers, or name another start with `start_port` under [sweep].",
    )


def _held(port: int) -> socket.socket | None:
    """Return a socket on this port; without SO_REUSEADDR, so that two of them exclude each other."""
    held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        held.bind(("127.0.0.1", port))
    except OSError:
        held.close()
        return None
    return held
