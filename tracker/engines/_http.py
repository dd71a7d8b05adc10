"""One careful GET: short, bounded, and every failure said in words."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from tracker.domain.redaction import redact_text
from tracker.errors import ServerError

if TYPE_CHECKING:
    import httpx

# A full /server_info is 50 kB, /metrics of a busy server about 1 MB.
MAX_BODY_BYTES = 32 * 1024 * 1024
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

    shown = redact_text(url)
    deadline = time.monotonic() + 3 * (client.timeout.read or 5.0)
    try:
        with client.stream("GET", url) as response:
            if response.status_code in (404, 405):
                return None
            _refuse_status(response, shown)
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > MAX_BODY_BYTES or time.monotonic() > deadline:
                    raise ServerError(
                        "the answer does not end", where=shown, hint="Give the address of the inference server itself."
                    )
            return Answer(url=shown, content_type=response.headers.get("content-type", ""), body=bytes(body))
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, httpx.CookieConflict) as error:
        _explain(error, shown)


def _refuse_status(response: httpx.Response, url: str) -> None:
    status = response.status_code
    if status < 300:
        return
    if status < 400:
        target = redact_text(response.headers.get("location", "elsewhere"))
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
    raise ServerError(f"answers with HTTP {status} {response.reason_phrase}".rstrip(), where=url, hint=hint)


def _explain(error: Exception, url: str) -> NoReturn:
    import httpx

    detail = redact_text(str(error)) or type(error).__name__
    if isinstance(error, (httpx.InvalidURL, httpx.UnsupportedProtocol)):
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
