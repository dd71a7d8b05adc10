"""All weights read once, in bounded memory, for what no header shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker.checkpoints._embeddings import MAX_WIDTH
from tracker.checkpoints._safetensors import Tensor
from tracker.errors import CheckpointError

CHUNK_BYTES = 32 * 1024 * 1024
# Rows of a fresh Gaussian matrix of width H have norms that vary by 0.71 / sqrt(H) of their mean, of a uniform one by
# 0.45 / sqrt(H); trained embeddings and heads vary several times as much.
_UNTRAINED_SPREAD = 0.9
_MIN_WIDTH = 256
_SAMPLED_ROWS = 1024
UNTRAINED_ENDINGS = ("embed_tokens.weight", "lm_head.weight")
# Element type -> (integer type to read as, bits of a value that is not finite, all bits but the sign).
_BITS: dict[str, tuple[type[np.unsignedinteger[Any]], int, int]] = {
    "BF16": (np.uint16, 0x7F80, 0x7FFF),
    "F16": (np.uint16, 0x7C00, 0x7FFF),
    "F32": (np.uint32, 0x7F800000, 0x7FFFFFFF),
    "F64": (np.uint64, 0x7FF0000000000000, 0x7FFFFFFFFFFFFFFF),
    "F8_E4M3": (np.uint8, 0x7F, 0x7F),
    "F8_E5M2": (np.uint8, 0x7C, 0x7F),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Names of tensors by what is wrong with them, sorted."""

    not_finite: tuple[str, ...]
    """Hold NaN or infinity."""
    zero: tuple[str, ...]
    """Matrices that are zero throughout."""
    untrained: tuple[str, ...]
    """Embedding or head matrices that look freshly initialised."""


def look_at_weights(tensors: Mapping[str, Tensor], progress: Callable[[int, int], None] | None) -> Seen:
    """Return what reading every floating-point tensor shows."""
    total = sum(tensor.end - tensor.begin for tensor in tensors.values())
    done = 0
    not_finite, zero, untrained = [], [], []
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].path, item[1].begin)):
        if tensor.dtype in _BITS:
            finite, nonzero = _scan(tensor)
            if not finite:
                not_finite.append(name)
            elif not nonzero and len(tensor.shape) > 1 and all(tensor.shape):
                zero.append(name)
            elif name.endswith(UNTRAINED_ENDINGS) and _looks_untrained(tensor):
                untrained.append(name)
        done += tensor.end - tensor.begin
        if progress is not None:
            progress(done, total)
    return Seen(not_finite=tuple(sorted(not_finite)), zero=tuple(sorted(zero)), untrained=tuple(sorted(untrained)))


def _scan(tensor: Tensor) -> tuple[bool, bool]:
    """Return whether all values are finite, and whether any is not zero."""
    kind, not_finite, magnitude = _BITS[tensor.dtype]
    finite, nonzero = True, False
    position = tensor.begin
    while position < tensor.end and finite:
        values = _read(tensor, position, min(CHUNK_BYTES, tensor.end - position), kind)
        finite = not bool(np.any((values & kind(not_finite)) == kind(not_finite)))
        nonzero = nonzero or bool(np.any(values & kind(magnitude)))
        position += CHUNK_BYTES
    return finite, nonzero


def sampled_rows(rows: int) -> NDArray[np.int64]:
    """Return the rows of a matrix that are looked at, evenly over it."""
    return np.unique(np.linspace(0, rows - 1, min(rows, _SAMPLED_ROWS)).astype(np.int64))


def norms_look_untrained(norms: NDArray[np.float64], width: int) -> bool:
    """Return whether rows of these lengths are those of a fresh random matrix: nearly all the same."""
    mean = float(norms.mean())
    return width >= _MIN_WIDTH and len(norms) > 1 and mean > 0 and norms.std() / mean < _UNTRAINED_SPREAD / width**0.5


def _looks_untrained(tensor: Tensor) -> bool:
    if (
        len(tensor.shape) != 2
        or not _MIN_WIDTH <= tensor.shape[1] <= MAX_WIDTH
        or tensor.dtype not in ("BF16", "F16", "F32")
    ):
        return False
    rows, width = tensor.shape
    row_bytes = (tensor.end - tensor.begin) // rows
    norms = np.array(
        [np.linalg.norm(_floats(tensor, tensor.begin + int(row) * row_bytes, row_bytes)) for row in sampled_rows(rows)],
        np.float64,
    )
    return norms_look_untrained(norms, width)


def _floats(tensor: Tensor, position: int, size: int) -> NDArray[np.float32]:
    if tensor.dtype == "BF16":  # the upper half of a float32
        return (_read(tensor, position, size, np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
    return np.asarray(_read(tensor, position, size, np.float16 if tensor.dtype == "F16" else np.float32), np.float32)


def _read(tensor: Tensor, position: int, size: int, kind: Any) -> NDArray[Any]:
    count = size // np.dtype(kind).itemsize
    try:
        values = np.fromfile(tensor.path, dtype=np.dtype(kind).newbyteorder("<"), count=count, offset=position)
    except OSError as error:
        raise CheckpointError(
            f"cannot be read ({error.strerror})", where=str(tensor.path), hint="Check the file and the disk."
        ) from error
    return values
