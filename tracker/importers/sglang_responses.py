"""SGLang `/generate` answers as JSON Lines: objects that hold `meta_info`, one request each.

What a line may carry beside the answer, and how prompts are told apart without their texts: see `_answers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tracker.errors import InputError
from tracker.importers import _answers, _jsonl, _meta_info, _source
from tracker.importers.base import ImportedRun

_HINT = "An answer is an object with `meta_info`, one a line."
_NEITHER = "the object has neither `meta_info` nor `wall_s`"


class SglangResponses:
    """SGLang answers, one request a line."""

    name = "sglang_responses"
    title = "SGLang /generate answers with meta_info, JSON Lines or a list, one request each"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the first object is an answer with `meta_info`, or times a pass of such answers."""
        value = _jsonl.first_value(head)
        if isinstance(value, list):
            value = value[0] if value else None
        if not isinstance(value, dict):
            return False
        return isinstance(value.get("meta_info"), dict) or ("wall_s" in value and b'"meta_info"' in head)

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the one run in the file.

        Raises:
            InputError: No request in it is whole, or a line is damaged.
        """
        content = _collect(path)
        engine = None if _of_another_server(path) else "sglang"
        return (_answers.run(content, path=path, engine=engine, hint=_HINT),)


def _of_another_server(path: Path) -> bool:
    """Return whether the answers came over the OpenAI route, which other servers have too."""
    head = _jsonl.first_value(_source.read_head(path))
    info = head.get("meta_info") if isinstance(head, dict) else None
    return isinstance(info, dict) and isinstance(info.get("usage"), dict)


def _collect(path: Path) -> _answers.Content:
    """Return rows and passes of a file.

    Raises:
        InputError: A line is damaged, and the file is no JSON document as a whole either.
    """
    content = _answers.Content()
    try:
        _collect_lines(path, content)
    except InputError as lines_error:
        whole = _jsonl.whole_document(path)
        if whole is None:
            raise lines_error
        content = _answers.Content()
        _place(_jsonl.Entry(line=1, value=whole), path, content)
    return content


def _collect_lines(path: Path, content: _answers.Content) -> None:
    """Add the file's lines; a plain line is decoded into a typed structure, any other is looked at value by value."""
    pending: tuple[_source.Line, ValueError] | None = None
    for number, text in _source.raw_lines(path):
        if text.isspace():
            continue
        if pending is not None:
            raise _jsonl.not_json(path, *pending)
        try:
            plain = _meta_info.decode_plain(text)
        except (msgspec.ValidationError, msgspec.DecodeError, RecursionError):
            plain = None
        if plain is not None and _meta_info.add_plain(plain, content):
            continue
        try:
            value = _jsonl.parse(text)
        except ValueError as error:
            pending = (_source.line_of(number, text), error)
            continue
        _place(_jsonl.Entry(line=number, value=value), path, content)
    if pending is not None:
        content.cut = _jsonl.cut_entry(*pending).cut


def _place(entry: _jsonl.Entry, path: Path, content: _answers.Content) -> None:
    _answers.place(entry, path, content, _is_answer, _meta_info.answer, hint=_NEITHER)


def _is_answer(value: Mapping[str, Any]) -> bool:
    return "meta_info" in value


IMPORTER = SglangResponses()
