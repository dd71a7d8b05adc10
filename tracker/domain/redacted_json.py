"""Secrets in JSON: a whole document, or one a line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_EVENT = "data:"
# Halves of characters, which no encoding holds; the rest of their block stands for bytes that are not UTF-8.
_HALVES = re.compile("[\ud800-\udc7f\udd00-\udfff]")


def redact_documents(text: str, redact: Callable[[Any], Any], redact_rest: Callable[[str], str]) -> str:
    """Return a text with every JSON document in it redacted: the whole, or each line that is one (JSON Lines, events).

    Args:
        text: Any text; it stays as it is where nothing in it is a secret.
        redact: Replaces the secrets in a value of any JSON kind.
        redact_rest: Replaces them in lines that are no JSON.
    """
    whole = _redacted(text, redact)
    if whole is not None:
        return whole
    parts: list[str] = []
    others: list[str] = []
    for line in text.split("\n"):
        document = _line(line, redact)
        if document is None:
            others.append(line)
            continue
        if others:
            parts.append(redact_rest("\n".join(others)))
            others = []
        parts.append(document)
    if others:
        parts.append(redact_rest("\n".join(others)))
    return "\n".join(parts)


def _line(line: str, redact: Callable[[Any], Any]) -> str | None:
    document = line.removeprefix(_EVENT).lstrip()
    redacted = _redacted(document, redact)
    return None if redacted is None else line[: len(line) - len(document)] + redacted


def _redacted(text: str, redact: Callable[[Any], Any]) -> str | None:
    """Return a JSON text redacted, unchanged where it holds no secret; None when it is no JSON that can be followed."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    repeated = False

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        found = dict(pairs)
        repeated = repeated or len(found) != len(pairs)
        return found

    try:
        parsed = json.loads(text, object_pairs_hook=unique)
        redacted = redact(parsed)
        # Of a key that occurs twice only the last value is seen here; the text itself may hold a secret in the first.
        if redacted == parsed and not repeated:
            return text
        dumped = json.dumps(redacted, ensure_ascii=False)
        return json.dumps(redacted) if _HALVES.search(dumped) else dumped
    except (ValueError, RecursionError):
        return None
