"""Answers as per-request rows, and as the lines of `requests.jsonl`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tracker.domain.measurement import RequestRow
from tracker.load.answers import Answer

_MAX_ERROR_LENGTH = 200
_WHOLE = "e2e_latency"
_SERVER_LATENCIES = {_WHOLE: "server_latency_s", "first_token_latency": "server_ttft_s"}


def row(answer: Answer, *, concurrency: int | None, repeat: int) -> RequestRow:
    """Return the row of one request.

    Its latency is the server's where there is one, else the client's; a streamed answer keeps the client's, so that
    both ends of the time per output token are of one clock, and so does an open loop, which is there to show what its
    users wait, in front of the server too.
    """
    prompt, counts = answer.prompt, answer.counts
    if counts is None:
        return RequestRow(
            prompt_key=prompt.key,
            category=prompt.category,
            concurrency=concurrency,
            repeat=repeat,
            error=(answer.error or "failed")[:_MAX_ERROR_LENGTH],
        )
    return RequestRow(
        prompt_key=prompt.key,
        category=prompt.category,
        concurrency=concurrency,
        repeat=repeat,
        input_tokens=counts.input_tokens,
        output_tokens=counts.output_tokens,
        cached_input_tokens=counts.cached_input_tokens,
        latency_s=counts.server_latency_s if _by_server(answer) else answer.ended_s - answer.asked_s,
        ttft_s=None if answer.first_token_s is None else answer.first_token_s - answer.asked_s,
        verify_steps=counts.verify_steps,
        accepted_drafts=counts.accepted_drafts,
        proposed_drafts=counts.proposed_drafts,
        accepted_histogram=counts.accepted_histogram,
        finish_reason=counts.finish_reason,
    )


def line(answer: Answer, *, concurrency: int | None, repeat: int) -> bytes:
    """Return one line of `requests.jsonl`: what the client knows and the server's own object, without texts."""
    fields: dict[str, Any] = {
        "concurrency": concurrency,
        "repeat": repeat,
        "category": answer.prompt.category,
        "prompt_key": answer.prompt.key,
        "client_latency_s": answer.ended_s - answer.asked_s,
    }
    if answer.first_token_s is not None:
        fields["client_ttft_s"] = answer.first_token_s - answer.asked_s
    if answer.counts is None:
        fields["error"] = (answer.error or "failed")[:_MAX_ERROR_LENGTH]
    else:
        meta = answer.counts.meta
        # Whoever reads `meta_info` takes its latencies for the row's; those that are not are kept beside it.
        others = {key for key in _SERVER_LATENCIES if key in meta and not (key == _WHOLE and _by_server(answer))}
        fields |= {_SERVER_LATENCIES[key]: meta[key] for key in others}
        fields["meta_info"] = {key: value for key, value in meta.items() if key not in others}
    return msgspec.json.encode(fields)


def _by_server(answer: Answer) -> bool:
    """Return whether the latency of a request is the server's."""
    told = answer.counts is not None and answer.counts.server_latency_s is not None
    return told and answer.first_token_s is None and answer.due_s is None


def pass_line(*, concurrency: int | None, repeat: int, wall_s: float, facts: Mapping[str, float | None]) -> bytes:
    """Return the line that times a pass; `facts` are further numbers about it."""
    known = {key: value for key, value in facts.items() if value is not None}
    return msgspec.json.encode({"concurrency": concurrency, "repeat": repeat, "wall_s": wall_s, **known})
