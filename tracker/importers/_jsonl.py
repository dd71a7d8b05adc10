"""JSON as tools write it: several objects a file, cut ends, `Infinity`; numbers checked before they count."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from tracker.errors import InputError
from tracker.importers import _source

# Beyond this a float no longer holds every integer; no token or step count comes near.
MAX_COUNT = 2**53
# Results nest a handful of levels; deeper heads are hostile or broken.
MAX_DEPTH = 100
_DECODER = json.JSONDecoder()
_KEY = re.compile(rb'"([A-Za-z][A-Za-z0-9_]{0,59})"\s*:')


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The fields of one JSON object, with checks that name the file, line and key."""

    data: Mapping[str, Any]
    """The object."""
    where: str
    """File and line, for errors."""

    def count(self, key: str) -> int | None:
        """Return a count; None when absent, null, or the tools' own `-1` for not available.

        Raises:
            InputError: The value is no count.
        """
        value = self.data.get(key)
        if type(value) is int and 0 <= value < MAX_COUNT:
            return value
        if value is None or (value == -1 and not isinstance(value, bool)):
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MAX_COUNT:
            raise self.error(key, "is no count")
        return value

    def number(self, key: str) -> float | None:
        """Return a finite number of at least 0; None when absent, null, `NaN`, infinite, or `-1` for not available.

        Raises:
            InputError: The value is no number, or negative.
        """
        value = self.data.get(key)
        if type(value) is float and 0 <= value < math.inf:
            return value
        if value is None or (value == -1 and not isinstance(value, bool)):
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(key, "is no number")
        try:
            number = float(value)
        except OverflowError as error:
            raise self.error(key, "is too large") from error
        if not math.isfinite(number):
            return None
        if number < 0:
            raise self.error(key, "is negative")
        return number

    def text(self, key: str) -> str | None:
        """Return a text; None when absent, null, empty or no text."""
        value = self.data.get(key)
        return value if isinstance(value, str) and value else None

    def counts(self, key: str) -> tuple[int, ...] | None:
        """Return a list of counts; None when absent or null.

        Raises:
            InputError: The value is no list of counts.
        """
        value = self.data.get(key)
        if value is None:
            return None
        if value == []:
            return ()
        if not isinstance(value, list) or set(map(type, value)) != {int} or min(value) < 0 or max(value) >= MAX_COUNT:
            raise self.error(key, "is no list of counts")
        return tuple(value)

    def numbers(self, key: str) -> tuple[float, ...] | None:
        """Return a list of finite numbers; None when absent, null or empty.

        Raises:
            InputError: The value is no list of finite numbers.
        """
        value = self.data.get(key)
        if value is None or value == []:
            return None
        if not isinstance(value, list) or not all(is_finite(item) for item in value):
            raise self.error(key, "is no list of numbers")
        return tuple(float(item) for item in value)

    def inner(self, key: str) -> Fields:
        """Return the object under `key`; empty when absent or null.

        Raises:
            InputError: The value is no object.
        """
        value = self.data.get(key)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise self.error(key, "is no object")
        return Fields(data=value, where=self.where)

    def error(self, key: str, complaint: str) -> InputError:
        """Return the error for a value that cannot be meant."""
        shown = json.dumps(self.data.get(key), default=str)[:60]
        return InputError(
            f"`{key}` {complaint}: {shown}",
            where=self.where,
            hint="The file is damaged or of another tool; correct the value or remove the record.",
        )


def is_finite(value: object) -> bool:
    """Return whether this is a number that fits a float and is neither NaN nor infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def parse(content: bytes | str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: It is no JSON, is not UTF-8, or nests deeper than any tool does.
    """
    try:
        # Three times as fast as the standard library, which then has the word on everything not strictly JSON.
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


@lru_cache(maxsize=8)
def first_value(head: bytes) -> Any:
    """Return the first JSON value of a file's head, cut off where the head ends; None when it is no JSON."""
    text = head.decode(errors="replace").lstrip()
    if not text.startswith(("{", "[")):
        return None
    try:
        return _DECODER.raw_decode(text)[0]
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(_closed(text))
    except (ValueError, RecursionError):
        return None


