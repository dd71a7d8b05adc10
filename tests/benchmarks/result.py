"""What a benchmark reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One measured number beside what it is compared with in the same run."""

    what: str
    """What was measured."""
    value: float
    """The number."""
    unit: str
    """Its unit."""
    beside: str | None = None
    """What else was measured in the same run, e.g. `grep -c`."""
    beside_value: float | None = None
    """The other's number, in the same unit; a ratio of both carries over to other machines, the numbers do not."""
    at_least: float | None = None
    """Promise: not below this."""
    at_most: float | None = None
    """Promise: not above this."""

    @property
    def kept(self) -> bool:
        """Whether the promise is kept; True where there is none."""
        low, high = self.at_least, self.at_most
        return (low is None or self.value >= low) and (high is None or self.value <= high)

    def line(self) -> str:
        """Return the result as one line."""
        parts = [f"{self.what}: {self.value:,.3g} {self.unit}"]
        if self.beside is not None and self.beside_value:
            ratio = self.value / self.beside_value
            parts.append(f"{self.beside} {self.beside_value:,.3g} {self.unit}, ratio {ratio:.3g}")
        if self.at_least is not None:
            parts.append(f"promised at least {self.at_least:g}")
        if self.at_most is not None:
            parts.append(f"promised at most {self.at_most:g}")
        return "; ".join(parts) + ("" if self.kept else "  BROKEN")


# Takes a folder for its inputs and a scale (1 is the size of the promise), yields results as they come.
Benchmark = Callable[[Path, float], Iterator[Result]]
