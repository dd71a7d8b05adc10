"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]
Confidence = Literal["certain", "high", "medium", "low"]
Voids = Literal["acceptance", "speed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, or that a reader must know."""

    code: str
    """Stable name, e.g. `ALGO_MISMATCH_EAGLE_FOR_EAGLE3`."""
    severity: Severity
    """error: the numbers mislead; warning: they may; info: worth knowing."""
    message: str
    """What and where, one or two sentences."""
    fix: str | None = None
    """Runnable command or flag, or the step to take."""
    confidence: Confidence = "high"
    """How sure the check is."""
    voids: tuple[Voids, ...] = ()
    """What of the run's numbers must leave every fit."""
    flag_before: str | None = None
    """The flag as it was, when one flag is the cause."""
    flag_after: str | None = None
    """The flag as it should be."""
