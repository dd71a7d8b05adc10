"""Acceptance that was forced on purpose, to measure step times."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from tracker.domain.finding import Finding

_MEANT = frozenset({"SYNTHETIC_ACCEPTANCE", "DRAFT_WEIGHTS_DUMMY", "RANDOM_DATASET_FOR_ACCEPTANCE"})


def meant(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings of a run whose acceptance was forced on purpose; that it means nothing is no error then.

    Such a finding stays in the record and keeps its effect: the run serves step time only.
    """
    return tuple(
        dataclasses.replace(item, severity="info", fix=None) if item.code in _MEANT else item for item in findings
    )
