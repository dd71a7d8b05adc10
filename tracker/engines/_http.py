"""One careful GET: short, bounded, and every failure said in words."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from tracker.domain.redaction import redact_text
from tracker.errors import ServerError

if TYPE_CHECKING:
    import httpx

# A full /server_info is 50 kB, /metrics of a busy server about 1 MB.
MAX_BODY_BYTES = 32 * 1024 * 1024
# What a server may pack an answer with that asks for none: each piece of these grows a thousandfold at most.
_ENCODINGS = frozenset({"", "identity", "gzip", "deflate"})
OFFLINE_HINT = (
    "Start the server or correct the address; or describe it from files with "
    "--server-info FILE, --server-log FILE or --argv FILE."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A successful answer."""

    url: str
    """Where it came from, credentials removed."""
    content_type: str
    """As the server says."""
    body: bytes
    """Content."""

    def json_object(self) -> Mapping[str, Any]:
        """Return the body as a JSON object.

        Raises:
            ServerError: It is something else.
        """
        try:
            parsed = json.loads(self.body)
        except (ValueError, RecursionError) as error:
            kind = (
                "an HTML page"
                if self.body.lstrip()[:1] == b"<"
                else f"{self.content_type or 'something'} that is not JSON"
            )
            raise ServerError(
                f"answers with {kind}",
                where=self.url,
                hint="Is this the inference server itself, and not a proxy, a login page or a user interface?",
            ) from error
        if not isinstance(parsed, dict):
            raise ServerError(
                f"answers with a JSON {type(parsed).__name__} instead of an object",
                where=self.url,
                hint="Give the address of the inference server itself.",
            )
        return parsed


def get(client: httpx.Client, url: str) -> Answer | None:
    """Return a server's answer to GET; None when it says that there is no such page (404, 405).

    Raises:
        ServerError: It does not answer, answers with an error, redirects, or never ends.
    """
    import httpx

    shown = _words(url)
    limit_s = 3 * (client.timeout.read or 5.0)
    deadline = time.monotonic() + limit_s
    # One connection a request, so that it can be cut.
    headers = {"Connection": "close", "Accept-Encoding": "identity"}
    try:
        with _cut_after(limit_s) as trace, client.stream("GET", url, headers=headers, extensions=trace) as response:
            if response.status_code in (404, 405):
                return None
            _refuse_status(response, shown)
            if response.headers.get("content-encoding", "").strip().lower() not in _ENCODINGS:
                raise ServerError(
                    "packs its answer in a way that was not asked for",
                    where=shown,
                    hint="Give the address of the inference server itself.",
                )
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > MAX_BODY_BYTES or time.monotonic() > deadline:
                    raise _endless(shown)
            if time.monotonic() > deadline:  # what looks like the end is our own cut
                raise _endless(shown)
            return Answer(url=shown, content_type=response.headers.get("content-type", ""), body=bytes(body))
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, httpx.CookieConflict, UnicodeError) as error:
        if time.monotonic() > deadline:
            raise _endless(shown) from error
        _explain(error, shown)


def _endless(url: str) -> ServerError:
    return ServerError("the answer does not end", where=url, hint="Give the address of the inference server itself.")


@contextlib.contextmanager
def _cut_after(limit_s: float) -> Iterator[dict[str, Any]]:
    """Yield a request's extensions that cut its connection after a time, however the server drips its headers."""
    sockets: list[socket.socket] = []

    def note(event: str, info: Mapping[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            sockets.append(info["return_value"].get_extra_info("socket"))

    def cut() -> None:
        for connection in sockets:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(limit_s, cut)
    timer.daemon = True
    timer.start()
    try:
        yield {"trace": note}
    finally:
        timer.cancel()


def _words(text: str) -> str:
    """Return what a server says as it may be shown: without secrets, and without signs that steer a terminal."""
    return "".join(char if char.isprintable() else "?" for char in redact_text(text))


def _refuse_status(response: httpx.Response, url: str) -> None:
    status = response.status_code
    if status < 300:
        return
    if status < 400:
        target = _words(response.headers.get("location", "elsewhere"))
        raise ServerError(
            f"redirects to {target}",
            where=url,
            hint="Give that address, if it is the server; redirects are not followed.",
        )
    if status in (401, 403):
        raise ServerError(
            f"refuses access (HTTP {status})", where=url, hint="Give the server's key, or describe it from files."
        )
    hint = "It may still be loading; try again." if status == 503 else f"Look into the server's log. {OFFLINE_HINT}"
    raise ServerError(f"answers with HTTP {status} {_words(response.reason_phrase)}".rstrip(), where=url, hint=hint)


def _explain(error: Exception, url: str) -> NoReturn:
    import httpx

    detail = _words(str(error)) or type(error).__name__
    if isinstance(error, (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError)):
        raise ServerError(
            f"is not an address ({detail})", where=url, hint="Write it like http://127.0.0.1:30000."
        ) from error
    if isinstance(error, (httpx.ConnectTimeout, httpx.ConnectError)):
        raise ServerError(f"nothing answers there ({detail})", where=url, hint=OFFLINE_HINT) from error
    if isinstance(error, httpx.TimeoutException):
        raise ServerError(
            "connects but does not answer in time", where=url, hint=f"It may be loading or overloaded. {OFFLINE_HINT}"
        ) from error
    raise ServerError(f"breaks off the conversation ({detail})", where=url, hint=OFFLINE_HINT) from error
