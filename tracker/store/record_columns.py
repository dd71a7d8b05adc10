"""Many records as columns: what several runs share is kept, decoded and held in memory once.

A column is a field of the record, or of its server; the server's several hundred arguments are kept as what differs
from those of an earlier run. Values stay the JSON bytes they were, so that a record comes back byte for byte.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from tracker.domain.record import SCHEMA_VERSION, RunRecord
from tracker.domain.server import ServerConfig
from tracker.errors import StoreError
from tracker.store.codec import decode_record, exact_value
from tracker.store.shared_mapping import SharedMapping

SERVER = "server"
ARGUMENTS = "server.arguments"
WHOLE = "whole"
ABSENT = -1
_PART = f"{SERVER}."
_MISSING = object()
# A launch changes a port, a seed and a handful of flags; with more of a difference another launch is the better base.
LARGEST_DIFFERENCE = 0.2


class Columns(msgspec.Struct):
    """Records in columns."""

    size: int = 0
    """How many records."""
    values: dict[str, list[bytes]] = msgspec.field(default_factory=dict)
    """Each column's values, each once: JSON of the field, or the whole record where it does not come apart."""
    index: dict[str, list[int]] = msgspec.field(default_factory=dict)
    """Each column's value by record; -1 where the record has no such field."""
    bases: list[dict[str, bytes]] = msgspec.field(default_factory=list)
    """Arguments of launches that others are described by: JSON by argument."""
    base: list[int] = msgspec.field(default_factory=list)
    """Base of each record's arguments; -1 without arguments."""


class Writer:
    """Puts records into columns."""

    def __init__(self) -> None:
        """Start empty."""
        self._columns = Columns()
        self._known: dict[str, dict[bytes, int]] = {}
        self._bases: dict[tuple[str, ...], list[int]] = {}

    def add(self, content: bytes) -> RunRecord:
        """Add a record by its JSON and return it.

        Raises:
            StoreError: The record cannot be read.
        """
        columns = self._columns
        record = exact_value(content, RunRecord)
        is_current = record is not None and record.schema_version == SCHEMA_VERSION
        parts = _parts(content) if is_current else None
        base = ABSENT
        if record is None or parts is None:
            record, parts = decode_record(content), {WHOLE: content}
        elif ARGUMENTS in parts:
            base, parts[ARGUMENTS] = self._described(parts[ARGUMENTS])
        for name in parts.keys() - columns.index.keys():
            columns.index[name] = [ABSENT] * columns.size
            columns.values[name] = []
            self._known[name] = {}
        for name, index in columns.index.items():
            index.append(self._number(name, parts[name]) if name in parts else ABSENT)
        columns.base.append(base)
        columns.size += 1
        return record

    def columns(self) -> Columns:
        """Return what was added."""
        return self._columns

    def _number(self, name: str, value: bytes) -> int:
        known = self._known[name]
        number = known.setdefault(value, len(known))
        if number == len(self._columns.values[name]):
            self._columns.values[name].append(value)
        return number

    def _described(self, arguments: bytes) -> tuple[int, bytes]:
        """Return the base that an argument list is nearest to, and what differs from it."""
        given = {key: bytes(raw) for key, raw in _raw(arguments).items()}
        keys = tuple(given)
        same = self._bases.setdefault(keys, [])
        for number in same:
            base = self._columns.bases[number]
            changed = {key: msgspec.Raw(raw) for key, raw in given.items() if base[key] != raw}
            if len(changed) <= LARGEST_DIFFERENCE * len(given):
                return number, msgspec.json.encode(changed)
        same.append(len(self._columns.bases))
        self._columns.bases.append(given)
        return same[-1], b"{}"


def records(columns: Columns, positions: Sequence[int]) -> list[RunRecord]:
    """Return the records at some positions. Fields that they share are the same objects.

    A column at a time: one by one takes twice as long.

    Raises:
        StoreError: The columns are of another layout.
    """
    whole = columns.index.get(WHOLE)
    apart = [place for place in positions if whole is None or whole[place] == ABSENT]
    try:
        found = dict(zip(apart, _records(columns, apart), strict=True))
    except (msgspec.MsgspecError, TypeError, KeyError, IndexError, ValueError) as error:
        raise StoreError("cached records of another layout", where="cache") from error
    if whole is not None:
        kept = {place: columns.values[WHOLE][whole[place]] for place in positions if place not in found}
        found |= {place: decode_record(content) for place, content in kept.items()}
    return [found[place] for place in positions]


