"""The OpenAI-compatible completion routes, for vLLM and others: token counts from `usage`, no verify counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tracker.errors import InputError
from tracker.load.answers import BadAnswerError, Counts, Sampling, check_output_tokens, count, decode_object
from tracker.load.prompts import Prompt

MAX_REASON_LENGTH = 200


class OpenAIRoute:
    """`/v1/completions`, or `/v1/chat/completions` where the server's chat template is wanted."""

    name = "openai"

    def __init__(self, *, model: str, chat: bool = False) -> None:
        """Ask `model`; with `chat`, each prompt is one user message and the server applies its template."""
        self.model = model
        self.chat = chat
        self.path = "/v1/chat/completions" if chat else "/v1/completions"

    def body(self, prompt: Prompt, sampling: Sampling, *, stream: bool) -> bytes:
        """Return the request's body.

        Raises:
            InputError: A chat is asked for with token ids.
        """
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": sampling.max_output_tokens,
            "temperature": sampling.temperature,
            "stream": stream,
        }
        if self.chat and prompt.token_ids is not None:
            raise InputError(
                "a chat takes text, and the prompts are token ids", hint='Use the route "openai" or "sglang".'
            )
        if self.chat:
            body["messages"] = [{"role": "user", "content": prompt.text}]
        else:
            body["prompt"] = prompt.text if prompt.token_ids is None else prompt.token_ids
        if sampling.ignore_eos:
            body["ignore_eos"] = True
        if sampling.top_p is not None:
            body["top_p"] = sampling.top_p
        if sampling.seed is not None:
            body["seed"] = sampling.seed
        if stream:
            body["stream_options"] = {"include_usage": True}
        return msgspec.json.encode(body)

    def counts(self, body: bytes, sampling: Sampling) -> Counts:
        """Return what `usage` says."""
        answer = decode_object(body)
        return self._from_object(answer, sampling, _finish(answer))

    def has_token(self, event: bytes) -> bool:
        """Return whether the event brings text; the first one of a chat often brings a role only."""
        return any(_text(choice) for choice in _choices(_checked(decode_object(event))))

    def stream_counts(self, events: list[bytes], sampling: Sampling) -> Counts:
        """Return what the last event with `usage` says; chunks are never counted as tokens."""
        # Usage comes in the last event, or in every one; the finish reason in the one before it.
        finish = None
        for event in reversed(events):
            finish = finish or _finish(decode_object(event))
            if finish is not None:
                break
        for event in reversed(events):
            if b'"usage"' in event and isinstance(decode_object(event).get("usage"), Mapping):
                return self._from_object(decode_object(event), sampling, finish)
        raise BadAnswerError("the stream ended without a token count")

    def _from_object(self, answer: dict[str, Any], sampling: Sampling, finish: str | None) -> Counts:
        usage = _checked(answer).get("usage")
        if not isinstance(usage, Mapping):
            raise BadAnswerError("the answer has no usage")
        details = usage.get("prompt_tokens_details")
        return Counts(
            output_tokens=check_output_tokens(count(usage, "completion_tokens"), sampling),
            input_tokens=count(usage, "prompt_tokens"),
            cached_input_tokens=count(details, "cached_tokens") if isinstance(details, Mapping) else None,
            finish_reason=finish,
            meta={"usage": dict(usage)},
        )


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    error = answer.get("error")
    if error is not None:
        message = error.get("message") if isinstance(error, Mapping) else error
        raise BadAnswerError(f"the server says: {str(message)[:MAX_REASON_LENGTH]}")
    return answer


def _choices(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    choices = answer.get("choices")
    return [item for item in choices if isinstance(item, Mapping)] if isinstance(choices, list) else []


def _text(choice: Mapping[str, Any]) -> str | None:
    delta = choice.get("delta")
    if isinstance(delta, Mapping):
        return delta.get("content") or delta.get("reasoning_content")
    text = choice.get("text")
    return text if isinstance(text, str) else None


def _finish(answer: Mapping[str, Any]) -> str | None:
    return next(
        (item["finish_reason"] for item in _choices(answer) if isinstance(item.get("finish_reason"), str)), None
    )
