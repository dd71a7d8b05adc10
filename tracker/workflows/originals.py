"""Input files as they are kept beside a record: without texts, without secrets, bounded."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tracker.domain.provenance import InputFile
from tracker.domain.record import Attachment
from tracker.domain.redaction import clean_bytes
from tracker.errors import InputError

# Larger originals stay where they are; the record keeps their digest, and requests.parquet what was read.
MAX_ORIGINAL_BYTES = 16 * 2**20
MAX_FILES = 64
_CHUNK_BYTES = 2**20

# Keys under which benchmark tools store what people asked and what a model answered.
_TEXT_KEYS = frozenset({
    "answer", "answers", "choices", "completion", "content", "conversations", "generated_text", "generated_texts",
    "input", "input_ids", "inputs", "instruction", "messages", "output", "outputs", "output_ids", "prompt", "prompts",
    "question", "questions", "reasoning_content", "response", "responses", "text", "texts", "turns",
})  # fmt: skip
# Keys that hold settings as an object, and a request's body when they are a text (guidellm).
_TEXT_IF_STRING = frozenset({"args", "body", "request_args"})
_EVENT = "data:"
# A training's folder holds checkpoints of gigabytes, which have an identity of their own.
_WEIGHTS = frozenset({".bin", ".ckpt", ".distcp", ".pt", ".pth", ".safetensors"})
_YAML_TEXT = re.compile(rf"^\s*(?:- )?(?:{'|'.join(sorted(_TEXT_KEYS | _TEXT_IF_STRING))}):[ \t]*[^\s{{\[]", re.M)


def files_of(path: Path) -> tuple[Path, ...]:
    """Return the file itself, or the files of a folder, sorted; deeper folders included, weights left out."""
    if path.is_dir():
        return tuple(sorted(item for item in path.rglob("*") if item.is_file() and item.suffix not in _WEIGHTS))
    return (path,)


def digests(path: Path) -> tuple[InputFile, ...]:
    """Return name, SHA-256 and size of the file, or of every file of a folder.

    Raises:
        InputError: A file cannot be read.
    """
    return tuple(_digest(item, item.relative_to(path).as_posix() if path.is_dir() else item.name)
                 for item in files_of(path))  # fmt: skip


def keep(path: Path, *, keep_text: bool = False) -> tuple[Attachment, ...]:
    """Return the file, or the files of a folder, as attachments under `input/`.

    Prompt and answer texts become `{"sha256", "characters"}` unless `keep_text`; secrets are redacted; files above
    16 MB are left out (their digest is in the record).

    Raises:
        InputError: A file cannot be read.
    """
    kept = []
    for item in files_of(path)[:MAX_FILES]:
        name = item.relative_to(path).as_posix() if path.is_dir() else item.name
        try:
            if item.stat().st_size > MAX_ORIGINAL_BYTES:
                continue
            content = item.read_bytes()
        except OSError as error:
            raise InputError(f"cannot read the file: {error.strerror}", where=str(item)) from error
        cleaned = content if keep_text else _without_texts(content)
        if cleaned is not None:
            kept.append(Attachment(name=f"input/{name}", content=clean_bytes(cleaned)))
    return tuple(kept)


def _digest(path: Path, name: str) -> InputFile:
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                digest.update(chunk)
                size += len(chunk)
    except OSError as error:
        raise InputError(f"cannot read the file: {error.strerror}", where=str(path)) from error
    return InputFile(name=name, sha256=digest.hexdigest(), size_bytes=size)


def _without_texts(content: bytes) -> bytes | None:
    """Return the content with texts replaced; None when it is binary and texts in it cannot be seen."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if text.startswith(_EVENT):
        return b"\n".join(_events_without_texts(text)) + b"\n"
    if text.lstrip()[:1] not in ("{", "["):
        # Texts in YAML run over lines in five styles; a report that holds any is not kept.
        return None if _YAML_TEXT.search(text) else content
    try:
        return _dump(json.loads(text))
    except (json.JSONDecodeError, RecursionError):
        return b"\n".join(_lines_without_texts(text)) + b"\n"


def _events_without_texts(text: str) -> Iterator[bytes]:
    """Yield the events of a saved stream; `[DONE]` holds no text, of a cut event only the length is kept."""
    for line in text.splitlines():
        event = line.removeprefix(_EVENT).strip()
        if not event.startswith(("{", "[{")):
            yield line.encode() if len(event) < len("[DONE]") + 1 else _dump({"unreadable_line_characters": len(line)})
            continue
        yield from (b"data: " + part for part in _lines_without_texts(event))


def _lines_without_texts(text: str) -> Iterator[bytes]:
    for line in text.splitlines():
        try:
            yield _dump(json.loads(line))
        except (json.JSONDecodeError, RecursionError):
            # A cut line may hold half a text: only its length is kept.
            yield _dump({"unreadable_line_characters": len(line)})


def _dump(value: Any) -> bytes:
    return json.dumps(_stripped(value), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _stripped(value: Any, key: str | None = None) -> Any:
    if key in _TEXT_KEYS and not isinstance(value, int | float | bool | None):
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
