"""Non-negative least squares of step time on verified tokens and draft steps, with the rank of its design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from tracker.analysis.uncertainty import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """One configuration's step time."""

    num_steps: int
    """Draft steps."""
    num_draft_tokens: int
    """Tokens verified per step."""
    step_ms: float
    """Milliseconds per verify step."""
    log_sd: float
    """Relative standard deviation of `step_ms`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decomposition:
    """Least-squares solution; None where the design does not tell a part from another."""

    rank: int
    """Rank of the design."""
    fixed_ms: float | None
    """f."""
    per_verified_token_ms: float | None
    """v."""
    per_draft_step_ms: float | None
    """d."""
    combined_ms: float | None
    """v + d, for chains."""
    predicted_ms: tuple[float, ...]
    """Fitted step times, in the order of the rows."""


def design_of(rows: Sequence[StepRow]) -> FloatArray:
    """Return the design matrix, columns 1, tokens verified beyond the first, draft steps; shape (n_rows, 3)."""
    return np.array([[1.0, row.num_draft_tokens - 1, row.num_steps] for row in rows])


def decompose(rows: Sequence[StepRow], base_ms: float) -> Decomposition:
    """Return the non-negative least-squares decomposition with the rank of its design.

    With one branch a step (n = s + 1 everywhere) verification and drafting cannot be told apart: only their sum is
    given.

    Args:
        rows: At least one configuration.
        base_ms: Milliseconds per token of the baseline.
    """
    design = design_of(rows)
    rank = int(np.linalg.matrix_rank(design))
    columns = independent_columns(design)
    coefficients = solve(design[:, columns], rows, base_ms)
    return name_parts(design, columns, coefficients, base_ms, rank)


def name_parts(
    design: FloatArray, columns: Sequence[int], coefficients: FloatArray, base_ms: float, rank: int
) -> Decomposition:
    """Return coefficients under the names the rank allows."""
    value = dict(zip(columns, (float(part) for part in coefficients), strict=True))
    chain = rank == 2 and bool(np.allclose(design[:, 1], design[:, 2]))
    return Decomposition(
        rank=rank,
        fixed_ms=value[0] if rank == 3 or chain else None,
        per_verified_token_ms=None if chain else value.get(1),
        per_draft_step_ms=None if chain else value.get(2),
        combined_ms=value[1] if chain else None,
        predicted_ms=tuple(float(part) for part in base_ms + design[:, list(columns)] @ coefficients),
    )


def independent_columns(design: FloatArray) -> list[int]:
    """Return the first linearly independent columns of a design."""
    columns: list[int] = []
    for column in range(design.shape[1]):
        trial = [*columns, column]
        if np.linalg.matrix_rank(design[:, trial]) == len(trial):
            columns = trial
    return columns


def solve(design: FloatArray, rows: Sequence[StepRow], base_ms: float) -> FloatArray:
    """Return non-negative coefficients of step time beyond the baseline's, rows weighted by their precision."""
    weights = np.array([1 / (row.log_sd * row.step_ms) for row in rows])
    response = np.array([row.step_ms - base_ms for row in rows])
    solution, _ = optimize.nnls(design * weights[:, None], response * weights)
    return np.asarray(solution, dtype=np.float64)
