"""How long a sweep will take, before it runs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tracker.workflows.sweep_check import Checked
from tracker.workflows.sweep_plan import SweepPlan
from tracker.workflows.sweep_schedule import schedule
from tracker.workflows.sweep_tables import SweepTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Expected time of a sweep and what the expectation rests on."""

    servers: int
    """Candidates that would be measured."""
    done_before: int
    """Candidates that an earlier call has finished."""
    batches: int
    """Groups that start together."""
    baseline_measurements: int
    """Times that the baseline is measured."""
    start_s: float
    """Seconds of starting."""
    measure_s: float
    """Seconds of measuring."""
    gpus: int | None
    """GPUs in use; None when campaign.toml does not say."""
    assumes: str
    """What the expectation rests on."""

    @property
    def total_s(self) -> float:
        """Return all seconds."""
        return self.start_s + self.measure_s

    @property
    def gpu_hours(self) -> float | None:
        """Return GPU-hours; None when the number of GPUs is not known."""
        return None if self.gpus is None else self.gpus * self.total_s / 3600


def estimate(plan: SweepPlan, checks: tuple[Checked, ...], *, done: Collection[str] = ()) -> Estimate:
    """Return the expected time for the servers that the checks let through.

    Args:
        plan: The sweep.
        checks: Its servers.
        done: Digests of the servers that an earlier call has finished.
    """
    table = plan.table
    all_arms = [item.arm for item in checks if not item.refused_by and not item.arm.is_baseline]
    arms = [arm for arm in all_arms if arm.digest(plan.bench) not in done]
    batches = tuple(schedule(plan, arms))
    resident = sum(len(batch.items) + 1 for batch in batches if batch.resident is not None)
    interleaved = sum(item.arm.is_baseline for batch in batches for item in batch.items)
    measurements = len(arms) + resident + interleaved
    return Estimate(
        servers=len(arms),
        done_before=len(all_arms) - len(arms),
        batches=len(batches),
        baseline_measurements=resident + interleaved,
        start_s=len(batches) * table.start_estimate_s,
        measure_s=measurements * measure_estimate_s(plan),
        gpus=gpus_of(plan),
        assumes=_assumes(table),
    )


def _assumes(table: SweepTable) -> str:
    start = f"{table.start_estimate_s:.0f} s to start a batch"
    if table.command is not None:
        return (
            f"{start}, {table.command_estimate_s:.0f} s for your command ([sweep] start_estimate_s, command_estimate_s)"
        )
    return (
        f"{start}, {table.stream_tok_s_estimate:g} tok/s for one stream and half of that for each of several "
        "([sweep] start_estimate_s, stream_tok_s_estimate)"
    )


def measure_estimate_s(plan: SweepPlan) -> float:
    """Return the expected seconds of measuring one server once."""
    bench = plan.bench
    if plan.table.command is not None:
        return plan.table.command_estimate_s
    # Streams share the device, so a stream slows down as their number grows; half the speed is a middling guess.
    once_s = sum(
        load.requests
        * bench.sampling.max_output_tokens
        / (plan.table.stream_tok_s_estimate * _speed_up(load.concurrency))
        for load in bench.loads
    )
    return bench.repeats * once_s


def gpus_of(plan: SweepPlan) -> int | None:
    """Return the GPUs in use; None when campaign.toml does not say."""
    hardware, costs = plan.campaign.hardware, plan.campaign.campaign.costs
    return hardware.gpu_count if hardware is not None and hardware.gpu_count is not None else costs.gpus


def hours_of_one(plan: SweepPlan, *, start_s: float | None = None, measure_s: float | None = None) -> float:
    """Return the GPU-hours of one more server and of the baseline beside it; one GPU where the number is not known.

    Args:
        plan: The sweep.
        start_s: Seconds that starting a batch took; the plan's estimate when None.
        measure_s: Seconds that measuring one server took; the plan's estimate when None.
    """
    start = plan.table.start_estimate_s if start_s is None else start_s
    measure = measure_estimate_s(plan) if measure_s is None else measure_s
    passes = 2 if plan.baseline is not None else 1
    return (gpus_of(plan) or 1) * max(1.0, start / max(1, plan.table.batch) + passes * measure) / 3600


def _speed_up(concurrency: int | None) -> float:
    streams = 1 if concurrency is None else concurrency
    return 1.0 if streams == 1 else streams / 2
