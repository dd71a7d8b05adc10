"""A cheap experiment before it is valued."""

from __future__ import annotations

from dataclasses import dataclass

from tracker.analysis.results import NextExperiment
from tracker.analysis.uncertainty import FloatArray

# Relative standard deviation of one careful comparison of two configurations, baseline before and after.
TEST_LOG_SD = 0.02


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Experiment:
    """Something to try before deciding."""

    shown: NextExperiment
    """What the memo says."""
    signals: FloatArray | None
    """What it measures, shape (n_signals, n_draws)."""
    noise: FloatArray
    """Standard deviation of each measurement."""
    decides: tuple[FloatArray, ...] | None = None
    """Net values it chooses between, each (n_draws,); those of all options when None."""
    opens: tuple[FloatArray, ...] = ()
    """Net values of options that it opens, each (n_draws,)."""
    comes_first: bool = False
    """Whether nothing else means anything before it is done."""
