"""What a decision option is.

A new option is one module here with a constant `OPTION`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from tracker.analysis.decision import Evidence, Valued
from tracker.analysis.results import NextExperiment, OptionAssessment


class Option(Protocol):
    """One way to go on."""

    key: str
    """Stable key; variants append to it, e.g. `more_data_100000`."""

    def assess(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Yield zero or more variants, unranked; zero when the option makes no sense for this campaign."""
        ...


@runtime_checkable
class Awaiting(Protocol):
    """An option that is worth what the next experiment is worth, known once all options are."""

    key: str
    """Key of the option."""

    def settle(self, option: Valued, upcoming: NextExperiment | None, leading: OptionAssessment | None) -> Valued:
        """Return the option in the light of what comes next.

        Args:
            option: As assessed.
            upcoming: The next experiment; None where none is worth its price.
            leading: The option ranked first; None where none is ranked.
        """
        ...
