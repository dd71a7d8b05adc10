"""One run at one load, read once: what every later step of the analysis works on."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracker.analysis import readings
from tracker.analysis.readings import Reading
from tracker.analysis.results import Configuration
from tracker.analysis.words import streams
from tracker.domain.finding import Confidence, Finding, Severity
from tracker.domain.measurement import Measurement, RequestRow
from tracker.domain.record import RunRecord, StoredRun

# With more requests failed than this the rest is another workload: fewer streams, the harder prompts gone.
MOST_FAILED = 0.05
_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
_CONFIDENCES: tuple[Confidence, ...] = ("certain", "high", "medium", "low")


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One run at one concurrency."""

    run: StoredRun
    """The run."""
    cell: Measurement
    """Its pooled cell."""
    configuration: Configuration
    """Flags without the drafter."""
    rows: tuple[RequestRow, ...]
    """Answered requests at this load."""
    throughput: Reading | None
    """Output tok/s of the deployment."""
    length: Reading | None
    """Accept length; None for a plain server and for simulated acceptance."""
    step_ms: Reading | None
    """Milliseconds per verify step."""
    prompts: int | None
    """Distinct prompts."""
    prompt_log_se: float | None
    """Relative standard error of accept length over prompts; None without rows."""
    token_log_se: float | None
    """Relative standard error of accept length over verify steps; None without a histogram."""
    repeat_log_sd: tuple[float, int] | None
    """Relative SD of throughput over repeats and their number."""
    excluded_reason: str | None
    """Why it leaves every fit and the verdict."""
    step_time_only: bool
    """Simulated acceptance."""
    prefill_s: float | None = None
    """Mean seconds to the first token of a request; None where it was not measured."""
    tokens_per_request: float | None = None
    """Mean generated tokens of a request."""

    @property
    def run_id(self) -> str:
        """Store id."""
        return self.run.run_id

    @property
    def record(self) -> RunRecord:
        """The run's record."""
        return self.run.record

    @property
    def concurrency(self) -> int | None:
        """Streams."""
        return self.cell.concurrency

    @property
    def speculative(self) -> bool:
        """Whether the server speculated."""
        return self.configuration.speculative

    @property
    def times_steps(self) -> bool:
        """Whether its step time may be used."""
        return self.step_ms is not None and self.excluded_reason is None

    @property
    def contends(self) -> bool:
        """Whether it may be the best candidate or the baseline."""
        return self.throughput is not None and self.excluded_reason is None and not self.step_time_only


def observe(runs: Sequence[StoredRun], configurations: Mapping[str, Configuration]) -> tuple[Observation, ...]:
    """Return one observation per run and pooled cell, in the order of `runs`."""
    superseded = {run.record.supersedes: run.record.name for run in runs if run.record.supersedes is not None}
    found: list[Observation] = []
    for run in runs:
        rows: dict[int | None, list[RequestRow]] = defaultdict(list)
        for row in run.requests:
            if row.error is None:
                rows[row.concurrency].append(row)
        reason = _excluded(run.record, superseded)
        for cell in run.record.pooled():
            left_out = reason or failures(cell)
            found.append(_observe(run, cell, tuple(rows[cell.concurrency]), configurations[run.run_id], left_out))
    return tuple(found)


def _observe(
    run: StoredRun, cell: Measurement, rows: tuple[RequestRow, ...], configuration: Configuration, reason: str | None
) -> Observation:
    speculation = run.record.speculation
    simulated = _simulated(run.record)
    length = readings.accept_length(cell, speculation) if configuration.speculative else None
    prompts = readings.by_prompt(rows)
    pairs = [_length_sums(group) for group in prompts.values()]
    return Observation(
        run=run,
        cell=cell,
        configuration=configuration,
        rows=rows,
        throughput=readings.throughput(cell),
        length=None if simulated else length,
        step_ms=readings.step_time_ms(cell, length, speculative=configuration.speculative),
        prompts=_prompt_count(run.record, cell, len(prompts)),
        prompt_log_se=readings.ratio_log_se(pairs) if configuration.speculative else None,
        token_log_se=readings.length_log_se(cell),
        repeat_log_sd=readings.repeat_log_sd(
            [
                part
                for part in run.record.measurements
                if part.repeat is not None and part.category is None and part.concurrency == cell.concurrency
            ]
        ),
        excluded_reason=reason,
        step_time_only=simulated,
        prefill_s=readings.prefill_s(cell, rows),
        tokens_per_request=readings.tokens_per_request(cell, rows),
    )


def _length_sums(rows: Sequence[RequestRow]) -> tuple[float, float]:
    counts = [
        (row.verify_steps, row.accepted_drafts)
        for row in rows
        if row.verify_steps is not None and row.accepted_drafts is not None
    ]
    steps = math.fsum(verified for verified, _ in counts)
    return steps + math.fsum(accepted for _, accepted in counts), steps


def _prompt_count(record: RunRecord, cell: Measurement, keyed: int) -> int | None:
    if cell.prompts is not None:
        return cell.prompts
    if keyed:
        return keyed
    return None if record.workload is None else record.workload.prompts


def _excluded(record: RunRecord, superseded: Mapping[str, str]) -> str | None:
    if record.record_id in superseded:
        return f"superseded by {superseded[record.record_id]}"
    if record.validity in ("suspect", "invalid"):
        return f"marked {record.validity}" + ("" if record.validity_reason is None else f": {record.validity_reason}")
    # Acceptance that was set serves step time only, so what voids acceptance takes nothing more away.
    findings = [item for item in record.findings if not _simulated(record) or "speed" in item.voids]
    finding = voiding_finding(record.replace(findings=tuple(findings)))
    if finding is None:
        return None
    cause = finding.message if finding.flag_before is None else f"ran with {finding.flag_before}"
    return f"{finding.code}: {cause}"


def failures(cell: Measurement) -> str | None:
    """Return why a load counts for nothing: the answers that came say little of a server that leaves others out."""
    failed = cell.requests_failed or 0
    sent = failed + (cell.requests_completed or 0)
    if cell.requests_completed is None or failed <= MOST_FAILED * sent:
        return None
    return f"{failed:,} of {sent:,} requests failed at {streams(cell.concurrency)}"


def _simulated(record: RunRecord) -> bool:
    return record.speculation is not None and record.speculation.simulated_accept_length is not None


def voiding_finding(record: RunRecord) -> Finding | None:
    """Return the finding that best explains why a run's numbers are void: a named flag before a symptom."""
    return min((finding for finding in record.findings if finding.voids), key=urgency, default=None)


def urgency(finding: Finding) -> tuple[int, bool, int, str]:
    """Return the order of findings: severity, causes that name a flag, confidence."""
    return (
        _SEVERITIES.index(finding.severity),
        finding.flag_after is None,
        _CONFIDENCES.index(finding.confidence),
        finding.code,
    )
