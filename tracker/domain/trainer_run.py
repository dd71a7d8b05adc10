"""A training run as a trainer itself wrote it to an experiment tracker, before anything is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from tracker.domain.training import MetricPoint


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerRun:
    """One run of a tracking store that another program wrote."""

    run_id: str
    """The store's id of the run."""
    experiment: str
    """Name of the experiment it lies in."""
    name: str
    """Its run name."""
    status: str
    """The store's word: RUNNING, SCHEDULED, FINISHED, FAILED or KILLED."""
    started_at: datetime | None = None
    """When it began, UTC."""
    params: Mapping[str, str] = field(default_factory=dict)
    """Parameters as the trainer wrote them, all of them text."""
    points: tuple[MetricPoint, ...] = ()
    """Every point of every metric, as the trainer named them; measurements of the machine left out."""

    @property
    def has_ended(self) -> bool:
        """Whether the trainer itself said that it is over, well or not."""
        return self.status not in ("RUNNING", "SCHEDULED")

    @property
    def metric_names(self) -> frozenset[str]:
        """Names of its metrics."""
        return frozenset(point.name for point in self.points)
