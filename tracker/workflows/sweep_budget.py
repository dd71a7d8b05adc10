"""Whether the time that a sweep may take has room for what comes next."""

from __future__ import annotations

import time
from collections.abc import Callable

from tracker.workflows.sweep_plan import SweepPlan
from tracker.workflows.sweep_schedule import Batch
from tracker.workflows.sweep_state import SweepState


class Budget:
    """The time of one call; what starting and measuring take is what the slowest of each took so far.

    A candidate is begun only where the baseline after it fits too: without one its speed cannot be told from drift.
    """

    def __init__(
        self,
        budget_s: float | None,
        plan: SweepPlan,
        state: SweepState,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin to count; None is without a limit."""
        self._clock = clock
        self._budget_s, self._plan, self._state = budget_s, plan, state
        self._begun_s = clock()
        self._slowest_s = 0.0
        table = plan.table.baseline
        self._resident = table is not None and table.resident
        self._interleaved = table is not None and not table.resident

    def took(self, seconds: float) -> None:
        """Take note of one measurement, a baseline's too."""
        self._slowest_s = max(self._slowest_s, seconds)

    def lacks_batch(self, batch: Batch, *, since_baseline: int) -> str | None:
        """Return in words that there is no time for this batch's first candidate and its baselines; None when there is.

        Args:
            batch: What would be started.
            since_baseline: Candidates measured since the last baseline, which this batch's baseline would close.
        """
        leading = next((index for index, item in enumerate(batch.items) if not item.arm.is_baseline), None)
        alone_s = self._start_s + self._measure_s
        if leading is not None:
            needed_s = self._batch_s + leading * self._measure_s
        else:
            needed_s = alone_s if since_baseline else alone_s + self._batch_s
        return self._lacks(needed_s, "batch", starting=True)

    def lacks_candidate(self, *, starting: bool) -> str | None:
        """Return in words that there is no time for another candidate and the baseline after it; None when there is."""
        if starting:
            return self._lacks(self._batch_s, "batch", starting=True)
        return self._lacks(self._candidate_s, "server", starting=False)

    def lacks_baseline(self) -> str | None:
        """Return in words that there is no time to start and measure the baseline once more; None when there is."""
        return self._lacks(self._start_s + self._measure_s, "baseline", starting=True)

    @property
    def _batch_s(self) -> float:
        """Return the seconds of a batch's start, its first candidate and the baseline around it."""
        return self._start_s + self._measure_s * self._resident + self._candidate_s

    @property
    def _candidate_s(self) -> float:
        """Return the seconds of measuring a candidate that is up, and the baseline after it."""
        after_s = self._measure_s * (self._resident or self._interleaved)
        return self._measure_s + after_s + self._start_s * self._interleaved

    @property
    def _start_s(self) -> float:
        return self._plan.table.start_estimate_s if self._state.start_s is None else self._state.start_s

    @property
    def _measure_s(self) -> float:
        return max(self._slowest_s, self._state.slowest_s() or 0.0)

    def _lacks(self, needed_s: float, what: str, *, starting: bool) -> str | None:
        if self._budget_s is None:
            return None
        left_s = self._budget_s - (self._clock() - self._begun_s)
        if needed_s <= left_s:
            return None
        estimated = " ([sweep] start_estimate_s)" if starting and self._state.start_s is None else ""
        return (
            f"the budget leaves no time for another {what}: it takes about {needed_s:.0f} s, "
            f"and {left_s:.0f} s are left{estimated}"
        )
