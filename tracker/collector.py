"""Python's collector of garbage, switched where it would cost a third of the work and find nothing."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def collector_at_rest() -> Iterator[None]:
    """Leave garbage alone inside: for work that keeps what it makes, such as ten thousand records, or that is timed."""
    with _switched(gc.disable):
        yield


@contextlib.contextmanager
def collector_at_work() -> Iterator[None]:
    """Collect inside, whatever is said around it: for work that leaves cycles behind, as MLflow's answers do."""
    with _switched(gc.enable):
        yield


@contextlib.contextmanager
def _switched(switch: Callable[[], None]) -> Iterator[None]:
    was_on = gc.isenabled()
    switch()
    try:
        yield
    finally:
        (gc.enable if was_on else gc.disable)()
