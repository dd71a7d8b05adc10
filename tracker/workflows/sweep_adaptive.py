"""Which server of a sweep to measure next: expected improvement, under the analysis that the memo uses."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracker import engines
from tracker.analysis.next_configuration import NextConfiguration, Unmeasured, next_configurations
from tracker.domain.estimate import Estimate
from tracker.domain.record import RunRecord, StoredRun
from tracker.domain.server import Speculation
from tracker.workflows.sweep_argv import launcher_tags
from tracker.workflows.sweep_check import Checked
from tracker.workflows.sweep_estimate import hours_of_one
from tracker.workflows.sweep_history import kept_records
from tracker.workflows.sweep_models import drafter_of, training_of
from tracker.workflows.sweep_plan import SweepPlan
from tracker.workflows.sweep_state import load_state


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Servers still to be measured, the most worthwhile first."""

    order: tuple[NextConfiguration, ...]
    """Each with its reason."""


def rank(
    plan: SweepPlan,
    waiting: Sequence[Checked],
    records: Iterable[RunRecord],
    *,
    start_s: float | None = None,
    measure_s: float | None = None,
) -> Ranking:
    """Return the order in which measuring pays, given what this sweep has measured.

    Args:
        plan: The sweep.
        waiting: Servers to choose from, checked.
        records: What is measured.
        start_s: Seconds that a start took; the plan's estimate when None.
        measure_s: Seconds that measuring one server took; the plan's estimate when None.
    """
    hours = hours_of_one(plan, start_s=start_s, measure_s=measure_s)
    order = next_configurations(
        [StoredRun(run_id=record.record_id, record=record) for record in records],
        [_unmeasured(item, plan, hours) for item in waiting],
        campaign=plan.campaign.campaign,
    )
    mistaken = {item.arm.name: item.allowed for item in waiting if item.allowed}
    sound = [item for item in order if item.name not in mistaken]
    return Ranking(order=(*sound, *(_last(item, mistaken[item.name]) for item in order if item.name in mistaken)))


def _last(item: NextConfiguration, codes: Sequence[str]) -> NextConfiguration:
    """Return a server that the checks would refuse, which no prediction knows anything about."""
    return dataclasses.replace(
        item,
        expected_tok_s=Estimate(reason="a check would refuse it"),
        p_improves=None,
        improvement_tok_s=None,
        improvement_per_gpu_hour=None,
        reason=f"It fails {', '.join(codes)} and is started on purpose: what works comes first.",
    )


def rank_left(
    plan: SweepPlan, checks: Iterable[Checked], out: Path, *, only: Sequence[str] = (), retry_failed: bool = False
) -> Ranking:
    """Return the order in which the servers that earlier calls left would be measured now; for the plan.

    Raises:
        InputError: The state or a record of the sweep cannot be read.
    """
    state = load_state(out, retry_failed=retry_failed)
    waiting = [
        item
        for item in checks
        if not item.arm.is_baseline
        and not item.refused_by
        and (not only or item.arm.name in only)
        and item.arm.digest(plan.bench) not in state.done
    ]
    return rank(plan, waiting, kept_records(out), start_s=state.start_s, measure_s=state.slowest_s())


def _unmeasured(item: Checked, plan: SweepPlan, hours: float) -> Unmeasured:
    speculation = None if item.config is None else engines.speculation(item.config)
    return Unmeasured(
        name=item.arm.name,
        gpu_hours=hours,
        speculation=speculation or Speculation(enabled=item.arm.drafter is not None),
        server=item.config,
        cuda_graph=None if item.config is None else engines.cuda_graph(item.config),
        drafter=drafter_of(item.arm, plan),
        training=training_of(item.arm, plan),
        tags=launcher_tags(plan.table),
    )
