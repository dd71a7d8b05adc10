"""Reading prompt sets: the built-in one, JSON Lines, MT-bench and Spec-Bench questions, ShareGPT conversations."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from tracker.errors import InputError
from tracker.load.prompts import Prompt, PromptSet, in_turns

BUILT_IN = "builtin"
_TEXT_KEYS = ("prompt", "text", "question", "instruction", "input")
_CATEGORY_KEYS = ("category", "subset", "task", "source")
_ID_KEYS = ("input_ids", "token_ids", "prompt_token_ids", "prompt")
_HINT = 'Each object needs "prompt" (and may have "category"), "input_ids", "turns", "messages" or "conversations".'


def read_prompts(source: str | Path) -> PromptSet:
    """Return the prompts of a file, or the built-in set for `builtin`.

    JSON Lines or one JSON list. An object holds `prompt` (or `text`, `question`), MT-bench's and Spec-Bench's `turns`
    (the first is sent), OpenAI's `messages` or ShareGPT's `conversations` (the first of the user is sent). A list of
    whole numbers under `input_ids` (or `prompt`) is sent as token ids.

    Raises:
        InputError: Not there, not JSON, or an object without a prompt; names file and line.
    """
    if str(source) == BUILT_IN:
        packaged = resources.files("tracker.load").joinpath("prompts.jsonl")
        return _prompt_set(BUILT_IN, packaged.read_bytes(), where="tracker/load/prompts.jsonl")
    path = Path(source)
    try:
        content = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    except OSError as error:
        raise InputError(
            f"the prompts cannot be read: {error.strerror or error}",
            where=str(path),
            hint=f"Name a JSON Lines file, or `{BUILT_IN}`.",
        ) from error
    return _prompt_set(path.stem, content, where=str(path))


def _prompt_set(name: str, content: bytes, *, where: str) -> PromptSet:
    found = [_prompt(item, place) for place, item in _objects(content, where) if not _without_user(item)]
    if not found:
        raise InputError("the file holds no prompt", where=where, hint=_HINT)
    return PromptSet(name=name, prompts=in_turns(found))


def _objects(content: bytes, where: str) -> Iterator[tuple[str, Any]]:
    if content.lstrip().startswith(b"["):
        items = _decode(content, where)
        yield from ((f"{where}, item {index}", item) for index, item in enumerate(items))
        return
    for number, line in enumerate(content.splitlines(), start=1):
        if line.strip():
            yield f"{where}, line {number}", _decode(line, f"{where}, line {number}")


def _decode(content: bytes, where: str) -> Any:
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not readable as JSON: {error}", where=where, hint=_HINT) from error


def _prompt(item: Any, where: str) -> Prompt:
    if isinstance(item, str) and item.strip():
        return Prompt(text=item)
    ids = _token_ids(item) if isinstance(item, Mapping) else None
    text = _text(item) if isinstance(item, Mapping) and ids is None else None
    if text is None and ids is None:
        raise InputError("there is no prompt in it", where=where, hint=_HINT)
    category = next((item[key] for key in _CATEGORY_KEYS if isinstance(item.get(key), str) and item[key]), None)
    return Prompt(text=text or "", token_ids=ids, category=category)


def _token_ids(item: Mapping[str, Any]) -> tuple[int, ...] | None:
    found = (item[key] for key in _ID_KEYS if isinstance(item.get(key), list) and item[key])
    return next((tuple(ids) for ids in found if all(type(number) is int and number >= 0 for number in ids)), None)


def _without_user(item: Any) -> bool:
    """Return whether this is a conversation of which nothing could be sent."""
    return isinstance(item, Mapping) and isinstance(item.get("conversations"), list) and _text(item) is None


def _text(item: Mapping[str, Any]) -> str | None:
    turns = item.get("turns")
    if isinstance(turns, list) and turns:
        first = turns[0].get("content") if isinstance(turns[0], Mapping) else turns[0]
        return _words(first)
    for key, role, content in (("messages", "role", "content"), ("conversations", "from", "value")):
        spoken = item.get(key)
        if isinstance(spoken, list):
            said = (
                part.get(content)
                for part in spoken
                if isinstance(part, Mapping) and part.get(role) in ("user", "human")
            )
            return _words(next(said, None))
    return next((words for key in _TEXT_KEYS if (words := _words(item.get(key))) is not None), None)


def _words(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
