"""The requests around the load: is the server up, flush its cache, read its counters."""

from __future__ import annotations

import re
from collections.abc import Mapping

import httpx

from tracker.errors import ServerError
from tracker.load.client import certificates

QUICK_TIMEOUT_S = 10.0
# SGLang refuses to flush while a request is running; the last one may still be leaving.
_FLUSH_TRIES = 5
_SAMPLE = re.compile(r"^([A-Za-z_:][A-Za-z0-9_:]*)(?:\{[^}]*\})? ([0-9.eE+]+)$", re.MULTILINE)
_OUTPUT_COUNTERS = ("sglang:generation_tokens_total", "vllm:generation_tokens_total", "sglang:generation_tokens")


class Control:
    """One server, asked about itself; a context manager."""

    def __init__(
        self, url: str, *, headers: Mapping[str, str] | None = None, timeout_s: float = QUICK_TIMEOUT_S
    ) -> None:
        """Talk to `url`; nothing is sent yet."""
        self.url = url.rstrip("/")
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
        self._client.close()

    def healthy(self) -> bool:
        """Return whether `/health` answers 200."""
        try:
            return self._client.get("/health").status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False

    def get(self, path: str) -> bytes | None:
        """Return the body of a GET; None when the server has no such page or does not answer."""
        try:
            response = self._client.get(path)
        except httpx.HTTPError:
            return None
        return response.content if response.status_code == httpx.codes.OK else None

    def flush_cache(self) -> bool:
        """Empty the prefix cache and return whether the server says that it did; False where it has no such call."""
        for _ in range(_FLUSH_TRIES):
            try:
                status = self._client.post("/flush_cache").status_code
            except httpx.HTTPError:
                return False
            if status == httpx.codes.OK:
                return True
            if status == httpx.codes.NOT_FOUND:
                return False
        return False

    def speaks_sglang(self) -> bool:
        """Return whether this is SGLang, by the pages it serves.

        Raises:
            ServerError: Nothing answers there.
        """
        try:
            status = self._client.get("/model_info").status_code
            if status == httpx.codes.NOT_FOUND:
                status = self._client.get("/get_model_info").status_code
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
            return str(self._client.get("/v1/models").json()["data"][0]["id"])
        except (httpx.HTTPError, ValueError, LookupError, TypeError) as error:
            raise ServerError(
                "the server does not name its model at /v1/models", where=self.url, hint="Name it with --model."
            ) from error


def output_token_counter(metrics: bytes | None) -> float | None:
    """Return the server's count of generated tokens in a `/metrics` body, over all its parts; None without one."""
    if metrics is None:
        return None
    totals: dict[str, float] = {}
    for name, value in _SAMPLE.findall(metrics.decode("utf-8", "replace")):
        if name in _OUTPUT_COUNTERS:
            totals[name] = totals.get(name, 0.0) + float(value)
    return next((totals[name] for name in _OUTPUT_COUNTERS if name in totals), None)
