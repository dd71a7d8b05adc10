"""SGLang's `meta_info` of one answer under every generation of key names, fast where it is plain.

Keys by generation: 0.5.12 and later, 0.5.11, 0.5.5 to 0.5.10. 0.4.5 to 0.5.4 know the verify steps only.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

import msgspec

from tracker.domain.measurement import RequestRow
from tracker.importers import _answers, _jsonl

_ACCEPTED = ("spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num")
_PROPOSED = ("spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num")
_HISTOGRAM = ("spec_correct_drafts_histogram", "spec_accept_histogram")

_FROM_S, _UNTIL_S = _answers.PLAUSIBLE_TIME_S
_Count = Annotated[int, msgspec.Meta(ge=0, lt=_jsonl.MAX_COUNT)]
_Seconds = Annotated[float, msgspec.Meta(ge=0)]


class _Reason(msgspec.Struct, gc=False):
    type: str


class _Meta(msgspec.Struct, gc=False):
    prompt_tokens: _Count | None = None
    completion_tokens: _Count | None = None
    cached_tokens: _Count | None = None
    e2e_latency: _Seconds | None = None
    first_token_latency: _Seconds | None = None
    spec_verify_ct: _Count | None = None
    spec_num_correct_drafts: _Count | None = None
    spec_accepted_drafts: _Count | None = None
    spec_accept_token_num: _Count | None = None
    spec_num_proposed_drafts: _Count | None = None
    spec_proposed_drafts: _Count | None = None
    spec_draft_token_num: _Count | None = None
    spec_correct_drafts_histogram: tuple[_Count, ...] | None = None
    spec_accept_histogram: tuple[_Count, ...] | None = None
    finish_reason: _Reason | str | None = None
    request_received_ts: float | None = None
    request_finished_ts: float | None = None
    usage: Any = None


class PlainLine(msgspec.Struct, gc=False):
    """A line whose every field is of the expected kind; all others go the slow way, which says what is wrong."""

    meta_info: _Meta
    category: str | None = None
    concurrency: _Count | None = None
    rep: _Count | None = None
    repeat: _Count | None = None
    client_latency_s: _Seconds | None = None
    client_ttft_s: _Seconds | None = None
    prompt: str | None = None
    input: str | None = None
    question: str | None = None
    prompt_key: str | None = None


# Three times as fast as building dictionaries and checking each value in Python.
decode_plain = msgspec.json.Decoder(PlainLine).decode


def add_plain(line: PlainLine, content: _answers.Content) -> bool:
    """Add a plain line to the content; whether it was one that can be added without a closer look."""
    meta = line.meta_info
    reason = meta.finish_reason
    kind = reason.type if isinstance(reason, _Reason) else reason
    if kind == "abort" or meta.usage is not None:
        return False
    category, tokens = line.category or None, meta.prompt_tokens
    key = line.prompt_key or None
    if key is None:
        text = line.prompt or line.input or line.question
        if text:
            key = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
        elif tokens is not None:
            key = f"weak:{category or ''}:{tokens}"
    repeat = line.rep if line.rep is not None else line.repeat
    once = content.texts.setdefault
    row = RequestRow(
        prompt_key=once(key, key),
        category=once(category, category),
        concurrency=line.concurrency,
        repeat=0 if repeat is None else repeat,
        input_tokens=tokens,
        output_tokens=meta.completion_tokens,
        cached_input_tokens=meta.cached_tokens,
        latency_s=line.client_latency_s if meta.e2e_latency is None else meta.e2e_latency,
        ttft_s=line.client_ttft_s if meta.first_token_latency is None else meta.first_token_latency,
        verify_steps=meta.spec_verify_ct,
        accepted_drafts=meta.spec_num_correct_drafts
        if meta.spec_num_correct_drafts is not None
        else _known(meta.spec_accepted_drafts, meta.spec_accept_token_num),
        proposed_drafts=meta.spec_num_proposed_drafts
        if meta.spec_num_proposed_drafts is not None
        else _known(meta.spec_proposed_drafts, meta.spec_draft_token_num),
        accepted_histogram=meta.spec_correct_drafts_histogram or meta.spec_accept_histogram or None,
        finish_reason=once(kind, kind),
    )
    start_s, end_s = meta.request_received_ts, meta.request_finished_ts
    if start_s is None or not _FROM_S < start_s < _UNTIL_S:
        start_s = None
    if end_s is None or not _FROM_S < end_s < _UNTIL_S:
        end_s = None
    content.add(row, start_s, end_s)
    return True


def _known(first: int | None, second: int | None) -> int | None:
    return second if first is None else first


def answer(fields: _jsonl.Fields) -> _answers.Answer:
    """Return one request from an object that holds `meta_info`.

    Raises:
        InputError: A value is of the wrong kind.
    """
    info = fields.inner("meta_info")
    reason, error = _answers.finish(info.data.get("finish_reason"))
    latency_s, ttft_s = info.number("e2e_latency"), info.number("first_token_latency")
    # Answers of the OpenAI route, as `tracker bench` keeps them, have their counts under `usage`.
    usage = info.inner("usage") if isinstance(info.data.get("usage"), dict) else info
    tokens, category = usage.count("prompt_tokens"), fields.text("category")
    row = RequestRow(
        prompt_key=_answers.prompt_key(fields, category, tokens),
        category=category,
        concurrency=fields.count("concurrency"),
        repeat=_answers.repeat(fields),
        input_tokens=tokens,
        output_tokens=usage.count("completion_tokens"),
        cached_input_tokens=info.count("cached_tokens"),
        latency_s=fields.number("client_latency_s") if latency_s is None else latency_s,
        ttft_s=fields.number("client_ttft_s") if ttft_s is None else ttft_s,
        finish_reason=reason,
        error=error,
        **speculation(info),
    )
    return _answers.Answer(
        row=row, start_s=_time(info, "request_received_ts"), end_s=_time(info, "request_finished_ts")
    )


def speculation(info: _jsonl.Fields) -> dict[str, Any]:
    """Return verify steps, accepted and proposed drafts and the histogram, by the names of a row.

    Raises:
        InputError: A value is of the wrong kind.
    """
    return {
        "verify_steps": info.count("spec_verify_ct"),
        "accepted_drafts": _first_count(info, _ACCEPTED),
        "proposed_drafts": _first_count(info, _PROPOSED),
        "accepted_histogram": _first_histogram(info),
    }


def _time(info: _jsonl.Fields, key: str) -> float | None:
    value = info.data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if _FROM_S < value < _UNTIL_S else None


def _first_count(info: _jsonl.Fields, keys: tuple[str, ...]) -> int | None:
    """Return the first of several names for one count."""
    for key in keys:
        if (value := info.count(key)) is not None:
            return value
    return None


def _first_histogram(info: _jsonl.Fields) -> tuple[int, ...] | None:
    """Return the histogram of accepted drafts under whichever name."""
    for key in _HISTOGRAM:
        if value := info.counts(key):
            return value
    return None
