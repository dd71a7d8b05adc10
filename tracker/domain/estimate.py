"""A number with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value with an 80 % interval; each part is None where it is not known, with the reason."""

    value: float | None = None
    """Best value, in the unit of the field that holds it."""
    low: float | None = None
    """Lower end of the 80 % interval."""
    high: float | None = None
    """Upper end of the 80 % interval; `math.inf` when open."""
    reason: str | None = None
    """Why the value or its interval is missing."""

    def __post_init__(self) -> None:
        """Refuse NaN and inverted intervals: they mean nothing.

        Raises:
            ValueError: A part is NaN, or low lies above high.
        """
        if any(part is not None and math.isnan(part) for part in (self.value, self.low, self.high)):
            raise ValueError("an Estimate holds NaN; use None with a reason")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"an Estimate has low {self.low} above high {self.high}")

    @property
    def half_width(self) -> float | None:
        """Half the interval's width, or None."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2
