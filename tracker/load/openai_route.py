"""The OpenAI-compatible completion routes, for vLLM and others: token counts from `usage`.

Verify counts from SGLang 0.5.20 and later, which adds them to each answer when asked
(srt/entrypoints/openai/serving_completions.py), and from vLLM 0.32 and later where the server was started so; else
vLLM counts them for the whole server only, see `counters`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tracker.errors import InputError
from tracker.load.acceptance import read_acceptance
from tracker.load.answers import (
    BadAnswerError,
    Counts,
    Sampling,
    check_output_tokens,
    count,
    decode_object,
    refuse_error,
)
from tracker.load.chat_template import ChatTemplate, in_template
from tracker.load.prompts import Prompt


class OpenAIRoute:
    """`/v1/completions`, or `/v1/chat/completions` where the server's chat template is wanted."""

    name = "openai"

    def __init__(
        self,
        *,
        model: str,
        chat: bool = False,
        sglang: bool = False,
        template: ChatTemplate | None = None,
        thinking: bool | None = None,
    ) -> None:
        """Ask `model`; with `chat`, each prompt is one user message and the server applies its template.

        Args:
            model: Name under which the server offers it.
            chat: Whether to use the chat route.
            sglang: Whether the server understands SGLang's additions.
            template: Template to apply here, for the completions route.
            thinking: Whether the model is to think before it answers; None leaves it to the template.
        """
        self.model = model
        self.chat = chat
        self._sglang, self._template, self._thinking = sglang, template, thinking
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
            if self._thinking is not None:
                # Templates name the switch differently; a name that a template does not use does nothing.
                body["chat_template_kwargs"] = {"enable_thinking": self._thinking, "thinking": self._thinking}
        elif prompt.token_ids is not None:
            body["prompt"] = prompt.token_ids
        else:
            body["prompt"] = in_template(prompt.text, self._template, self._thinking)
        if self._sglang:
            body["return_spec_tokens_details"] = True
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
        return self._from_object(answer, sampling, _finish(answer), _drafts(answer))

    def has_token(self, event: bytes) -> bool:
        """Return whether the event brings text; the first one of a chat often brings a role only."""
        return any(_text(choice) for choice in _choices(_checked(decode_object(event))))

    def stream_counts(self, events: list[bytes], sampling: Sampling) -> Counts:
        """Return what the last event with `usage` says; chunks are never counted as tokens."""
        # Usage comes in the last event, or in every one; before it the drafts, and before them the finish reason.
        last = [_checked(decode_object(event)) for event in reversed(events)]
        finish = next((reason for event in last if (reason := _finish(event)) is not None), None)
        drafts = next((told for event in last if (told := _drafts(event)) is not None), None)
        counted = next((event for event in last if isinstance(event.get("usage"), Mapping)), None)
        if counted is None:
            raise BadAnswerError("the stream ended without a token count")
        if finish is None:
            raise BadAnswerError("the stream ended before the answer did")
        return self._from_object(counted, sampling, finish, drafts)

    def _from_object(
        self, answer: dict[str, Any], sampling: Sampling, finish: str | None, spoken: Mapping[str, Any] | None
    ) -> Counts:
        usage = _checked(answer).get("usage")
        if not isinstance(usage, Mapping):
            raise BadAnswerError("the answer has no usage")
        if finish == "abort":
            raise BadAnswerError("aborted")
        details = usage.get("prompt_tokens_details")
        drafts = read_acceptance(spoken or {})
        return Counts(
            output_tokens=check_output_tokens(count(usage, "completion_tokens"), sampling),
            input_tokens=count(usage, "prompt_tokens"),
            cached_input_tokens=count(details, "cached_tokens") if isinstance(details, Mapping) else None,
            verify_steps=drafts.verify_steps,
            accepted_drafts=drafts.accepted_drafts,
            proposed_drafts=drafts.proposed_drafts,
            accepted_histogram=drafts.accepted_histogram,
            finish_reason=finish,
            meta={"usage": dict(usage), **(spoken or {})},
        )


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    refuse_error(answer)
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


def _drafts(answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what the answer says about its drafts: SGLang's addition, or vLLM's."""
    for place, name in (("sglext", "spec_tokens_details"), ("metrics", "speculative_decoding")):
        inner = answer.get(place)
        found = inner.get(name) if isinstance(inner, Mapping) else None
        if isinstance(found, Mapping):
            return found
    return None


def _finish(answer: Mapping[str, Any]) -> str | None:
    return next(
        (item["finish_reason"] for item in _choices(answer) if isinstance(item.get("finish_reason"), str)), None
    )
