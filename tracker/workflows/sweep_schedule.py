"""In which order servers are started and measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tracker.workflows.sweep_plan import Arm, SweepPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One server to be started and measured once."""

    arm: Arm
    """The server."""
    name: str
    """Name of the run; a baseline that is started several times is numbered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Servers that start together."""

    items: tuple[Item, ...]
    """In the order in which they are measured."""
    resident: Arm | None = None
    """Baseline that stays up beside them and is measured before and after each."""


def schedule(plan: SweepPlan, arms: Sequence[Arm], *, baselines: int = 0) -> Iterator[Batch]:
    """Yield batches over the servers that are left to do; nothing when none is.

    A baseline that is not resident is started anew before every `every` candidates and once more at the end: A B A B A.
    `baselines` is how many of them earlier calls have measured; names go on from there.
    """
    candidates = [arm for arm in arms if not arm.is_baseline]
    table, baseline = plan.table, plan.baseline
    if not candidates:
        return
    items = [Item(arm=arm, name=arm.name) for arm in candidates]
    if baseline is not None and table.baseline is not None and not table.baseline.resident:
        items = _interleaved(items, baseline, table.baseline.every, baselines)
    resident = baseline if table.baseline is not None and table.baseline.resident else None
    for group in _batches(items, max(1, table.batch)):
        yield Batch(items=tuple(group), resident=resident)


def as_chosen(plan: SweepPlan, choose: Callable[[], Sequence[Arm]], *, baselines: int = 0) -> Iterator[Batch]:
    """Yield batches of the servers that `choose` puts first each time it is asked, until it returns none.

    A baseline that is not resident is started before the first ones, after every `every` candidates, and at the end.
    """
    table, baseline = plan.table, plan.baseline
    interleaved = table.baseline is not None and not table.baseline.resident
    resident = baseline if table.baseline is not None and table.baseline.resident else None
    since: int | None = None
    while chosen := list(choose())[: max(1, table.batch)]:
        items: list[Item] = []
        for arm in chosen:
            if interleaved and baseline is not None and table.baseline is not None:
                if since is None or since >= table.baseline.every:
                    baselines += 1
                    items.append(Item(arm=baseline, name=f"{baseline.name}-{baselines}"))
                    since = 0
                since += 1
            items.append(Item(arm=arm, name=arm.name))
        for group in _batches(items, max(1, table.batch)):
            yield Batch(items=tuple(group), resident=resident)
    last = closing(plan, baselines=baselines)
    if since and last is not None:
        yield last


def closing(plan: SweepPlan, *, baselines: int) -> Batch | None:
    """Return the last start of a baseline that is not resident; None without one."""
    table, baseline = plan.table.baseline, plan.baseline
    if table is None or baseline is None or table.resident:
        return None
    return Batch(items=(Item(arm=baseline, name=f"{baseline.name}-{baselines + 1}"),))


def different_first(arms: Sequence[Arm]) -> list[Arm]:
    """Return the servers in their order, each configuration once before any comes again.

    Servers of one batch are ranked before any of them is measured: the second of one configuration would rank lower.
    """
    # Reversed, so that the first of each stays.
    names = {arm.name for arm in {arm.configuration: arm for arm in reversed(arms)}.values()}
    return [*(arm for arm in arms if arm.name in names), *(arm for arm in arms if arm.name not in names)]


def _interleaved(items: list[Item], baseline: Arm, every: int, count: int) -> list[Item]:
    mixed: list[Item] = []
    for index in range(0, len(items), every):
        count += 1
        mixed.append(Item(arm=baseline, name=f"{baseline.name}-{count}"))
        mixed += items[index : index + every]
    return [*mixed, Item(arm=baseline, name=f"{baseline.name}-{count + 1}")]


def _batches(items: Sequence[Item], size: int) -> Iterator[list[Item]]:
    """Yield groups of at most `size`, never two of one server: their names would clash."""
    group: list[Item] = []
    for item in items:
        if len(group) == size or any(item.arm is other.arm for other in group):
            yield group
            group = []
        group.append(item)
    if group:
        yield group
