"""SGLang's `/generate`: exact counts of tokens, verify steps and accepted drafts for every request.

Keys of `meta_info` by generation: 0.5.12 and later, 0.5.11, 0.5.5 to 0.5.10; 0.4.5 to 0.5.4 know the steps only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tracker.load.answers import BadAnswerError, Counts, Sampling, check_output_tokens, count, decode_object
from tracker.load.prompts import Prompt

_ACCEPTED = ("spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num")
_PROPOSED = ("spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num")
_HISTOGRAM = ("spec_correct_drafts_histogram", "spec_accept_histogram")
_TEXTS = frozenset({"output_ids", "input_token_logprobs", "output_token_logprobs", "id", "weight_version"})
MAX_REASON_LENGTH = 200


class SglangRoute:
    """SGLang's own endpoint."""

    name = "sglang"
    path = "/generate"

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
        asked = {"text": prompt.text} if prompt.token_ids is None else {"input_ids": prompt.token_ids}
        return msgspec.json.encode({**asked, "sampling_params": params, "stream": stream})

    def counts(self, body: bytes, sampling: Sampling) -> Counts:
        """Return what `meta_info` says."""
        return self._from_object(decode_object(body), sampling)

    def has_token(self, event: bytes) -> bool:
        """Return True: SGLang sends no event without a token, except an error."""
        if b'"error"' in event and "error" in decode_object(event):
            raise BadAnswerError(_reason(decode_object(event)["error"]))
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
        if "error" in answer:
            raise BadAnswerError(_reason(answer["error"]))
        info = answer.get("meta_info")
        if not isinstance(info, Mapping):
            raise BadAnswerError("the answer has no meta_info")
        finish = _finish(info.get("finish_reason"))
        histogram = next((info[key] for key in _HISTOGRAM if isinstance(info.get(key), list) and info[key]), None)
        latency = info.get("e2e_latency")
        counts = Counts(
            output_tokens=check_output_tokens(count(info, "completion_tokens"), sampling),
            input_tokens=count(info, "prompt_tokens"),
            cached_input_tokens=count(info, "cached_tokens"),
            server_latency_s=float(latency) if isinstance(latency, float | int) and latency > 0 else None,
            verify_steps=count(info, "spec_verify_ct"),
            accepted_drafts=count(info, *_ACCEPTED),
            proposed_drafts=count(info, *_PROPOSED),
            accepted_histogram=None if histogram is None else _histogram(histogram),
            finish_reason=finish,
            meta={key: value for key, value in info.items() if key not in _TEXTS},
        )
        _check_steps(counts)
        return counts


def _check_steps(counts: Counts) -> None:
    """Refuse counts that contradict each other.

    Raises:
        BadAnswerError: More drafts accepted than proposed, or a histogram that does not add up to the steps.
    """
    accepted, proposed, histogram = counts.accepted_drafts, counts.proposed_drafts, counts.accepted_histogram
    if accepted is not None and proposed is not None and accepted > proposed:
        raise BadAnswerError(f"the answer claims {accepted} accepted drafts of {proposed} proposed")
    if histogram is not None and counts.verify_steps is not None and sum(histogram) > counts.verify_steps:
        raise BadAnswerError(f"the histogram holds {sum(histogram)} of {counts.verify_steps} verify steps")


def _histogram(values: list[Any]) -> tuple[int, ...]:
    if not all(type(item) is int and item >= 0 for item in values):
        raise BadAnswerError("the answer's histogram holds something else than counts")
    return tuple(values)


def _finish(reason: Any) -> str | None:
    if isinstance(reason, Mapping):
        kind = reason.get("type")
        if kind == "abort":
            raise BadAnswerError(f"aborted: {_reason(reason.get('message'))}")
        return kind if isinstance(kind, str) else None
    if reason == "abort":
        raise BadAnswerError("aborted")
    return reason if isinstance(reason, str) else None


def _reason(error: Any) -> str:
    message = error.get("message") if isinstance(error, Mapping) else error
    return f"the server says: {str(message)[:MAX_REASON_LENGTH]}"