def _records(columns: Columns, positions: Sequence[int]) -> Iterator[RunRecord]:
    names = sorted(name for name in columns.index if name != WHOLE and not name.startswith(_PART))
    rows = zip(*(_values(columns, name, positions) for name in names), strict=True)
    for row, server in zip(rows, _servers(columns, positions), strict=True):
        yield RunRecord(server=server, **_given(names, row))


def _servers(columns: Columns, positions: Sequence[int]) -> Iterator[ServerConfig | None]:
    names = sorted(name for name in columns.index if name.startswith(_PART))
    fields = [name.removeprefix(_PART) for name in names]
    if not names:
        yield from (None for _ in positions)
        return
    indexes = [columns.base, *(columns.index[name] for name in names)]
    rows = zip(
        *(_arguments(columns, positions) if name == ARGUMENTS else _values(columns, name, positions) for name in names),
        strict=True,
    )
    made: dict[tuple[int, ...], ServerConfig | None] = {}
    for place, row in zip(positions, rows, strict=True):
        key = tuple(index[place] for index in indexes)
        if key not in made:
            given = _given(fields, row)
            made[key] = ServerConfig(**given) if given else None
        yield made[key]


def _arguments(columns: Columns, positions: Sequence[int]) -> list[Any]:
    changes = _values(columns, ARGUMENTS, positions)
    numbers = [(columns.base[place], columns.index[ARGUMENTS][place]) for place in positions]
    bases = {
        base: {key: msgspec.json.decode(raw) for key, raw in columns.bases[base].items()}
        for base in {base for base, _ in numbers if base != ABSENT}
    }
    made = {
        number: _MISSING if changed is _MISSING else SharedMapping(bases[number[0]], changed)
        for number, changed in zip(numbers, changes, strict=True)
    }
    return [made[number] for number in numbers]


def _values(columns: Columns, name: str, positions: Sequence[int]) -> list[Any]:
    """Return a column's values, each decoded once; `_MISSING` where a record has no such field."""
    index, written = columns.index[name], columns.values[name]
    numbers = [index[place] for place in positions]
    wanted = sorted(set(numbers) - {ABSENT})
    joined = b",".join([written[number] for number in wanted])
    found = dict(zip(wanted, _decoders()[name].decode(b"[%b]" % joined), strict=True))
    found[ABSENT] = _MISSING
    return [found[number] for number in numbers]


def _given(names: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    if _MISSING not in row:
        return dict(zip(names, row, strict=True))
    return {name: value for name, value in zip(names, row, strict=True) if value is not _MISSING}


def contents(columns: Columns, positions: Iterable[int]) -> Iterator[bytes]:
    """Yield the JSON of records, byte for byte as it was added."""
    for position in positions:
        parts = {
            name: columns.values[name][index[position]]
            for name, index in columns.index.items()
            if index[position] != ABSENT
        }
        if WHOLE in parts:
            yield parts[WHOLE]
            continue
        if ARGUMENTS in parts:
            given = {key: msgspec.Raw(raw) for key, raw in columns.bases[columns.base[position]].items()}
            parts[ARGUMENTS] = msgspec.json.encode(given | _raw(parts[ARGUMENTS]))
        yield _joined(parts)


def _parts(content: bytes) -> dict[str, bytes] | None:
    """Return a record's fields as JSON; None for one that would not come back as it was."""
    fields = _raw(content)
    server = fields.pop(SERVER, None)
    parts = {name: bytes(raw) for name, raw in fields.items()}
    if server is not None and bytes(server) != b"null":
        parts |= {f"{_PART}{name}": bytes(raw) for name, raw in _raw(server).items()}
    return parts if _joined(parts) == content else None


def _joined(parts: Mapping[str, bytes]) -> bytes:
    fields = {name: msgspec.Raw(raw) for name, raw in parts.items() if not name.startswith(_PART)}
    server = {name.removeprefix(_PART): msgspec.Raw(raw) for name, raw in parts.items() if name.startswith(_PART)}
    fields[SERVER] = msgspec.Raw(msgspec.json.encode(server, order="sorted") if server else b"null")
    return msgspec.json.encode(fields, order="sorted")


def _raw(content: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    found: dict[str, msgspec.Raw] = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    return found


@cache
def _decoders() -> Mapping[str, msgspec.json.Decoder[Any]]:
    kinds = {name: kind for name, kind in typing.get_type_hints(RunRecord).items() if name != SERVER}
    kinds |= {f"{_PART}{name}": kind for name, kind in typing.get_type_hints(ServerConfig).items()}
    return {name: msgspec.json.Decoder(list[kind]) for name, kind in kinds.items()}  # type: ignore[valid-type]
