"""Whether the client itself kept up: its CPU time and how late its event loop ran."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

_PROBE_S = 0.05
# One thread sends everything: near one core it is the bottleneck, and answers wait in it unseen.
MAX_CPU_FRACTION = 0.8
MAX_DELAY_FRACTION = 0.05
# An idle loop's own timer is this coarse.
MIN_DELAY_MS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientHealth:
    """What one pass cost the client."""

    cpu_s: float
    """CPU seconds of the whole process during the pass."""
    cpu_fraction: float
    """CPU seconds over wall seconds: 1 is one core."""
    delay_ms_median: float | None = None
    """How late a waiting task was woken, or a due request was sent; None in a pass too short to tell."""
    delay_ms_p99: float | None = None
    """99th percentile of the same."""

    def bottleneck(self, median_latency_s: float | None) -> str | None:
        """Return in words why the client, not the server, may have set the pace; None when it kept up."""
        if self.cpu_fraction > MAX_CPU_FRACTION:
            return f"the client used {self.cpu_fraction:.2f} of one core"
        delay_ms = self.delay_ms_median
        if delay_ms is None or median_latency_s is None or delay_ms <= MIN_DELAY_MS:
            return None
        if delay_ms > 1000 * MAX_DELAY_FRACTION * median_latency_s:
            return (
                f"the client ran {delay_ms:.1f} ms late (median) where an answer takes {1000 * median_latency_s:.1f} ms"
            )
        return None


@dataclass(slots=True)
class Watch:
    """Running measurement of the client."""

    delays_s: list[float] = field(default_factory=list)
    _cpu_s: float = field(default_factory=time.process_time)
    _wall_s: float = field(default_factory=time.perf_counter)

    def result(self) -> ClientHealth:
        """Return what the pass cost so far."""
        cpu_s, wall_s = time.process_time() - self._cpu_s, time.perf_counter() - self._wall_s
        return ClientHealth(
            cpu_s=cpu_s,
            cpu_fraction=cpu_s / wall_s if wall_s > 0 else 0.0,
            delay_ms_median=_percentile_ms(self.delays_s, 0.5),
            delay_ms_p99=_percentile_ms(self.delays_s, 0.99),
        )


@contextlib.asynccontextmanager
async def watched() -> AsyncIterator[Watch]:
    """Measure the event loop while the body runs."""
    watch = Watch()
    probe = asyncio.create_task(_probe(watch))
    try:
        yield watch
    finally:
        probe.cancel()
        # Not awaited itself: its cancellation could not be told from our own, by Ctrl-C.
        await asyncio.wait([probe])


async def _probe(watch: Watch) -> None:
    while True:
        before = time.perf_counter()
        await asyncio.sleep(_PROBE_S)
        watch.delays_s.append(max(0.0, time.perf_counter() - before - _PROBE_S))


def _percentile_ms(values: Sequence[float], fraction: float) -> float | None:
    if len(values) < 10:
        return None
    ordered = sorted(values)
    return 1000 * ordered[min(len(ordered) - 1, int(fraction * len(ordered)))]
