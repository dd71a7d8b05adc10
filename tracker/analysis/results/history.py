"""Over time and across runs: jumps in a series, speed told apart from acceptance, noise between servers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class StepChange:
    """A jump in a series of runs of one configuration and drafter over time."""

    series: str
    """Which series, in words, e.g. `EAGLE3 3-1-4 with drafter a at 8 streams`."""
    quantity: Literal["throughput", "accept_length", "step_time"]
    """What jumped."""
    concurrency: int | None
    """Streams."""
    before: float
    """Geometric mean before, in tok/s, tokens a step or ms."""
    after: float
    """Geometric mean after."""
    run_ids_before: tuple[str, ...]
    """Runs of the level before, oldest first."""
    run_ids_after: tuple[str, ...]
    """Runs of the level after; the first one is where it jumped."""
    annotation: str | None
    """What the first run after it, or the one before, says about a change (tag `change`); then it is no alarm."""
    alarm: bool
    """Not annotated, and the first run after it was logged in the window."""
    message: str
    """The sentence: what moved, what did not, what changed between the two runs, what to compare."""

    @property
    def change_fraction(self) -> float:
        """Relative change, e.g. -0.49."""
        return self.after / self.before - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """A slow run told apart: is it acceptance or the time of a step?"""

    kind: Literal["speed", "acceptance"]
    """Which of the two is the problem."""
    run_id: str
    """The run concerned."""
    concurrency: int | None
    """Streams."""
    against_run_id: str | None
    """Run it was told apart with; None where published or computed figures did it."""
    message: str
    """The sentence, with what to compare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadNoise:
    """Noise between freshly started servers of one configuration, at one load."""

    concurrency: int | None
    """Streams."""
    sd: float
    """Relative standard deviation of step time."""
    df: float
    """Degrees of freedom; infinite when it is an assumption."""
    source: str
    """`measured`, `other loads` or `default`."""
