"""Where a series of runs jumps: the best split into levels, each step tested with a t-statistic.

All splits into up to six levels are compared by their squares (dynamic programming), so that a jump up and one down do
not hide each other. The largest number of levels is kept at which every step is significant, Bonferroni over the
places where the steps could have been put.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tracker.analysis.uncertainty import FloatArray, quantile

# Fewer runs than this before the first jump say too little about how far runs scatter anyway.
LEAST_BEFORE = 3
# Chance of an alarm in a series without a jump.
FALSE_ALARM = 0.01
# Jumps smaller than this are not worth a sentence.
LEAST_CHANGE = 0.03
_MOST_JUMPS = 5


def change_points(logs: Sequence[float], *, noise_sd: float) -> tuple[int, ...]:
    """Return the indices at which a series takes a new level, ascending.

    Args:
        logs: Logarithms of one quantity, oldest first.
        noise_sd: Least standard deviation assumed between runs: a few runs that agree by chance prove no better.
    """
    values = np.asarray(logs, dtype=np.float64)
    most = min(_MOST_JUMPS, len(values) - LEAST_BEFORE)
    for cuts in reversed(_best_cuts(values, most)):
        if _all_significant(values, cuts, noise_sd):
            return cuts
    return ()


def _best_cuts(values: FloatArray, most: int) -> list[tuple[int, ...]]:
    """Return, for 1 to `most` jumps, where they leave the least squares; the first level holds three runs or more."""
    count = len(values)
    if most < 1:
        return []
    squares = _segment_squares(values)
    # best[j, end]: least squares of values[:end] in j + 1 levels; cut[j, end]: where its last level starts.
    best = np.full((most + 1, count + 1), math.inf)
    cut = np.zeros((most + 1, count + 1), dtype=np.intp)
    best[0, LEAST_BEFORE:] = squares[0, LEAST_BEFORE:]
    for jumps in range(1, most + 1):
        for end in range(LEAST_BEFORE + jumps, count + 1):
            totals = best[jumps - 1, :end] + squares[:end, end]
            cut[jumps, end] = int(totals.argmin())
            best[jumps, end] = totals[cut[jumps, end]]
    return [_backwards(cut, jumps, count) for jumps in range(1, most + 1)]


def _segment_squares(values: FloatArray) -> FloatArray:
    """Return squares around the mean of values[start:end], shape (n + 1, n + 1)."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    squared = np.concatenate([[0.0], np.cumsum(values**2)])
    index = np.arange(len(values) + 1)
    length = np.maximum(index[None, :] - index[:, None], 1)
    total = sums[None, :] - sums[:, None]
    return np.asarray(np.maximum(squared[None, :] - squared[:, None] - total**2 / length, 0.0), dtype=np.float64)


def _backwards(cut: np.ndarray, jumps: int, end: int) -> tuple[int, ...]:
    found: list[int] = []
    for left in range(jumps, 0, -1):
        end = int(cut[left, end])
        found.append(end)
    return tuple(reversed(found))


def _all_significant(values: FloatArray, cuts: tuple[int, ...], noise_sd: float) -> bool:
    freedom = len(values) - len(cuts) - 1
    if freedom < 1:
        return False
    levels = np.split(values, cuts)
    squares = math.fsum(float(((level - level.mean()) ** 2).sum()) for level in levels)
    sd = max(math.sqrt(squares / freedom), noise_sd)
    places = math.comb(len(values) - LEAST_BEFORE, len(cuts))
    bound = quantile(1 - FALSE_ALARM / (2 * places), freedom)
    for before, after in pairwise(levels):
        shift = abs(float(after.mean() - before.mean()))
        if shift < math.log1p(LEAST_CHANGE) or shift < bound * sd * math.sqrt(1 / len(before) + 1 / len(after)):
            return False
    return True
