"""A reverse proxy in front of an MLflow server, as teams put one there: it demands credentials, or misbehaves."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "date", "server", "keep-alive"}


@dataclass(slots=True, kw_only=True)
class Gateway:
    """What the proxy wants and does."""

    upstream: str
    """Server behind it."""
    authorization: str | None = None
    """Header that it demands; None lets everybody in."""
    refuses: Callable[[str, str], int | None] = lambda _method, _path: None
    """Status to answer instead of asking the server, by method and path; None asks the server."""
    breaks: Callable[[str, str], Literal["before", "after"] | None] = lambda _method, _path: None
    """Whether to hang up before or after the server has done what was asked, by method and path."""
    late_s: Callable[[str, str], float] = lambda _method, _path: 0.0
    """How long to keep the server's answer back, by method and path."""
    clock_off: timedelta = timedelta()
    """How wrong its clock is."""
    url: str = ""
    """Where it listens."""
    seen: set[str | None] = field(default_factory=set)
    """Every Authorization header that arrived."""
    certificate: tuple[Path, Path] | None = None
    """Certificate chain and key; with them it speaks TLS."""


@contextlib.contextmanager
def running(gateway: Gateway) -> Iterator[Gateway]:
    """Serve until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            given = self.headers.get("Authorization")
            gateway.seen.add(given)
            refusal = gateway.refuses(self.command, self.path)
            if gateway.authorization is not None and given != gateway.authorization:
                refusal = 401
            if refusal is not None:
                # As careless gateways do: the page repeats what was sent.
                return self.answer(refusal, f"<h1>no</h1> you sent {given}".encode(), {"Content-Type": "text/html"})
            broken = gateway.breaks(self.command, self.path)
            if broken == "before":
                return self.hang_up()
            connection = http.client.HTTPConnection(urlsplit(gateway.upstream).netloc, timeout=60)
            headers = {
                key: value for key, value in self.headers.items() if key.lower() not in ("host", "authorization")
            }
            connection.request(self.command, self.path, body, headers)
            response = connection.getresponse()
            kept = {key: value for key, value in response.getheaders() if key.lower() not in HOP_BY_HOP}
            body = response.read()
            connection.close()
            if broken == "after":
                return self.hang_up()
            time.sleep(gateway.late_s(self.command, self.path))
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # whoever asked may have given up
                self.answer(response.status, body, kept)
            return None

        def hang_up(self) -> None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

        do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the base class names them so

        def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def date_time_string(self, timestamp: float | None = None) -> str:
            return format_datetime(datetime.now(UTC) + gateway.clock_off, usegmt=True)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    gateway.url = f"http://127.0.0.1:{server.server_port}"
    if gateway.certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*gateway.certificate)
        # The handshake belongs to the connection's thread: one client that gives up must not hold the others.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        gateway.url = f"https://localhost:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield gateway
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
