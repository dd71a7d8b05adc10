"""SGLang's `/generate`: exact counts of tokens, verify steps and accepted drafts for every request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

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

_TEXTS = frozenset({"output_ids", "input_token_logprobs", "output_token_logprobs", "id", "weight_version"})
MAX_REASON_LENGTH = 200


class SglangRoute:
    """SGLang's own endpoint."""

    name = "sglang"
    path = "/generate"

    def __init__(self, *, template: ChatTemplate | None = None, thinking: bool | None = None) -> None:
        """Ask with each prompt as it is, or in the model's chat template."""
        self._template, self._thinking = template, thinking

    def body(self, prompt: Prompt, sampling: Sampling, *, stream: bool) -> bytes:
        """Return the request's body."""
        params: dict[str, Any] = {
            "max_new_tokens": sampling.max_output_tokens,
            "temperature": sampling.temperature,
            "ignore_eos": sampling.ignore_eos,
        }
        if sampling.top_p is not None:
            params["top_p"] = sampling.top_p
        if sampling.seed is not None:
            params["sampling_seed"] = sampling.seed
        asked: dict[str, Any] = {"input_ids": prompt.token_ids}
        if prompt.token_ids is None:
            asked = {"text": in_template(prompt.text, self._template, self._thinking)}
        return msgspec.json.encode({**asked, "sampling_params": params, "stream": stream})

    def counts(self, body: bytes, sampling: Sampling) -> Counts:
        """Return what `meta_info` says."""
        return self._from_object(decode_object(body), sampling)

    def has_token(self, event: bytes) -> bool:
        """Return True: SGLang sends no event without a token, except an error, which never comes here."""
        return True

    def stream_counts(self, events: list[bytes], sampling: Sampling) -> Counts:
        """Return what the last event's `meta_info` says; counts there are those of the whole answer."""
        if not events:
            raise BadAnswerError("the stream held no event")
        last = decode_object(events[-1])
        counts = self._from_object(last, sampling)
        if counts.finish_reason is None:
            raise BadAnswerError("the stream ended before the answer did")
        return counts

    def _from_object(self, answer: dict[str, Any], sampling: Sampling) -> Counts:
        refuse_error(answer)
        info = answer.get("meta_info")
        if not isinstance(info, Mapping):
            raise BadAnswerError("the answer has no meta_info")
        finish = _finish(info.get("finish_reason"))
        latency = info.get("e2e_latency")
        drafts = read_acceptance(info)
        return Counts(
            output_tokens=check_output_tokens(count(info, "completion_tokens"), sampling),
            input_tokens=count(info, "prompt_tokens"),
            cached_input_tokens=count(info, "cached_tokens"),
            server_latency_s=float(latency) if isinstance(latency, float | int) and latency > 0 else None,
            verify_steps=drafts.verify_steps,
            accepted_drafts=drafts.accepted_drafts,
            proposed_drafts=drafts.proposed_drafts,
            accepted_histogram=drafts.accepted_histogram,
            finish_reason=finish,
            meta={key: value for key, value in info.items() if key not in _TEXTS},
        )


def _finish(reason: Any) -> str | None:
    kind = reason.get("type") if isinstance(reason, Mapping) else reason
    if kind == "abort":
        message = reason.get("message") if isinstance(reason, Mapping) else None
        raise BadAnswerError("aborted" if message is None else f"aborted: {str(message)[:MAX_REASON_LENGTH]}")
    return kind if isinstance(kind, str) else None
