"""The HTTP client under the load: httpx's transports as the interface, aiohttp underneath where it is installed.

Plain httpx with one shared pool costs 13 times aiohttp's CPU per chunk at 512 streams and cannot keep up, because its
pool is scanned for every request (encode/httpx issue 3215). Requests are made before the clock starts and handed to
the transport itself: `httpx.AsyncClient` would merge addresses, headers and cookies anew for each, which costs more
than aiohttp's whole request (450 against 170 microseconds on one core). Without the extra `[bench]`, each stream gets
a transport of its own with one connection, which avoids the scan.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import ssl
from collections.abc import Callable
from typing import Any

import httpx

# An answer may take long; a connection may not.
CONNECT_TIMEOUT_S = 10.0
# SGLang and vLLM close a connection that was idle for 5 s (uvicorn's default); one used in that moment would fail.
KEEP_ALIVE_S = 2.0
FAST_TRANSPORT = "httpx-aiohttp, uvloop"


def transport_name() -> str:
    """Return what sends the requests, for the record."""
    sender = "httpx-aiohttp" if importlib.util.find_spec("httpx_aiohttp") else "httpx, one client a stream"
    loop = "uvloop" if importlib.util.find_spec("uvloop") else "asyncio"
    return f"{sender}, {loop}"


def certificates(url: str) -> ssl.SSLContext | bool:
    """Return what a client of this address needs to check certificates, made once for all clients of a pool.

    Reading the system's certificates takes 30 ms of CPU, for every client anew; without TLS nobody needs them.
    """
    return httpx.create_ssl_context() if url.startswith("https:") else False


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return uvloop's loop maker where it is installed, else None for the standard one."""
    if importlib.util.find_spec("uvloop") is None:
        return None
    import uvloop  # type: ignore[import-not-found,unused-ignore]

    maker: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return maker


def _broken_errors() -> tuple[type[Exception], ...]:
    """Return what a transport raises when a request brings no answer.

    httpx-aiohttp passes some of aiohttp's own errors on as they are, among them the one for a head that is not HTTP.
    """
    errors: list[type[Exception]] = [TimeoutError, OSError, httpx.HTTPError]
    if importlib.util.find_spec("aiohttp") is not None:
        import aiohttp

        errors.append(aiohttp.ClientError)
    return tuple(errors)


BROKEN = _broken_errors()


class ClientPool:
    """One transport for each stream: all the same one over aiohttp, each its own over plain httpx."""

    def __init__(self, url: str, *, streams: int, timeout_s: float, headers: dict[str, str]) -> None:
        """Prepare transports for `streams` requests at once to `url`; must be made inside the event loop."""
        self._url = url
        # Compressed answers would have to be undone in the measured window.
        everywhere = {"content-type": "application/json", "accept-encoding": "identity", **headers}
        # Whoever sends bounds the whole request; a timer renewed with every chunk would cost as much as the chunk.
        self._extensions = {"timeout": {"connect": min(CONNECT_TIMEOUT_S, timeout_s)}}
        # A proxy from the environment must never stand between the client and the server it measures.
        options: dict[str, Any] = {"trust_env": False, "verify": certificates(url)}
        if importlib.util.find_spec("httpx_aiohttp"):
            # Said once for the session: aiohttp copies a request's own headers one by one.
            self._headers: dict[str, str] = {}
            self._transports = [_over_aiohttp(streams, everywhere, options["verify"])]
        else:
            self._headers = everywhere
            limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEEP_ALIVE_S)
            self._transports = [httpx.AsyncHTTPTransport(limits=limits, **options) for _ in range(streams)]

    def request(self, path: str, body: bytes) -> httpx.Request:
        """Return a POST to this path, ready to be sent."""
        return httpx.Request("POST", self._url + path, content=body, headers=self._headers, extensions=self._extensions)

    async def connect(self, streams: int) -> None:
        """Open a connection for each stream, so that none is opened in the measured window.

        All are asked for at once, so no connection is used twice. A failure is left to the first request to tell.
        """
        ping = httpx.Request("GET", f"{self._url}/health", headers=self._headers, extensions=self._extensions)

        async def one(stream: int) -> None:
            with contextlib.suppress(*BROKEN):
                async with asyncio.timeout(CONNECT_TIMEOUT_S):
                    response = await self.transport(stream).handle_async_request(ping)
                    await response.aread()
                    await response.aclose()

        await asyncio.gather(*(one(stream) for stream in range(streams)))

    def transport(self, stream: int) -> httpx.AsyncBaseTransport:
        """Return the transport of a stream."""
        return self._transports[stream % len(self._transports)]

    async def close(self) -> None:
        """Close all connections."""
        for transport in self._transports:
            await transport.aclose()


def _over_aiohttp(streams: int, headers: dict[str, str], verify: ssl.SSLContext | bool) -> httpx.AsyncBaseTransport:
    """Return one transport for all streams; without cookies and headers of its own, a tenth cheaper a request."""
    import aiohttp
    from httpx_aiohttp import AiohttpTransport  # type: ignore[import-not-found,unused-ignore]

    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=streams, keepalive_timeout=KEEP_ALIVE_S, ssl=verify),
        headers=headers,
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=("accept", "user-agent"),
        trust_env=False,
    )
    transport: httpx.AsyncBaseTransport = AiohttpTransport(client=session, verify=verify, trust_env=False)
    return transport
