"""A server that answers every request with given bytes, in given pieces, over a real socket."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator, Sequence

_RESET = struct.pack("ii", 1, 0)


def chunked(pieces: Sequence[bytes]) -> list[bytes]:
    """Return an event stream's head, its pieces as HTTP chunks, and the end."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return [head, *(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece), b"0\r\n\r\n"]


def whole(body: bytes, status: int = 200) -> list[bytes]:
    """Return an answer that comes at once."""
    return [b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body)]


@contextlib.contextmanager
def replaying(answers: Sequence[Sequence[bytes]], *, reset: bool = False) -> Iterator[str]:
    """Serve one connection after the other, an answer a POST, and yield the address.

    Args:
        answers: Writes of each answer in turn.
        reset: Whether the connection is reset after each answer, as by a process that dies.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_serve, args=(listener, list(answers), reset), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        # Wakes a listener that still waits for a connection.
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def _serve(listener: socket.socket, answers: list[Sequence[bytes]], reset: bool) -> None:
    while answers:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while answers and (method := _request(connection)) is not None:
                if method == b"GET":
                    connection.sendall(whole(b"")[0])
                    continue
                for piece in answers.pop(0):
                    connection.sendall(piece)
                if reset:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    break


def _request(connection: socket.socket) -> bytes | None:
    """Read one request and return its method; None when the client is gone."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return None
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line.partition(b":")[2] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
    while len(body) < int(lengths[0] if lengths else 0):
        body += connection.recv(65536)
    return head.partition(b" ")[0]
