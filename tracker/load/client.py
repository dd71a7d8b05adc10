"""The HTTP client under the load: httpx as the interface, aiohttp underneath where it is installed.

Plain httpx with one shared pool costs 13 times aiohttp's CPU per chunk at 512 streams and cannot keep up, because its
pool is scanned for every request (encode/httpx issue 3215); over an aiohttp transport with uvloop it is level with the
best Python benchmark clients. Without the extra `[bench]`, each stream gets a client of its own with one connection,
which avoids the scan.
"""

from __future__ import annotations

import asyncio
import importlib.util
import ssl
from collections.abc import Callable
from typing import Any

import httpx

# An answer may take long; a connection may not.
CONNECT_TIMEOUT_S = 10.0


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


class ClientPool:
    """One client for each stream: all the same one over aiohttp, each its own over plain httpx."""

    def __init__(self, url: str, *, streams: int, timeout_s: float, headers: dict[str, str]) -> None:
        """Prepare clients for `streams` requests at once to `url`; must be made inside the event loop."""
        options: dict[str, Any] = {
            "base_url": url,
            "timeout": httpx.Timeout(timeout_s, connect=min(CONNECT_TIMEOUT_S, timeout_s)),
            "headers": {"content-type": "application/json", **headers},
            # A proxy from the environment must never stand between the client and the server it measures.
            "trust_env": False,
            "verify": certificates(url),
        }
        if importlib.util.find_spec("httpx_aiohttp"):
            self._clients = [_over_aiohttp(streams, options)]
        else:
            limits = httpx.Limits(max_connections=1, max_keepalive_connections=1)
            self._clients = [httpx.AsyncClient(limits=limits, **options) for _ in range(streams)]

    def client(self, stream: int) -> httpx.AsyncClient:
        """Return the client of a stream."""
        return self._clients[stream % len(self._clients)]

    async def close(self) -> None:
        """Close all connections."""
        for client in self._clients:
            await client.aclose()


def _over_aiohttp(streams: int, options: dict[str, Any]) -> httpx.AsyncClient:
    from httpx_aiohttp import AiohttpTransport  # type: ignore[import-not-found,unused-ignore]

    limits = httpx.Limits(max_connections=streams, max_keepalive_connections=streams)
    transport = AiohttpTransport(limits=limits, trust_env=False, verify=options["verify"])
    return httpx.AsyncClient(transport=transport, **options)
