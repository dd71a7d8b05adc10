"""Many records as columns: what several runs share is kept, decoded and held in memory once.

A column is a field of the record, or of its server; the server's several hundred arguments are kept as what differs
from those of an earlier run. Values stay the JSON bytes they were, so that a record comes back byte for byte.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator, Mapping
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


class Reader:
    """Takes records out of columns. Fields that runs share are the same objects."""

    def __init__(self, columns: Columns) -> None:
        """Read from `columns`."""
        self._columns = columns
        self._decoded: dict[str, list[Any]] = {
            name: [None] * len(values) for name, values in columns.values.items() if name != WHOLE
        }
        self._bases: list[dict[str, Any] | None] = [None] * len(columns.bases)
        self._arguments: dict[tuple[int, int], SharedMapping] = {}
        self._servers: dict[tuple[int, ...], ServerConfig] = {}
        names = sorted(columns.index.keys() - {WHOLE})
        self._fields = [(name, columns.index[name]) for name in names if not name.startswith(f"{SERVER}.")]
        self._parts = [(name, columns.index[name]) for name in names if name.startswith(f"{SERVER}.")]

    def record(self, position: int) -> RunRecord:
        """Return one record.

        Raises:
            StoreError: The columns are of another layout.
        """
        columns = self._columns
        whole = columns.index.get(WHOLE)
        if whole is not None and whole[position] != ABSENT:
            return decode_record(columns.values[WHOLE][whole[position]])
        try:
            fields = {
                name: self._value(name, index[position]) for name, index in self._fields if index[position] != ABSENT
            }
            server = self._server(position)
            return RunRecord(**fields) if server is None else RunRecord(server=server, **fields)
        except (msgspec.MsgspecError, TypeError, KeyError, IndexError) as error:
            raise StoreError("cached records of another layout", where="cache") from error

    def _server(self, position: int) -> ServerConfig | None:
        key = (self._columns.base[position], *(index[position] for _, index in self._parts))
        if all(number == ABSENT for number in key):
            return None
        if key not in self._servers:
            fields: dict[str, Any] = {
                name.partition(".")[2]: self._argument_values(position, number)
                if name == ARGUMENTS
                else self._value(name, number)
                for (name, _), number in zip(self._parts, key[1:], strict=True)
                if number != ABSENT
            }
            self._servers[key] = ServerConfig(**fields)
        return self._servers[key]

    def _argument_values(self, position: int, number: int) -> SharedMapping:
        base = self._columns.base[position]
        if (base, number) not in self._arguments:
            shared = self._bases[base]
            if shared is None:
                shared = {key: msgspec.json.decode(raw) for key, raw in self._columns.bases[base].items()}
                self._bases[base] = shared
            changed = msgspec.json.decode(self._columns.values[ARGUMENTS][number])
            self._arguments[base, number] = SharedMapping(shared, changed)
        return self._arguments[base, number]

    def _value(self, name: str, number: int) -> Any:
        decoded = self._decoded[name]
        if decoded[number] is None:
            decoded[number] = _decoders()[name].decode(self._columns.values[name][number])
        return decoded[number]


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
        parts |= {f"{SERVER}.{name}": bytes(raw) for name, raw in _raw(server).items()}
    return parts if _joined(parts) == content else None


def _joined(parts: Mapping[str, bytes]) -> bytes:
    fields = {name: msgspec.Raw(raw) for name, raw in parts.items() if not name.startswith(f"{SERVER}.")}
    server = {
        name.removeprefix(f"{SERVER}."): msgspec.Raw(raw)
        for name, raw in parts.items()
        if name.startswith(f"{SERVER}.")
    }
    fields[SERVER] = msgspec.Raw(msgspec.json.encode(server, order="sorted") if server else b"null")
    return msgspec.json.encode(fields, order="sorted")


def _raw(content: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    found: dict[str, msgspec.Raw] = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    return found


@cache
def _decoders() -> Mapping[str, msgspec.json.Decoder[Any]]:
    kinds = {name: kind for name, kind in typing.get_type_hints(RunRecord).items() if name != SERVER}
    kinds |= {f"{SERVER}.{name}": kind for name, kind in typing.get_type_hints(ServerConfig).items()}
    return {name: msgspec.json.Decoder(kind) for name, kind in kinds.items()}
