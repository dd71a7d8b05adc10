"""Original files without what people asked and models answered: JSON, JSON Lines, streams, tables and logs."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterator
from typing import Any

# Keys under which benchmark tools store what people asked and what a model answered.
TEXT_KEYS = frozenset({
    "answer", "answers", "choices", "completion", "content", "conversations", "generated_text", "generated_texts",
    "input", "input_ids", "inputs", "instruction", "messages", "output", "outputs", "output_ids", "prompt", "prompts",
    "question", "questions", "reasoning_content", "response", "responses", "text", "texts", "turns",
})  # fmt: skip
# Keys that hold settings as an object, and a request's body when they are a text (guidellm).
_TEXT_IF_STRING = frozenset({"args", "body", "request_args"})
# Servers write token ids of a request into their log under these names too.
_LOG_KEYS = TEXT_KEYS | {"prompt_token_ids", "output_token_ids"}
_EVENT = "data:"
_STAMP = re.compile(r"\s*\[\d{4}-\d\d-\d\d[ T]")
_YAML_TEXT = re.compile(rf"^\s*(?:- )?(?:{'|'.join(sorted(TEXT_KEYS | _TEXT_IF_STRING))}):[ \t]*[^\s{{\[]", re.M)
# A text as Python or JSON writes it, to the end of the line where the line is cut in it.
_QUOTED = r""""(?:[^"\\\n]|\\.)*(?:"|$)|'(?:[^'\\\n]|\\.)*(?:'|$)"""
# What a server logs of a request: `prompt: '...'`, `text='...'`, `'output_ids': [1, 2]`.
_LOGGED = re.compile(
    rf"""(?P<key>\b(?:{"|".join(sorted(_LOG_KEYS))})['"]?\s*[:=]\s*)"""
    rf"(?P<value>{_QUOTED}|\[(?:\s*(?:{_QUOTED}|[-\d.]+)\s*,?)+\s*\]?)",
    re.M,
)
# Numbers, and the ruler under a Markdown header.
_NUMBER = re.compile(r"[-+:\s]*[\d.,]*[-:\s]*")
_DELIMITERS = (",", "\t", ";", "|")


def without_texts(content: bytes) -> bytes | None:
    """Return the content with texts replaced; None when it is binary and texts in it cannot be seen."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if text.startswith(_EVENT):
        return b"\n".join(_events(text)) + b"\n"
    if text.lstrip()[:1] not in ("{", "[") or _STAMP.match(text):
        return _plain(text)
    try:
        return _dump(json.loads(text))
    except (json.JSONDecodeError, RecursionError):
        return b"\n".join(_lines(text)) + b"\n"


def _plain(text: str) -> bytes | None:
    """Return a table, a log or a report without texts; None where they cannot be told from the rest."""
    if (table := _table(text)) is not None:
        return table
    # Texts in YAML run over lines in five styles; a report that holds any is not kept.
    if _YAML_TEXT.search(text):
        return None
    return _LOGGED.sub(lambda match: f"{match['key']}<{len(match['value'])} characters>", text).encode()


def _table(text: str) -> bytes | None:
    """Return a delimited table with the texts under telling names replaced; None where it is no such table."""
    head = text.split("\n", 1)[0]
    delimiter = next((mark for mark in _DELIMITERS if mark in head), None)
    if delimiter is None:
        return None
    header = [cell.strip().strip('"*`').lower() for cell in head.split(delimiter)]
    texts = [index for index, name in enumerate(header) if name in TEXT_KEYS]
    if not texts:
        return None
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    try:
        for number, row in enumerate(csv.reader(io.StringIO(text), delimiter=delimiter)):
            if number:
                row = [
                    json.dumps(_fingerprint(cell)) if at in texts and not _NUMBER.fullmatch(cell.strip()) else cell
                    for at, cell in enumerate(row)
                ]
            writer.writerow(row)
    except csv.Error:
        return json.dumps({"unreadable_table_characters": len(text)}).encode()
    return out.getvalue().encode()


def _events(text: str) -> Iterator[bytes]:
    """Yield the events of a saved stream; `[DONE]` holds no text, of a cut event only the length is kept."""
    for line in text.splitlines():
        event = line.removeprefix(_EVENT).strip()
        if not event.startswith(("{", "[{")):
            yield line.encode() if len(event) < len("[DONE]") + 1 else _dump({"unreadable_line_characters": len(line)})
            continue
        yield from (b"data: " + part for part in _lines(event))


def _lines(text: str) -> Iterator[bytes]:
    for line in text.splitlines():
        try:
            yield _dump(json.loads(line))
        except (json.JSONDecodeError, RecursionError):
            # A cut line may hold half a text: only its length is kept.
            yield _dump({"unreadable_line_characters": len(line)})


def _dump(value: Any) -> bytes:
    return json.dumps(_stripped(value), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _stripped(value: Any, key: str | None = None) -> Any:
    if key in TEXT_KEYS and not isinstance(value, int | float | bool | None):
        return _fingerprint(value)
    if key in _TEXT_IF_STRING and isinstance(value, str):
        return _fingerprint(value)
    if isinstance(value, dict):
        return {name: _stripped(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_stripped(item) for item in value]
    return value


def _fingerprint(value: Any) -> dict[str, Any]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return {"sha256": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), "characters": len(text)}
