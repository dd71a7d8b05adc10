"""Headers of safetensors files: names, types and shapes of all tensors, without their weights.

Format: 8 bytes little-endian length, that many bytes of JSON, then the data. Everything a header claims is checked
against the file before it is believed.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from tracker.checkpoints._files import size_of
from tracker.errors import CheckpointError

# The format's own limit; DeepSeek-V3's largest shard header is about 150 kB.
MAX_HEADER_BYTES = 100_000_000
MAX_INDEX_BYTES = 200_000_000
MAX_DIMENSIONS = 16
# Kimi-K2's experts, three tensors each, are two hundred thousand in all files together.
MAX_TENSORS = 500_000
# Bits per element; a type that is not listed is taken on trust.
_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64, "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip
_REDO = "Download or export the file again; its end or beginning is damaged."


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor as its header describes it."""

    dtype: str
    """Element type, e.g. `BF16`."""
    shape: tuple[int, ...]
    """Shape."""
    path: Path
    """File that holds it."""
    begin: int
    """First byte of its data in that file."""
    end: int
    """One past its last byte."""


def read_folder(folder: Path) -> dict[str, Tensor]:
    """Return all tensors of a folder by name: those of its index, of `model.safetensors`, or of every file there.

    Raises:
        CheckpointError: A header lies, a shard is missing, or index and shards disagree.
    """
    index = next(iter(sorted(folder.glob("*.safetensors.index.json"))), None)
    if index is not None:
        return _read_sharded(folder, index)
    single = folder / "model.safetensors"
    paths = [single] if single.is_file() else sorted(folder.glob("*.safetensors"))
    tensors: dict[str, Tensor] = {}
    for path in paths:
        for name, tensor in read_header(path).items():
            if name in tensors:
                _refuse(
                    path,
                    f"holds tensor {name!r}, which {tensors[name].path.name} holds too",
                    "Remove one of the files.",
                )
            tensors[name] = tensor
    return tensors


def read_header(path: Path) -> dict[str, Tensor]:
    """Return the tensors of one file by name.

    Raises:
        CheckpointError: The header is no header, or claims what the file does not hold.
    """
    size = size_of(path)
    try:
        with path.open("rb") as file:
            prefix = file.read(8)
            if len(prefix) < 8:
                _refuse(path, f"is {size} bytes long, too short for a safetensors file", _REDO)
            (length,) = struct.unpack("<Q", prefix)
            if length > MAX_HEADER_BYTES:
                _refuse(
                    path, f"claims a header of {length} bytes, above the format's limit of {MAX_HEADER_BYTES}", _REDO
                )
            if 8 + length > size:
                _refuse(path, f"claims a header of {length} bytes but is only {size} bytes long", _REDO)
            header = file.read(length)
    except OSError as error:
        raise CheckpointError(
            f"cannot be read ({error.strerror})", where=str(path), hint="Check the file and its permissions."
        ) from error
    entries = _parse_header(header, path)
    if len(entries) > MAX_TENSORS:
        _refuse(path, f"names {len(entries)} tensors, above the limit of {MAX_TENSORS} a file", "Is this a checkpoint?")
    tensors = {name: _tensor(name, entry, path, 8 + length, size) for name, entry in entries.items()}
    _refuse_overlap(tensors, path)
    return tensors


def _read_sharded(folder: Path, index: Path) -> dict[str, Tensor]:
    size = size_of(index)
    if size > MAX_INDEX_BYTES:
        _refuse(index, f"is {size} bytes long, no index is", "Remove or replace it.")
    try:
        weight_map = json.loads(index.read_bytes())["weight_map"]
    except (ValueError, RecursionError, KeyError, TypeError, OSError) as error:
        raise CheckpointError(
            "is no index of shards (no `weight_map`)", where=str(index), hint="Download or export it again."
        ) from error
    if not isinstance(weight_map, dict) or not all(isinstance(name, str) for name in weight_map.values()):
        _refuse(index, "has a `weight_map` that does not map tensors to files", "Download or export it again.")
    there = {path.name for path in folder.iterdir() if path.is_file()}
    tensors: dict[str, Tensor] = {}
    for shard in sorted(set(weight_map.values())):
        path = folder / shard
        if path.parent != folder or path.name not in there:
            _refuse(index, f"names shard {shard}, which is not in the folder", "Complete the download.")
        tensors |= read_header(path)
    missing = sorted(
        name for name, shard in weight_map.items() if name not in tensors or tensors[name].path.name != shard
    )
    if missing:
        _refuse(
            index,
            f"places {missing[0]!r} in {weight_map[missing[0]]}, which does not hold it ({len(missing)} such)",
            "Index and shards come from different exports; take both from one.",
        )
    return tensors


def _parse_header(header: bytes, path: Path) -> dict[str, Any]:
    try:
        parsed = json.loads(header, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"has a header that is not JSON ({error})", where=str(path), hint=_REDO) from error
    if not isinstance(parsed, dict):
        _refuse(path, "has a header that is not a JSON object", _REDO)
    parsed.pop("__metadata__", None)
    return parsed


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        raise ValueError("a name occurs twice")
    return unique


def _tensor(name: str, entry: Any, path: Path, data_start: int, size: int) -> Tensor:
    dtype, shape, offsets = _parts(name, entry, path)
    begin, end = offsets
    if begin > end or data_start + end > size:
        _refuse(
            path,
            f"places tensor {name!r} at bytes {begin} to {end} of {size - data_start}",
            "The file is shorter than its header says: complete the download." if begin <= end else _REDO,
        )
    bits = _BITS.get(dtype)
    if bits is not None and math.ceil(math.prod(shape) * bits / 8) != end - begin:
        _refuse(path, f"gives tensor {name!r} ({dtype} {list(shape)}) {end - begin} bytes", _REDO)
    return Tensor(dtype, shape, path, data_start + begin, data_start + end)


def _parts(name: str, entry: Any, path: Path) -> tuple[str, tuple[int, ...], tuple[int, int]]:
    """Return dtype, shape and offsets of a header's entry."""
    fields: Mapping[str, Any] = entry if isinstance(entry, dict) else {}
    dtype, shape, offsets = fields.get("dtype"), _counts(fields.get("shape")), _counts(fields.get("data_offsets"))
    if (
        not isinstance(dtype, str)
        or shape is None
        or offsets is None
        or len(offsets) != 2
        or len(shape) > MAX_DIMENSIONS
    ):
        _refuse(path, f"describes tensor {name!r} without a proper dtype, shape and data_offsets", _REDO)
    return dtype, shape, (offsets[0], offsets[1])


def _counts(value: Any) -> tuple[int, ...] | None:
    """Return a list of counts, else None."""
    if not isinstance(value, list):
        return None
    proper = all(isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 2**63 for count in value)
    return tuple(value) if proper else None


def _refuse_overlap(tensors: Mapping[str, Tensor], path: Path) -> None:
    placed = sorted((tensor.begin, tensor.end, name) for name, tensor in tensors.items() if tensor.end > tensor.begin)
    for (_, end, first), (begin, _, second) in pairwise(placed):
        if begin < end:
            _refuse(path, f"lets tensors {first!r} and {second!r} overlap", _REDO)


def _refuse(path: Path, message: str, hint: str) -> NoReturn:
    raise CheckpointError(message, where=str(path), hint=hint)
