"""What guidellm's JSON, YAML and CSV results share: load levels, and numbers whose names mean something else elsewhere.

`inter_token_latency_ms` leaves the first token out and is a request's mean, so it is what others call time per output
token; `time_per_output_token_ms` holds the time to first token and is kept under its own name. Tokens per iteration
count streamed chunks: a stand-in for accept length at best, never taken for it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, Reported, RequestRow
from tracker.domain.server import Speculation
from tracker.domain.workload import Workload
from tracker.importers import _identities, _spec_block
from tracker.importers.base import ImportedRun

MEDIAN_THROUGHPUT = Finding(
    code="THROUGHPUT_IS_MEDIAN",
    severity="info",
    message="The file holds only the median of output tokens per second over time, not their mean.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One benchmark of a report: one load."""

    strategy: str | None
    """synchronous, concurrent, throughput, constant, poisson, trace."""
    rate_per_s: float | None
    """Arrivals per second of an open loop."""
    cell: Measurement
    """What was measured."""
    requests: tuple[RequestRow, ...] = ()
    """Requests listed in the report."""
    prompt_set: str | None = None
    """Data set as named in the arguments."""
    model: str | None = None
    """Model as named by the backend."""
    speculation: Speculation | None = None
    """Drafts per step, when the requests carry them."""
    findings: tuple[Finding, ...] = ()
    """What a reader must know."""

    @property
    def closed(self) -> bool:
        """Whether the load is a number of streams, so that levels of one server are one curve."""
        return self.strategy in ("synchronous", "concurrent")


def concurrency(strategy: str | None, streams: int | None) -> int | None:
    """Return the streams of a closed loop; None for an open loop or everything at once."""
    if strategy == "synchronous":
        return 1
    return streams if strategy == "concurrent" else None


def runs(levels: Sequence[Level], cut: str | None) -> tuple[ImportedRun, ...]:
    """Return one run for all closed-loop levels, and one for each open-loop level: its rate is another workload."""
    closed = [level for level in levels if level.closed]
    groups = ([closed] if closed else []) + [[level] for level in levels if not level.closed]
    single = len(groups) == 1
    return tuple(_run(group, None if single else row, cut) for row, group in enumerate(groups))


def _run(levels: Sequence[Level], row: int | None, cut: str | None) -> ImportedRun:
    first = levels[0]
    spec = first.speculation if all(level.speculation == first.speculation for level in levels) else None
    cells = [level.cell for level in levels]
    spec = spec or _spec_block.seen(cells)
    findings = [finding for level in levels for finding in level.findings]
    findings += [
        finding
        for cell in cells
        for finding in _identities.check(cell, num_steps=None if spec is None else spec.num_steps)
    ]
    done = [cell for cell in cells if cell.requests_completed]
    requests = sum(cell.requests_completed or 0 for cell in done)
    return ImportedRun(
        name=None if first.closed else _name(first),
        row=row,
        measurements=tuple(cells),
        requests=tuple(request for level in levels for request in level.requests),
        workload=Workload(
            prompt_set=first.prompt_set,
            input_tokens_mean=_mean([cell.input_tokens for cell in done], requests),
            output_tokens_mean=_mean([cell.output_tokens for cell in done], requests),
            concurrencies=tuple(sorted({cell.concurrency for cell in cells if cell.concurrency is not None})),
            request_rate_per_s=first.rate_per_s,
        ),
        # guidellm drives any OpenAI server; only vLLM's per-request block tells which.
        engine=None if spec is None else "vllm",
        speculation=spec,
        tags={} if first.model is None else {"model": first.model},
        findings=_identities.merge(findings),
        missing=cut,
    )


def _name(level: Level) -> str:
    return level.strategy or "guidellm" if level.rate_per_s is None else f"{level.strategy} {level.rate_per_s:g}/s"


def _mean(values: Sequence[int | None], requests: int) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / requests if requests and known and len(known) == len(values) else None


def with_requests(cell: Measurement, rows: Sequence[RequestRow]) -> tuple[Measurement, tuple[Finding, ...]]:
    """Return the cell with the drafts of its requests; of a sample only their ratio: a partial sum means nothing."""
    drafted = [row for row in rows if row.verify_steps is not None and row.accepted_drafts is not None]
    if not drafted:
        return cell, ()
    steps = sum(row.verify_steps or 0 for row in drafted)
    accepted = sum(row.accepted_drafts or 0 for row in drafted)
    proposed = [row.proposed_drafts for row in drafted]
    if len(drafted) == cell.requests_completed:
        known = [value for value in proposed if value is not None]
        return (
            dataclasses.replace(
                cell,
                verify_steps=steps,
                accepted_drafts=accepted,
                proposed_drafts=sum(known) if len(known) == len(proposed) else None,
            ),
            (),
        )
    if not steps:
        return cell, ()
    finding = Finding(
        code="ACCEPTANCE_FROM_SAMPLE",
        severity="info",
        message=f"The report lists the drafts of {len(drafted)} of {cell.requests_completed} requests; accept length "
        f"is theirs{_identities.where(cell)}.",
        fix="Run guidellm without a sample size to keep every request.",
    )
    return dataclasses.replace(cell, reported_accept_length=Reported(value=1 + accepted / steps)), (finding,)