def _closed(text: str) -> str:
    """Return a JSON text that was cut anywhere, shortened to its last whole element, with its brackets closed."""
    closers: list[str] = []
    keep, keep_closers = 0, ""
    in_string = escaped = False
    for index, char in enumerate(text):
        if in_string:
            in_string, escaped = escaped or char != '"', char == "\\" and not escaped
            continue
        if char == '"':
            in_string = True
        elif char in "{[":
            closers.append("}" if char == "{" else "]")
            if len(closers) > MAX_DEPTH:
                return ""
            keep, keep_closers = index + 1, "".join(reversed(closers))
        elif char in "}]":
            if not closers or closers.pop() != char:
                break
            keep, keep_closers = index + 1, "".join(reversed(closers))
            if not closers:
                break
        elif char == ",":
            keep, keep_closers = index, "".join(reversed(closers))
    return text[:keep] + keep_closers


def first_object(head: bytes) -> Mapping[str, Any] | None:
    """Return the first JSON object of a file's head, that of a list of objects too; None when there is none."""
    value = first_value(head)
    if isinstance(value, list):
        value = value[0] if value else None
    return value if isinstance(value, dict) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One JSON value of a JSON Lines file, or what stands in its place."""

    line: int
    """1-based line number."""
    value: Any
    """The value; None where `cut` says why there is none."""
    cut: str | None = None
    """What a truncated last line lacks, in words."""


def entries(path: Path) -> Iterator[Entry]:
    """Yield the values of a JSON Lines file; the last one carries `cut` when it is not whole.

    Raises:
        InputError: A line before the last is no JSON, or the file cannot be read.
    """
    pending: tuple[_source.Line, ValueError] | None = None
    for line in _source.lines(path):
        if not line.content.strip():
            continue
        if pending is not None:
            raise not_json(path, *pending)
        try:
            yield Entry(line=line.number, value=parse(line.content))
        except ValueError as error:
            pending = (line, error)
    if pending is not None:
        yield cut_entry(*pending)


def cut_entry(line: _source.Line, damage: ValueError) -> Entry:
    """Return what stands in the place of a last line that is not whole."""
    cut = f"line {line.number} is no JSON ({_reason(damage)})" if line.ended else _cut(line)
    return Entry(line=line.number, value=None, cut=f"{cut}; it was left out")


def not_json(path: Path, line: _source.Line, error: ValueError) -> InputError:
    """Return the error for a line that is no JSON."""
    return InputError(
        f"line {line.number} is no JSON ({_reason(error)})",
        where=f"{path}:{line.number}",
        hint="Correct or remove that line.",
    )


def _reason(error: ValueError) -> str:
    """Return why a text is no JSON, without quoting it."""
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error).split(":")[0]


def _cut(line: _source.Line) -> str:
    """Return where a line ends too early: after its last key, never quoting a value."""
    keys = _KEY.findall(line.content)
    after = f'"{keys[-1].decode()}"' if keys else f"{len(line.content)} bytes"
    return f"line {line.number} is cut after {after}"


def whole_document(path: Path) -> Any:
    """Return the value of a file that is one JSON document over several lines; None when it is none."""
    try:
        return parse(_source.read_document(path))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """The objects of a result file."""

    values: tuple[Fields, ...]
    """One a run."""
    cut: str | None = None
    """What a truncated file lacks, in words."""


def cut_document(path: Path) -> InputError | None:
    """Return the error for a document over several lines that ends too early; None when the file is something else."""
    text = _source.read_document(path)
    first, _, rest = text.lstrip().partition(b"\n")
    if (
        first[:1] not in (b"{", b"[")
        or not rest.strip()
        or _is_json(first)
        or not _closed(text.decode(errors="replace"))
    ):
        return None
    keys = _KEY.findall(text)
    after = f' after "{keys[-1].decode()}"' if keys else ""
    return InputError(f"the document is cut{after}", where=str(path), hint="Copy it again, or run the benchmark again.")


def _is_json(text: bytes) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def objects(path: Path) -> Objects:
    """Return the objects of a file that is one JSON document, a list of objects, or one object a line.

    Raises:
        InputError: The file is no JSON, is cut, or holds something else than objects.
    """
    whole = whole_document(path)
    if whole is not None:
        items = [Entry(line=1, value=item) for item in (whole if isinstance(whole, list) else [whole])]
    else:
        try:
            items = list(entries(path))
        except InputError as damage:
            raise (cut_document(path) or damage) from damage
    found = []
    cut = None
    for item in items:
        if item.cut is not None:
            cut = item.cut
        elif isinstance(item.value, dict):
            found.append(Fields(data=item.value, where=f"{path}:{item.line}"))
        else:
            raise InputError("this is no JSON object", where=f"{path}:{item.line}", hint="Remove that line.")
    return Objects(values=tuple(found), cut=cut)
