"""The few readings of an analysis that every section shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tracker.analysis.results import (
    CampaignAnalysis,
    ConfigurationCost,
    DecisionSet,
    LoadVerdict,
    OptionAssessment,
    Point,
)
from tracker.report.context import MemoContext
from tracker.report.naming import Names, name_runs, option_letters
from tracker.report.view_parts import StateKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An analysis with its main rows picked out."""

    analysis: CampaignAnalysis
    """The numbers."""
    decision: DecisionSet
    """The options."""
    context: MemoContext
    """Clock, links, memo before."""
    names: Names
    """Labels."""
    letters: Mapping[str, str]
    """Option key to letter."""
    state: StateKey
    """Which verdict block the memo shows."""
    load: int | None
    """Load the headline speaks of."""
    verdict: LoadVerdict | None
    """Verdict at that load."""
    baseline: Point | None
    """Baseline to beat at that load."""
    best: Point | None
    """Best contender at that load."""

    @property
    def at_load(self) -> tuple[Point, ...]:
        """Rows at the headline's load."""
        return tuple(point for point in self.analysis.points if point.concurrency == self.load)

    @property
    def contenders(self) -> tuple[Point, ...]:
        """Speculative rows at the headline's load that count, fastest first."""
        rows = [
            point
            for point in self.at_load
            if point.configuration.speculative and point.excluded_reason is None and not point.step_time_only
        ]
        return tuple(sorted(rows, key=lambda point: -(point.throughput_tok_s.value or 0.0)))

    @property
    def deployed(self) -> Point | None:
        """The row that runs in production now, at the headline's load where measured there."""
        rows = [point for point in self.analysis.points if point.deployed]
        return next((point for point in rows if point.concurrency == self.load), rows[0] if rows else None)

    @property
    def level(self) -> bool:
        """Whether the headline's load shows that the drafter brings no difference worth having."""
        found = self.verdict
        return self.state == "undecided" and found is not None and found.equivalence == "equivalent"

    @property
    def best_cost(self) -> ConfigurationCost | None:
        """Break-even of the best contender's configuration at the headline's load."""
        if self.best is None:
            return None
        return self.cost_of(self.best)

    @property
    def costs_at_load(self) -> tuple[ConfigurationCost, ...]:
        """Break-even of every configuration at the headline's load, lowest first."""
        rows = [cost for cost in self.analysis.costs if cost.concurrency == self.load]
        return tuple(sorted(rows, key=lambda cost: cost.break_even.value))

    @property
    def top_option(self) -> OptionAssessment | None:
        """The option ranked first."""
        return next((option for option in self.decision.options if option.rank == 1), None)

    @property
    def loads(self) -> tuple[int | None, ...]:
        """Loads with a verdict, ascending."""
        return tuple(verdict.concurrency for verdict in self.analysis.verdict.by_concurrency)

    def cost_of(self, point: Point) -> ConfigurationCost | None:
        """Return the pooled break-even of a point's configuration at its load."""
        return next(
            (
                cost
                for cost in self.analysis.costs
                if cost.configuration == point.configuration and cost.concurrency == point.concurrency
            ),
            None,
        )

    def point(self, run_id: str | None, concurrency: int | None) -> Point | None:
        """Return the row of a run at a load."""
        return next((p for p in self.analysis.points if p.run_id == run_id and p.concurrency == concurrency), None)


def read(analysis: CampaignAnalysis, decision: DecisionSet, context: MemoContext) -> Reading:
    """Return `analysis` with its headline load, baseline and best contender picked out."""
    verdict = _headline_verdict(analysis)
    load = None if verdict is None else verdict.concurrency
    rows = {(point.run_id, point.concurrency): point for point in analysis.points}
    baseline = None if verdict is None else rows.get((verdict.baseline_run_id or "", load))
    best = None if verdict is None else rows.get((verdict.best_run_id or "", load))
    return Reading(
        analysis=analysis,
        decision=decision,
        context=context,
        names=name_runs(analysis),
        letters=option_letters(decision.options),
        state=_state(analysis),
        load=load,
        verdict=verdict,
        baseline=baseline,
        best=best,
    )


def paired(reading: Reading, item: LoadVerdict) -> bool:
    """Whether a load's speed-up differs visibly from the ratio of its throughputs: it is taken on prompts in common."""
    best = reading.point(item.best_run_id, item.concurrency)
    base = reading.point(item.baseline_run_id, item.concurrency)
    fast = None if best is None else best.throughput_tok_s.value
    slow = None if base is None else base.throughput_tok_s.value
    if fast is None or not slow or item.speedup.value is None:
        return False
    return abs(item.speedup.value - fast / slow) > 0.005


def _headline_verdict(analysis: CampaignAnalysis) -> LoadVerdict | None:
    loads = analysis.verdict.by_concurrency
    wanted = analysis.verdict.decision_concurrency
    exact = next((verdict for verdict in loads if verdict.concurrency == wanted), None)
    return exact or (loads[0] if loads else None)


def _state(analysis: CampaignAnalysis) -> StateKey:
    if analysis.points and not any(point.is_news for point in analysis.points):
        return "nothing_new"
    return standing_state(analysis)


def standing_state(analysis: CampaignAnalysis) -> StateKey:
    """Return the state that the evidence gives, whether or not any of it is news."""
    loads = analysis.verdict.by_concurrency
    if any(verdict.best_run_id and verdict.baseline_run_id for verdict in loads):
        return analysis.verdict.status
    # A plain server at one load and a drafter at another are no pair: the baseline is missing where it matters.
    if any(verdict.best_run_id for verdict in loads) or not any(verdict.baseline_run_id for verdict in loads):
        return "no_baseline"
    return "no_drafter" if _set_acceptance(analysis) else "no_candidate"


def _set_acceptance(analysis: CampaignAnalysis) -> bool:
    """Whether step times of runs with simulated acceptance give a break-even, and no wrong flag is in the way."""
    cause = analysis.root_cause
    known = any(point.step_time_only and point.excluded_reason is None for point in analysis.points)
    return known and bool(analysis.costs) and (cause is None or cause.fixed)


def in_noise(point: Point) -> bool:
    """Whether a row's speed-up has an interval that holds 1.0: neither its lead nor its shortfall is shown."""
    low, high = point.speedup.low, point.speedup.high
    return low is not None and high is not None and low <= 1.0 <= high


def bar_words(reading: Reading) -> str:
    """Return what the best contender's break-even is called: pooled, where several runs of its flags agree on it."""
    cost = reading.best_cost
    return "pooled break-even" if cost is not None and len(cost.run_ids) > 2 else "break-even"
