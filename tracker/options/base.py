"""What a decision option is.

A new option is one module here with a constant `OPTION`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from tracker.analysis.decision import Evidence
from tracker.analysis.results import OptionAssessment


class Option(Protocol):
    """One way to go on."""

    key: str
    """Stable key; variants append to it, e.g. `more_data_100000`."""

    def assess(self, evidence: Evidence) -> Iterable[OptionAssessment]:
        """Yield zero or more variants, unranked; zero when the option makes no sense for this campaign."""
        ...
