"""Whether repeats agree well enough to stop."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

# 90th percentile of Student's t for 2, 3, ... degrees of freedom (R 4.4, qt(0.9, df)); beyond the last, the first two
# terms of its expansion around the normal's (Abramowitz and Stegun 26.7.5), within 0.2 %.
_T90 = (1.8856, 1.6377, 1.5332, 1.4759, 1.4398, 1.4149, 1.3968, 1.3830, 1.3722, 1.3634, 1.3562, 1.3502, 1.3450, 1.3406)
_NORMAL90 = 1.2816
# Two agree by chance too often.
MIN_REPEATS = 3


def half_width(values: Sequence[float]) -> float | None:
    """Return half the 80 % t interval of the mean as a fraction of the mean; None below three values.

    Args:
        values: One throughput a repeat.
    """
    if len(values) < MIN_REPEATS:
        return None
    mean = statistics.fmean(values)
    if mean <= 0:
        return None
    freedom = len(values) - 1
    quantile = _T90[freedom - 2] if freedom - 2 < len(_T90) else _NORMAL90 + (_NORMAL90**3 + _NORMAL90) / (4 * freedom)
    return quantile * statistics.stdev(values) / math.sqrt(len(values)) / mean
