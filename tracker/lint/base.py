"""What a rule is and what it looks at.

A new rule is one module here with a constant `RULE`; its class docstring is the text of `tracker check --explain CODE`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement
from tracker.domain.server import ServerConfig, Speculation
from tracker.domain.training import Training
from tracker.domain.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Everything a rule may look at; None is not recorded, and a rule stays silent on what it cannot see."""

    server: ServerConfig | None = None
    """How the server runs or will run."""
    speculation: Speculation | None = None
    """The speculative part."""
    target: Checkpoint | None = None
    """Target model."""
    drafter: Checkpoint | None = None
    """Draft model."""
    workload: Workload | None = None
    """What is asked."""
    measurements: tuple[Measurement, ...] = ()
    """What was measured; empty before a run."""
    training: Training | None = None
    """The drafter's training."""
    cuda_graph: bool | None = None
    """Whether decoding runs in CUDA graphs, where the flags do not say it."""
    baseline: ServerConfig | None = None
    """How the server to compare with runs; None when no comparison is asked for."""


class Rule(Protocol):
    """One check. Its class docstring gives the reason and the source."""

    codes: tuple[str, ...]
    """Codes it may report."""

    def check(self, subject: Subject) -> Iterable[Finding]:
        """Yield findings; nothing when all is well or not visible."""
        ...
