"""What a search must measure before it can predict anything: shapes that tell the parts of a step from one another."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from tracker.analysis.search_model import Shape
from tracker.analysis.uncertainty import FloatArray

# Two shapes tell the fixed part of a step from the part that grows; a third only sharpens trees.
_SHAPES_NEEDED = 2
_FIRST_STEPS = 3


def identifying(
    candidates: Mapping[str, tuple[Shape, float]], measured: Collection[Shape], *, where: str
) -> dict[str, tuple[float, str]]:
    """Return, by name, what a shape adds to the design per GPU-hour and why; empty once the design tells enough.

    Args:
        candidates: Shape and price in GPU-hours of the servers to choose from.
        measured: Shapes whose step was timed.
        where: The load, in words.
    """
    shapes = set(measured)
    rows = _design(shapes)
    have = 0 if not shapes else int(np.linalg.matrix_rank(rows))
    every = shapes | {shape for shape, _ in candidates.values()}
    reachable = int(np.linalg.matrix_rank(_design(every))) if every else 0
    found: dict[str, tuple[float, str]] = {}
    if have >= min(_SHAPES_NEEDED, reachable):
        return found
    for name, (shape, hours) in candidates.items():
        if not shapes:
            # Published growth per step starts at a chain of three, so the first run stands close to it.
            near = 1 / (1 + abs(shape.num_steps - _FIRST_STEPS) + (0 if shape.is_chain else 1))
            words = f"nothing with speculation is measured {where}: {shape.words} gives a first step time"
            found[name] = (near / hours, words)
            continue
        row = _design({shape})[0]
        away = row - rows.T @ np.linalg.lstsq(rows.T, row, rcond=None)[0]
        gain = float(np.linalg.norm(away))
        if gain > 1e-9:
            words = (
                f"one shape tells only how long a whole step takes; {shape.words} beside "
                f"{min(shapes).words} tells the fixed part from the part that grows"
            )
            found[name] = (gain / hours, words)
    return found


def _design(shapes: set[Shape]) -> FloatArray:
    return np.array([[1.0, shape.num_draft_tokens - 1, shape.num_steps] for shape in sorted(shapes)]).reshape(-1, 3)
