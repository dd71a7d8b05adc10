"""The draft-vocabulary maps `d2t` and `t2d`: index tables, a few hundred kilobytes, not weights.

`d2t` holds offsets: target id = draft id + d2t[draft id]. Consistency as SpecForge checks it:
the ids that `t2d` marks are exactly `d2t + arange(draft_vocab_size)`.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Mapping
from typing import Any

from tracker.checkpoints._config import find, whole
from tracker.checkpoints._safetensors import Tensor

# Far above any vocabulary; a larger table is not read.
MAX_ENTRIES = 4_000_000
_CODES = {"I64": "q", "I32": "i", "BOOL": "B", "U8": "B"}


def draft_map_problem(config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> str | None:
    """Return how the maps contradict the config or each other, in words; None when they agree or are absent."""
    d2t, t2d = _find(tensors, "d2t"), _find(tensors, "t2d")
    draft, vocabulary = whole(find(config, "draft_vocab_size")), whole(find(config, "vocab_size"))
    if d2t is not None and draft is not None and d2t.shape != (draft,):
        return f"d2t has shape {list(d2t.shape)}, draft_vocab_size is {draft}"
    if t2d is not None and vocabulary is not None and t2d.shape != (vocabulary,):
        return f"t2d has shape {list(t2d.shape)}, vocab_size is {vocabulary}"
    offsets = _read(d2t)
    if offsets is None:
        return None
    targets = [index + offset for index, offset in enumerate(offsets)]
    limit = vocabulary if vocabulary is not None else (t2d.shape[0] if t2d is not None and t2d.shape else None)
    outside = sum(1 for target in targets if target < 0 or (limit is not None and target >= limit))
    if outside:
        return f"d2t points {outside} of {len(targets)} draft ids outside the target's vocabulary of {limit}"
    if len(set(targets)) != len(targets):
        return f"d2t points {len(targets) - len(set(targets))} draft ids at a target id that is taken already"
    marks = _read(t2d)
    if marks is None:
        return None
    marked = {index for index, mark in enumerate(marks) if mark}
    if marked != set(targets):
        return (
            f"t2d marks {len(marked)} target ids, {len(marked & set(targets))} of which are the {len(targets)} of d2t"
        )
    return None


def _find(tensors: Mapping[str, Tensor], ending: str) -> Tensor | None:
    named = (tensor for name, tensor in tensors.items() if name == ending or name.endswith("." + ending))
    return next(named, None)


def _read(tensor: Tensor | None) -> array[int] | None:
    """Return a small integer tensor's values; None for one that is absent, too large or of another type."""
    if tensor is None or tensor.dtype not in _CODES or len(tensor.shape) != 1 or tensor.shape[0] > MAX_ENTRIES:
        return None
    values = array(_CODES[tensor.dtype])
    with tensor.path.open("rb") as file:
        file.seek(tensor.begin)
        values.frombytes(file.read(tensor.end - tensor.begin))
    if sys.byteorder == "big":
        values.byteswap()
    return values
