"""Answers of the OpenAI routes, one request each: JSON, JSON Lines, a list, or a saved stream.

SGLang reports drafts under `sglext.spec_tokens_details` (asked for with `return_spec_tokens_details`) or in
`choices[].meta_info`; vLLM under `metrics.speculative_decoding` (`--per-request-spec-decode-metrics`), in the last
chunk of a stream; llama-server under `timings`, on its own route too, where it counts drafts and no steps. Chunks are
never counted as tokens. What a line may carry beside the answer: see `_answers`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tracker.domain.measurement import RequestRow
from tracker.importers import _answers, _jsonl, _meta_info, _source, _spec_block, llama_cpp_log
from tracker.importers.base import ImportedRun

_OBJECTS = frozenset({"chat.completion", "text_completion", "chat.completion.chunk"})
_WRAPPERS = ("response", "answer", "body")
_HINT = "An answer is an object with `choices` and `usage`, one a line, or a saved stream."
_NEITHER = "the object has neither `choices` nor `wall_s`"
_EVENT = b"data:"


class OpenaiAnswers:
    """Answers of the OpenAI routes."""

    name = "openai_answers"
    title = "answers of the OpenAI routes (SGLang sglext, vLLM metrics, llama-server timings), JSON Lines or a stream"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the first object is an answer of an OpenAI route, or the first event of its stream."""
        if head.startswith(_EVENT):
            head = head[len(_EVENT) : head.find(b"\n") if b"\n" in head else len(head)].strip()
        value = _jsonl.first_value(head)
        if isinstance(value, list):
            value = value[0] if value else None
        return isinstance(value, dict) and _is_answer(value)

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the one run in the file.

        Raises:
            InputError: No answer in it is whole, or a line is damaged.
        """
        reader = _Reader()
        if _source.read_head(path).startswith(_EVENT):
            content = _stream(path, reader)
        else:
            content = _answers.collect(path, _is_answer, reader.read, hint=_NEITHER)
        run = _answers.run(content, path=path, engine=reader.engine, hint=_HINT)
        derived = run.speculation is not None and reader.engine == "llama.cpp"
        return (
            dataclasses.replace(
                run,
                speculation=_spec_block.speculation(reader.drafts) or run.speculation,
                findings=(*run.findings, *((llama_cpp_log.STEPS_FROM_TOKENS,) if derived else ())),
            ),
        )


def _is_answer(value: Mapping[str, Any]) -> bool:
    body = _body(value)
    return _timings(body) is not None or (
        isinstance(body.get("choices"), list)
        and (body.get("object") in _OBJECTS or isinstance(body.get("usage"), dict))
    )


def _body(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the answer itself, which a load generator may have put under a key of its own."""
    for key in _WRAPPERS:
        inner = value.get(key)
        if isinstance(inner, dict) and "choices" in inner:
            return inner
    return value


