"""What one request asked and what came back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from tracker.load.prompts import Prompt

# How the reason of a failed request begins; every other failure is an answer that cannot be counted.
TIMED_OUT, NO_CONNECTION, CONNECTION_BROKEN, ABORTED = "timed out", "no connection", "connection broken", "aborted"
# Shown of a server's own words.
_MAX_REASON_LENGTH = 200
FAILURES = (TIMED_OUT, NO_CONNECTION, CONNECTION_BROKEN, ABORTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How answers are generated."""

    max_output_tokens: int
    """Length limit of an answer in tokens."""
    temperature: float = 0.0
    """Sampling temperature."""
    top_p: float | None = None
    """Nucleus sampling parameter."""
    ignore_eos: bool = True
    """Whether generation runs to the length limit regardless of end-of-sequence."""
    seed: int | None = None
    """Seed of the server's sampler."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What the server says it did for one request."""

    output_tokens: int | None = None
    """Generated tokens, as the server counts them; None where the answer does not say."""
    input_tokens: int | None = None
    """Prompt tokens."""
    cached_input_tokens: int | None = None
    """Prompt tokens served from the prefix cache."""
    server_latency_s: float | None = None
    """End-to-end latency by the server's clock."""
    verify_steps: int | None = None
    """Target forward passes that verified drafts."""
    accepted_drafts: int | None = None
    """Draft tokens accepted, bonus excluded."""
    proposed_drafts: int | None = None
    """Draft tokens proposed."""
    accepted_histogram: tuple[int, ...] | None = None
    """Verify steps by number of accepted drafts."""
    finish_reason: str | None = None
    """`stop`, `length`, ..."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    """The server's own object about the request, without texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One request with its end: counts, or why there are none."""

    prompt: Prompt
    """What was asked."""
    sent_s: float
    """When it was sent, on the client's clock."""
    ended_s: float
    """When its last byte had come or it had failed."""
    first_token_s: float | None = None
    """When its first token came; None when it was not streamed."""
    due_s: float | None = None
    """When it should have been sent; None in a closed loop."""
    counts: Counts | None = None
    """What the server counted; None when it failed."""
    error: str | None = None
    """Why it failed."""

    @property
    def latency_s(self) -> float:
        """Return seconds from sending to the end, on the client's clock."""
        return self.ended_s - self.sent_s

    @property
    def asked_s(self) -> float:
        """Return when its user would have asked: in an open loop when it was due, however late the client sent it."""
        return self.sent_s if self.due_s is None else self.due_s

    @property
    def failure(self) -> str | None:
        """Return in which way it failed, in words that many failures share; None when it did not."""
        if self.error is None:
            return None
        if self.error.startswith("HTTP "):
            return f"answered with {self.error[:8]}"
        return next((kind for kind in FAILURES if self.error.startswith(kind)), "with an answer that cannot be counted")


class BadAnswerError(Exception):
    """An answer that cannot be counted; never leaves this room: it becomes `Answer.error`."""


class Route(Protocol):
    """One way to ask an engine for text."""

    name: str
    """`sglang` or `openai`."""
    path: str
    """Path of the endpoint."""

    def body(self, prompt: Prompt, sampling: Sampling, *, stream: bool) -> bytes:
        """Return the request's body."""
        ...

    def counts(self, body: bytes, sampling: Sampling) -> Counts:
        """Return what a whole answer says.

        Raises:
            BadAnswerError: Not an answer, an aborted one, or one whose counts cannot be true.
        """
        ...

    def has_token(self, event: bytes) -> bool:
        """Return whether a streamed event brings a token.

        Raises:
            BadAnswerError: The event is not whole.
        """
        ...

    def stream_counts(self, events: list[bytes], sampling: Sampling) -> Counts:
        """Return what the events of a whole streamed answer say; the terminator is left out.

        Raises:
            BadAnswerError: As for `counts`, or the stream ended early.
        """
        ...


def decode_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a body.

    Raises:
        BadAnswerError: Not JSON, not UTF-8, or no object.
    """
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadAnswerError(f"malformed answer: {error}") from error
    if not isinstance(value, dict):
        raise BadAnswerError(f"malformed answer: a {type(value).__name__} instead of an object")
    return value


def refuse_error(answer: Mapping[str, Any]) -> None:
    """Do nothing for an answer that is none of the engines' errors.

    Raises:
        BadAnswerError: SGLang's and vLLM's `{"error": {"message": ...}}`, or vLLM's older `{"object": "error", ...}`.
    """
    error = answer.get("error", answer if answer.get("object") == "error" else None)
    if error is not None:
        message = error.get("message") if isinstance(error, Mapping) else error
        raise BadAnswerError(f"the server says: {str(message)[:_MAX_REASON_LENGTH]}")


def count(data: Mapping[str, Any], *names: str) -> int | None:
    """Return the first count found under these names; None when the server does not give it.

    Raises:
        BadAnswerError: The value is no count.
    """
    for name in names:
        value = data.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise BadAnswerError(f"the answer's {name} is no count: {str(value)[:40]}")
        return value
    return None


def check_output_tokens(tokens: int | None, sampling: Sampling) -> int:
    """Return the count of generated tokens when it can be true.

    Raises:
        BadAnswerError: There is none, or it is beyond the limit that was asked for.
    """
    if tokens is None:
        raise BadAnswerError("the answer does not say how many tokens it has")
    if tokens > sampling.max_output_tokens:
        raise BadAnswerError(f"the answer claims {tokens} tokens, asked for {sampling.max_output_tokens} at most")
    return tokens
