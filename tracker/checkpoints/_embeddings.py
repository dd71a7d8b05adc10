"""A few rows of two embedding tables compared, read straight from the files."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping

from tracker.checkpoints._safetensors import Tensor

ROWS = 16
# Far above any hidden size; a wider row is not read.
MAX_WIDTH = 1_000_000
_SAME_DIRECTION = 0.99
_ITEM_BYTES = {"BF16": 2, "F16": 2, "F32": 4}


def same_embeddings(drafter: Mapping[str, Tensor], target: Mapping[str, Tensor]) -> bool | None:
    """Return whether sampled rows of `embed_tokens` point the same way; None when they cannot be compared.

    Kilobytes are read: 16 rows evenly over the table, of which rows of zeros are left out.
    """
    own, other = _table(drafter), _table(target)
    if own is None or other is None or own.shape[1] != other.shape[1]:
        return None
    rows = min(own.shape[0], other.shape[0])
    picked = sorted({round(index * (rows - 1) / max(ROWS - 1, 1)) for index in range(ROWS)})
    likeness = [_cosine(_row(own, row), _row(other, row)) for row in picked]
    known = [value for value in likeness if value is not None]
    return None if not known else sum(known) / len(known) >= _SAME_DIRECTION


def _table(tensors: Mapping[str, Tensor]) -> Tensor | None:
    named = sorted((name for name in tensors if name.endswith("embed_tokens.weight")), key=len)
    found = tensors[named[0]] if named else None
    if found is None or len(found.shape) != 2 or found.dtype not in _ITEM_BYTES or not all(found.shape):
        return None
    return found if found.shape[1] <= MAX_WIDTH else None


def _row(table: Tensor, row: int) -> list[float]:
    size = table.shape[1] * _ITEM_BYTES[table.dtype]
    with table.path.open("rb") as file:
        file.seek(table.begin + row * size)
        data = file.read(size)
    if table.dtype == "BF16":  # the upper half of a float32
        return [struct.unpack("<f", b"\0\0" + data[at : at + 2])[0] for at in range(0, size, 2)]
    return list(struct.unpack(f"<{table.shape[1]}{'e' if table.dtype == 'F16' else 'f'}", data))


def _cosine(one: list[float], other: list[float]) -> float | None:
    """Return the cosine of two rows: 0 where one of them is zeros or not finite, None where both are zeros."""
    if not any(one) and not any(other):
        return None
    lengths = math.hypot(*one) * math.hypot(*other)
    product = sum(a * b for a, b in zip(one, other, strict=True))
    return product / lengths if lengths and math.isfinite(lengths) and math.isfinite(product) else 0.0
