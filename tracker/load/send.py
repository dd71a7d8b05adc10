"""Sending one request and turning every way in which it can end into an `Answer`."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

import httpx

from tracker.load.answers import (
    CONNECTION_BROKEN,
    NO_CONNECTION,
    TIMED_OUT,
    Answer,
    BadAnswerError,
    Counts,
    Route,
    Sampling,
)
from tracker.load.client import BROKEN
from tracker.load.events import Events
from tracker.load.prompts import Prompt

_MAX_ERROR_BYTES = 4096
# Shown of an error body; more would be noise in a record.
_SHOWN_CHARACTERS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request, its body made before the clock starts."""

    prompt: Prompt
    """What is asked."""
    body: bytes
    """The body as sent."""
    sampling: Sampling
    """What was asked for, to check the answer against."""
    stream: bool = False
    """Whether the answer comes in events."""
    timeout_s: float
    """Seconds after which the whole request has failed."""


async def send(
    transport: httpx.AsyncBaseTransport,
    route: Route,
    request: Request,
    wire: httpx.Request,
    *,
    due_s: float | None = None,
) -> Answer:
    """Return one request with its end; only cancellation is raised.

    Args:
        transport: What sends it.
        route: How to read the answer.
        request: What is asked.
        wire: The same as HTTP, made before the clock starts.
        due_s: When it should have been sent; None in a closed loop.
    """
    sent_s = time.perf_counter()
    first_token_s: float | None = None
    counts: Counts | None = None
    error: str | None = None
    try:
        async with asyncio.timeout(request.timeout_s):
            response = await transport.handle_async_request(wire)
            try:
                if request.stream and response.status_code == httpx.codes.OK:
                    first_token_s, counts = await _streamed(response, route, request)
                else:
                    counts = await _whole(response, route, request)
            finally:
                await response.aclose()
    except BadAnswerError as bad:
        error = str(bad)
    except BROKEN as broken:
        error = _why(broken, time.perf_counter() - sent_s)
    ended_s = time.perf_counter()
    return Answer(
        prompt=request.prompt,
        sent_s=sent_s,
        ended_s=ended_s,
        due_s=due_s,
        first_token_s=first_token_s if error is None else None,
        counts=counts if error is None else None,
        error=error,
    )


async def _whole(response: httpx.Response, route: Route, request: Request) -> Counts:
    body = b"".join([chunk async for chunk in _chunks(response)])
    if response.status_code != httpx.codes.OK:
        text = body[:_MAX_ERROR_BYTES].decode("utf-8", "replace").strip()
        raise BadAnswerError(f"HTTP {response.status_code}: {' '.join(text.split())[:_SHOWN_CHARACTERS]}")
    return route.counts(body, request.sampling)


async def _streamed(response: httpx.Response, route: Route, request: Request) -> tuple[float | None, Counts]:
    first_token_s: float | None = None
    events = Events()
    async for chunk in _chunks(response):
        for event in events.feed(chunk):
            if first_token_s is None and route.has_token(event):
                first_token_s = time.perf_counter()
    events.close()
    return first_token_s, route.stream_counts(list(events.last), request.sampling)


def _chunks(response: httpx.Response) -> httpx.AsyncByteStream:
    """Return the bytes as the transport reads them; httpx's own iterators are three generators deep."""
    stream = response.stream
    assert isinstance(stream, httpx.AsyncByteStream)  # noqa: S101 - a transport for coroutines gives no other
    return stream


def _why(error: Exception, after_s: float) -> str:
    """Return what became of a request that brought no answer.

    httpx-aiohttp calls every broken connection a time-out of connecting; aiohttp's own error beneath tells them apart.
    """
    cause = error.__cause__
    beneath = type(cause).__name__ if cause is not None and type(cause).__module__.startswith("aiohttp") else None
    timed_out = isinstance(error, TimeoutError | httpx.TimeoutException)
    if timed_out and (beneath is None or isinstance(cause, TimeoutError)):
        return f"{TIMED_OUT} after {after_s:.1f} s ({type(error).__name__})"
    if isinstance(error, httpx.ConnectError) or (beneath or "").startswith("ClientConnector"):
        return f"{NO_CONNECTION}: {error or type(error).__name__}"
    return f"{CONNECTION_BROKEN}: {beneath or type(error).__name__} {error}".strip()
