"""The requests around the load: is the server up, flush its cache, read its counters."""

from __future__ import annotations

import time
from collections.abc import Mapping

import httpx

from tracker.errors import ServerError
from tracker.load.client import certificates
from tracker.load.counters import read_counters
from tracker.load.interrupts import interrupts_held

QUICK_TIMEOUT_S = 10.0
# SGLang refuses to flush while a request is running; the last one may still be leaving.
_FLUSH_TRIES = 5
# SGLang's own call, then vLLM's, which a server in its development mode has (VLLM_SERVER_DEV_MODE=1).
_FLUSH_PATHS = ("/flush_cache", "/reset_prefix_cache")
# Both engines count an answer a moment after its last byte is sent.
_SETTLE_S = 0.1
_SETTLE_TRIES = 10


class Control:
    """One server, asked about itself; a context manager."""

    def __init__(
        self, url: str, *, headers: Mapping[str, str] | None = None, timeout_s: float = QUICK_TIMEOUT_S
    ) -> None:
        """Talk to `url`; nothing is sent yet."""
        self.url = url.rstrip("/")
        with interrupts_held():
            self._client = httpx.Client(
                base_url=self.url,
                timeout=timeout_s,
                headers=dict(headers or {}),
                trust_env=False,
                verify=certificates(self.url),
            )

    def __enter__(self) -> Control:
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close connections."""
        with interrupts_held():
            self._client.close()

    def _ask(self, method: str, path: str) -> httpx.Response:
        with interrupts_held():
            return self._client.request(method, path)

    def healthy(self) -> bool:
        """Return whether `/health` answers 200."""
        try:
            return self._ask("GET", "/health").status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False

    def get(self, path: str) -> bytes | None:
        """Return the body of a GET; None when the server has no such page or does not answer."""
        try:
            response = self._ask("GET", path)
        except httpx.HTTPError:
            return None
        return response.content if response.status_code == httpx.codes.OK else None

    def metrics(self) -> bytes | None:
        """Return the body of `/metrics` once its counters stand still, or a second has passed; None without one."""
        body = self.get("/metrics")
        for _ in range(_SETTLE_TRIES):
            if body is None:
                return None
            time.sleep(_SETTLE_S)
            before, body = body, self.get("/metrics")
            if read_counters(body) == read_counters(before):
                break
        return body

    def flush_cache(self) -> bool:
        """Empty the prefix cache and return whether the server says that it did; False where it has no such call."""
        return any(self._flush(path) for path in _FLUSH_PATHS)

    def _flush(self, path: str) -> bool:
        for _ in range(_FLUSH_TRIES):
            try:
                response = self._ask("POST", path)
            except httpx.HTTPError:
                return False
            if response.status_code == httpx.codes.NOT_FOUND:
                return False
            # vLLM answers 200 also when blocks were still held.
            refused = b'"success":false' in response.content.replace(b" ", b"")
            if response.status_code == httpx.codes.OK and not refused:
                return True
            time.sleep(_SETTLE_S)
        return False

    def speaks_sglang(self) -> bool:
        """Return whether this is SGLang, by the pages it serves.

        Raises:
            ServerError: Nothing answers there.
        """
        try:
            status = self._ask("GET", "/model_info").status_code
            if status == httpx.codes.NOT_FOUND:
                status = self._ask("GET", "/get_model_info").status_code
        except httpx.HTTPError as error:
            raise ServerError(
                f"nothing answers: {error or type(error).__name__}", where=self.url, hint="Is the server up?"
            ) from error
        return status == httpx.codes.OK

    def model(self) -> str:
        """Return the name under which the server offers its model.

        Raises:
            ServerError: It does not say.
        """
        try:
            return str(self._ask("GET", "/v1/models").json()["data"][0]["id"])
        except (httpx.HTTPError, ValueError, LookupError, TypeError) as error:
            raise ServerError(
                "the server does not name its model at /v1/models", where=self.url, hint="Name it with --model."
            ) from error
