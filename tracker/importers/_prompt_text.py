"""The key of a prompt from the request that carried it, the same for one prompt in every tool's file.

A prompt sent as plain text, or as the only message of a chat, has the digest of its text as key, as everywhere else in
this room; a longer chat has the digest of its messages. The text itself is not kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

_PLAIN = ("prompt", "input", "inputs", "text_input", "text")
_WRAPPERS = ("body", "json", "payload", "params")


def of_request(request: Any) -> str | None:
    """Return the key of the prompt in a request's arguments (an object, or its JSON); None where it holds none."""
    if isinstance(request, str):
        try:
            request = json.loads(request)
        except (ValueError, RecursionError):
            return None
    if not isinstance(request, dict):
        return None
    for inner in (request.get(name) for name in _WRAPPERS):
        if isinstance(inner, dict) and (key := of_body(inner)) is not None:
            return key
    return of_body(request)


def of_body(body: Mapping[str, Any]) -> str | None:
    """Return the key of the prompt in a request's body; None where it holds none."""
    messages = body.get("messages")
    if isinstance(messages, list) and messages:
        alone = _text(messages[0]) if len(messages) == 1 else None
        return digest(alone if alone is not None else _canonical(messages))
    for name in _PLAIN:
        value = body.get(name)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, str) and value:
            return digest(value)
    return None


def digest(text: str) -> str:
    """Return the key of a prompt's text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _text(message: Any) -> str | None:
    """Return the text of a message that is nothing but text."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content or None
    if not isinstance(content, list):
        return None
    parts = [part.get("text") if isinstance(part, dict) else None for part in content]
    texts = [part for part in parts if isinstance(part, str)]
    return "".join(texts) if texts and len(texts) == len(parts) else None


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