def _timings(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return llama-server's timings of an answer; None where another server gave it."""
    timings = body.get("timings")
    return timings if isinstance(timings, dict) and "predicted_n" in timings and "predicted_ms" in timings else None


class _Reader:
    """Reads answers and remembers what they say about the server."""

    def __init__(self) -> None:
        self.engine: str | None = None
        self.drafts: set[int] = set()

    def read(self, fields: _jsonl.Fields) -> _answers.Answer:
        """Return one request.

        Raises:
            InputError: A value is of the wrong kind.
        """
        body = _jsonl.Fields(data=_body(fields.data), where=fields.where)
        if (timings := _timings(body.data)) is not None:
            self.engine = "llama.cpp"
            return _answers.Answer(row=_llama_row(fields, body, _jsonl.Fields(data=timings, where=fields.where)))
        usage = body.inner("usage")
        tokens, category = usage.count("prompt_tokens"), fields.text("category")
        metrics = body.inner("metrics") if isinstance(body.data.get("metrics"), dict) else None
        ttft_ms = None if metrics is None else metrics.number("time_to_first_token_ms")
        ttft_s = fields.number("client_ttft_s")
        details = (
            usage.inner("prompt_tokens_details") if isinstance(usage.data.get("prompt_tokens_details"), dict) else None
        )
        row = RequestRow(
            prompt_key=_answers.prompt_key(fields, category, tokens),
            category=category,
            concurrency=fields.count("concurrency"),
            repeat=_answers.repeat(fields),
            input_tokens=tokens,
            output_tokens=usage.count("completion_tokens"),
            cached_input_tokens=None if details is None else details.count("cached_tokens"),
            latency_s=fields.number("client_latency_s"),
            ttft_s=ttft_ms / 1000 if ttft_s is None and ttft_ms is not None else ttft_s,
            finish_reason=_finish(body.data.get("choices")),
            **self._speculation(body, metrics),
        )
        return _answers.Answer(row=row)

    def _speculation(self, body: _jsonl.Fields, metrics: _jsonl.Fields | None) -> dict[str, Any]:
        """Return the drafts of an answer, wherever its server puts them."""
        if metrics is not None and isinstance(metrics.data.get("speculative_decoding"), dict):
            block = metrics.inner("speculative_decoding")
            self.engine = "vllm"
            drafts = block.count("num_spec_tokens")
            if drafts is not None:
                self.drafts.add(drafts)
            return _spec_block.counts(block)
        extension = body.inner("sglext") if isinstance(body.data.get("sglext"), dict) else None
        if extension is not None and isinstance(extension.data.get("spec_tokens_details"), dict):
            self.engine = "sglang"
            return _meta_info.speculation(extension.inner("spec_tokens_details"))
        for choice in _objects(body.data.get("choices")):
            if isinstance(choice.get("meta_info"), dict):
                self.engine = "sglang"
                return _meta_info.speculation(_jsonl.Fields(data=choice["meta_info"], where=body.where))
        return {}


def _llama_row(fields: _jsonl.Fields, body: _jsonl.Fields, timings: _jsonl.Fields) -> RequestRow:
    """Return one request of llama-server; each step yields its accepted drafts and one more token."""
    tokens, inputs, category = timings.count("predicted_n"), timings.count("prompt_n"), fields.text("category")
    accepted, prompt_ms, predicted_ms = (
        timings.count("draft_n_accepted"),
        timings.number("prompt_ms"),
        timings.number("predicted_ms"),
    )
    whole_ms = None if prompt_ms is None or predicted_ms is None else prompt_ms + predicted_ms
    return RequestRow(
        prompt_key=_answers.prompt_key(fields, category, inputs),
        category=category,
        concurrency=fields.count("concurrency"),
        repeat=_answers.repeat(fields),
        input_tokens=inputs,
        output_tokens=tokens,
        latency_s=None if whole_ms is None else whole_ms / 1000,
        ttft_s=None if prompt_ms is None else prompt_ms / 1000,
        verify_steps=None if tokens is None or accepted is None else max(tokens - accepted, 0) or None,
        accepted_drafts=accepted,
        proposed_drafts=timings.count("draft_n"),
        finish_reason=_finish(body.data.get("choices")),
    )


def _objects(values: Any) -> Iterable[Mapping[str, Any]]:
    return [item for item in values if isinstance(item, dict)] if isinstance(values, list) else []


def _finish(choices: Any) -> str | None:
    """Return why the first answer ended."""
    reasons = (choice.get("finish_reason") for choice in _objects(choices))
    return next((reason for reason in reasons if isinstance(reason, str)), None)


def _stream(path: Path, reader: _Reader) -> _answers.Content:
    """Return the answers of a saved stream; one that does not end with `[DONE]` is cut and left out.

    Raises:
        InputError: An event is no JSON object.
    """
    content = _answers.Content()
    merged: dict[str, Any] = {}
    first = 0
    for line in _source.lines(path):
        event = line.content.strip()
        if not event.startswith(_EVENT) or not line.ended:
            continue
        text = event[len(_EVENT) :].strip()
        if text == b"[DONE]":
            if isinstance(merged.get("usage"), dict):
                content.add(reader.read(_jsonl.Fields(data=merged, where=f"{path}:{first}")).row)
            else:
                content.cut = f"the stream from line {first} on has no `usage`; ask for `stream_options.include_usage`"
            merged = {}
            continue
        try:
            value = _jsonl.parse(text)
        except ValueError as error:
            raise _jsonl.not_json(path, line, error) from error
        if isinstance(value, dict):
            first = first if merged else line.number
            _merge(merged, value)
    if merged:
        content.cut = f"the stream from line {first} on does not end with `[DONE]`; it was left out"
    return content


def _merge(merged: dict[str, Any], event: Mapping[str, Any]) -> None:
    """Add an event to its answer: the last word of every field, the choice that says why it ended."""
    for key, value in event.items():
        if key == "choices":
            if (
                "choices" not in merged
                or _finish(value) is not None
                or any("meta_info" in item for item in _objects(value))
            ):
                merged["choices"] = value
        elif value is not None:
            merged[key] = value


IMPORTER = OpenaiAnswers()
