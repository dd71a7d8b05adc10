"""A proxy that tunnels what CONNECT asks for, as companies put one between their machines and the rest."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(slots=True, kw_only=True)
class ConnectProxy:
    """A running proxy."""

    url: str = ""
    """Where it listens."""
    asked: list[str] = field(default_factory=list)
    """`host:port` of every tunnel asked for."""
    refuses: bool = False
    """Whether it answers 403."""


@contextlib.contextmanager
def proxying() -> Iterator[ConnectProxy]:
    """Serve until the block ends."""
    proxy = ConnectProxy()

    class Handler(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            proxy.asked.append(self.path)
            if proxy.refuses:
                self.send_error(403, "not through here")
                return
            host, _, port = self.path.partition(":")
            with socket.create_connection((host, int(port)), timeout=30) as upstream:
                self.send_response(200)
                self.end_headers()
                back = threading.Thread(target=pump, args=(upstream, self.connection), daemon=True)
                back.start()
                pump(self.connection, upstream)
                back.join(timeout=5)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    proxy.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def pump(source: socket.socket, target: socket.socket) -> None:
    """Pass on everything until the source ends."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
