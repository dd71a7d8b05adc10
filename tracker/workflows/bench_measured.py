"""What a benchmark of one server brought."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from tracker.domain.measurement import RequestRow
from tracker.load import rows as request_rows
from tracker.load.counters import ServerCounters
from tracker.load.generator import PassResult
from tracker.workflows.bench_plan import Load


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRecord:
    """One pass with where it belongs."""

    load: Load
    """Its load."""
    repeat: int
    """Repeat index."""
    result: PassResult
    """What came back."""
    counters: ServerCounters | None = None
    """By how much the server's own counters grew; None where it has none, or was restarted."""

    @property
    def whole(self) -> bool:
        """Whether it ran to its end."""
        return self.result.ended_early is None

    @property
    def output_tokens(self) -> int:
        """Return the tokens of its answers."""
        return sum(item.counts.output_tokens or 0 for item in self.result.answers if item.counts is not None)


@dataclass(slots=True)
class Measured:
    """What a benchmark brought, growing pass by pass."""

    started_at: datetime
    """UTC."""
    route: str
    """Route that was used."""
    passes: list[PassRecord] = field(default_factory=list)
    """Passes in the order in which they ran."""
    ended_early: str | None = None
    """Why it did not run to its end."""
    metrics_before: bytes | None = None
    """`/metrics` after the warm-up, before the first pass."""
    flushed: bool | None = None
    """Whether the server emptied its cache before every pass; None when not asked to."""

    restarted: bool = False
    """Whether the server's own counters fell, as they do when it starts anew."""

    @property
    def interrupted(self) -> bool:
        """Return whether Ctrl-C ended it."""
        return self.ended_early is not None and self.ended_early.startswith("interrupted")

    @property
    def kept(self) -> tuple[PassRecord, ...]:
        """Return the passes that count: whole ones, and a cut one where its load has no other."""
        whole = {item.load for item in self.passes if item.whole}
        return tuple(item for item in self.passes if item.whole or item.load not in whole)

    def throughputs(self, load: Load) -> tuple[float, ...]:
        """Return output tokens per second of each whole pass at one load."""
        found = []
        for item in self.passes:
            if item.load == load and item.whole and item.result.wall_s > 0:
                found.append(item.output_tokens / item.result.wall_s)
        return tuple(found)

    def rows(self) -> tuple[RequestRow, ...]:
        """Return the per-request rows of the passes that count."""
        return tuple(
            request_rows.row(answer, concurrency=item.load.concurrency, repeat=item.repeat)
            for item in self.kept
            for answer in item.result.answers
        )

    def lines(self) -> bytes:
        """Return `requests.jsonl`: every answer of every pass that counts, and a line that times each pass."""
        parts: list[bytes] = []
        for item in self.kept:
            streams, repeat = item.load.concurrency, item.repeat
            parts += [request_rows.line(answer, concurrency=streams, repeat=repeat) for answer in item.result.answers]
            if item.whole:
                facts = {
                    "client_cpu_fraction": item.result.health.cpu_fraction,
                    "client_delay_ms_p99": item.result.health.delay_ms_p99,
                    "steady_s": item.result.steady_s,
                    "steady_output_tokens": item.result.steady_output_tokens,
                    "request_rate_per_s": item.load.rate_per_s,
                }
                timed = request_rows.pass_line(
                    concurrency=streams, repeat=repeat, wall_s=item.result.wall_s, facts=facts
                )
                parts.append(timed)
        return b"\n".join(parts) + b"\n"
