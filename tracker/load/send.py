"""Sending one request and turning every way in which it can end into an `Answer`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx

from tracker.load.answers import Answer, BadAnswerError, Counts, Route, Sampling
from tracker.load.prompts import Prompt

_DONE = b"[DONE]"
# The last events of a stream hold its counts: the finish reason, then the usage.
_KEPT_EVENTS = 4
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


async def send(client: httpx.AsyncClient, route: Route, request: Request, *, due_s: float | None = None) -> Answer:
    """Return one request with its end; only cancellation is raised."""
    sent_s = time.perf_counter()
    first_token_s: float | None = None
    counts: Counts | None = None
    error: str | None = None
    try:
        async with asyncio.timeout(request.timeout_s):
            if request.stream:
                first_token_s, counts = await _streamed(client, route, request)
            else:
                response = await client.post(route.path, content=request.body)
                _check_status(response.status_code, response.content)
                counts = route.counts(response.content, request.sampling)
    except BadAnswerError as bad:
        error = str(bad)
    except (TimeoutError, httpx.HTTPError) as broken:
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


async def _streamed(client: httpx.AsyncClient, route: Route, request: Request) -> tuple[float | None, Counts]:
    async with client.stream("POST", route.path, content=request.body) as response:
        if response.status_code != httpx.codes.OK:
            _check_status(response.status_code, (await response.aread())[:_MAX_ERROR_BYTES])
        first_token_s: float | None = None
        last: list[bytes] = []
        async for event in events(response.aiter_raw()):
            if first_token_s is None and route.has_token(event):
                first_token_s = time.perf_counter()
            last.append(event)
            del last[:-_KEPT_EVENTS]
        return first_token_s, route.stream_counts(last, request.sampling)


async def events(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the data of each server-sent event; chunks may break anywhere, also inside a character.

    Raises:
        BadAnswerError: The stream ends without its terminator, or in the middle of an event.
    """
    rest = b""
    ended = False
    async for chunk in chunks:
        *lines, rest = (rest + chunk if rest else chunk).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                data = line[5:].strip()
                if data == _DONE:
                    ended = True
                elif data:
                    yield data
    if rest.strip() == b"data: " + _DONE:
        ended = True
    elif rest.strip():
        raise BadAnswerError("the stream ended in the middle of an event")
    if not ended:
        raise BadAnswerError("the stream ended without its terminator")


def _check_status(status: int, body: bytes) -> None:
    if status == httpx.codes.OK:
        return
    text = body[:_MAX_ERROR_BYTES].decode("utf-8", "replace").strip()
    raise BadAnswerError(f"HTTP {status}: {' '.join(text.split())[:_SHOWN_CHARACTERS]}")


def _why(error: TimeoutError | httpx.HTTPError, after_s: float) -> str:
    """Return what became of a request that brought no answer.

    httpx-aiohttp calls every broken connection a time-out of connecting; aiohttp's own error beneath tells them apart.
    """
    cause = error.__cause__
    beneath = type(cause).__name__ if cause is not None and type(cause).__module__.startswith("aiohttp") else None
    timed_out = isinstance(error, TimeoutError | httpx.TimeoutException)
    if timed_out and (beneath is None or isinstance(cause, TimeoutError)):
        return f"timed out after {after_s:.1f} s ({type(error).__name__})"
    if isinstance(error, httpx.ConnectError) or (beneath or "").startswith("ClientConnector"):
        return f"no connection: {error or type(error).__name__}"
    return f"connection broken: {beneath or type(error).__name__} {error}".strip()
