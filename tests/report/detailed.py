"""Examples in which every field of the analysis is filled, a campaign without a drafter, and speeds that are level."""

from __future__ import annotations

import dataclasses
import math
from datetime import UTC, datetime

from tests.report.founding import BASE, G5, SCOPE, context, founding
from tests.report.founding_options import founding_decision
from tests.report.h200 import h200, h200_decision
from tracker.analysis.results import (
    CampaignAnalysis,
    ConfigurationCost,
    CostPart,
    DecisionSet,
    HoldOut,
    HorizonFlip,
    LoadNoise,
    LoadVerdict,
    NextExperiment,
    OptionAssessment,
    Point,
    PrefillCorrection,
    SamplesNeeded,
    SpreadPart,
    StepChange,
    StepTimeFit,
    TargetSamples,
    Verdict,
)
from tracker.domain.estimate import Estimate
from tracker.domain.training import TrainingCost
from tracker.report import MemoContext, MemoView, build

NOISE = SpreadPart(name="noise between runs", sd=0.08, df=3.0)
PROMPTS = SpreadPart(name="prompts", sd=0.022, df=math.inf)
DRIFT = SpreadPart(name="baseline drift", sd=0.015, df=math.inf)
LATER = MemoContext(generated_at=datetime(2026, 12, 1, 8, tzinfo=UTC), memo_number=1)


def _noted(verdict: LoadVerdict) -> LoadVerdict:
    return dataclasses.replace(
        verdict,
        smallest_detectable=0.22,
        smallest_detectable_note="A true difference of 22 % would leave the interval clear of 1 in four of five cases.",
        equivalence="undecided",
        equivalence_margin=0.02,
        equivalence_note="Neither a difference nor equivalence within 2.0 % is shown.",
        parts=(NOISE, PROMPTS),
    )


def _costed(cost: ConfigurationCost) -> ConfigurationCost:
    bar = cost.break_even.value
    goals = {"1.1": 1.1 * bar, "1.3": 1.3 * bar, "1.5": 1.5 * bar}
    most = (cost.configuration.num_steps or 0) + 1
    return dataclasses.replace(
        cost,
        break_even=dataclasses.replace(cost.break_even, parts=(NOISE, DRIFT)),
        required=goals,
        required_reachable={key: value <= most for key, value in goals.items()},
        prefill=PrefillCorrection(
            break_even=bar * 0.97,
            baseline_prefill_fraction=0.12,
            required={"1.1": 1.13 * bar, "1.3": 1.42 * bar, "1.5": None},
        ),
        attribution_run_id="base-ng",
        attribution_ratio=bar / 3.8,
    )


def detailed_analysis() -> CampaignAnalysis:
    """The H200 campaign with every field of its results filled."""
    source = h200()
    loads = tuple(_noted(item) for item in source.verdict.by_concurrency)
    shares = (0.4, *(0.6 / (len(source.acceptance.per_category) - 1) for _ in source.acceptance.per_category[1:]))
    categories = tuple(
        dataclasses.replace(item, token_share=share)
        for item, share in zip(source.acceptance.per_category, shares, strict=True)
    )
    paid = TrainingCost(generation_gpu_hours=0.4, extraction_gpu_hours=0.02, training_gpu_hours=0.0004)
    sizes = tuple(
        dataclasses.replace(item, repeated_fraction=0.25, cost=paid, epochs=5.0) for item in source.scaling.points
    )
    beside = dataclasses.replace(
        sizes[0], samples=2_000, run_id="d1000", accept_length=Estimate(value=1.84, low=1.8, high=1.88)
    )
    scaling = dataclasses.replace(
        source.scaling,
        points=sizes,
        hold_out=HoldOut(samples=100_000, measured=3.03, low=3.35, median=3.56, high=3.69, pit=0.0015),
        unserved=(30_000,),
        beside=(beside,),
        budget_note="2,000 samples at 10 instead of 5 epochs: 1.84 against 1.47",
    )
    return dataclasses.replace(
        source,
        verdict=dataclasses.replace(source.verdict, by_concurrency=loads),
        costs=tuple(_costed(cost) for cost in source.costs),
        acceptance=dataclasses.replace(source.acceptance, per_category=categories, mix_accept_length=3.02),
        scaling=scaling,
        noise=tuple(
            LoadNoise(concurrency=load, sd=0.08 * factor, df=df, source=origin)
            for load, factor, df, origin in (
                (1, 1, 3.0, "measured"),
                (8, 2, 1.0, "other loads"),
                (32, 1, math.inf, "default"),
            )
        ),
        engine="sglang",
        changes=(
            StepChange(
                series="EAGLE3 3-1-4 with drafter eagle3-100000 at 1 stream",
                quantity="throughput",
                concurrency=1,
                before=696.0,
                after=355.0,
                run_ids_before=("d100000",),
                run_ids_after=("d10000",),
                annotation=None,
                alarm=True,
                message="Throughput fell by half while the accept length stayed; the driver changed between the two",
            ),
        ),
    )


def memo_detailed() -> MemoView:
    """Depends on load, with everything the analysis can say."""
    experiments = (
        NextExperiment(
            title="Test a chain of 4", why="It may win.", cost_gpu_hours=0.1, net_value_gpu_hours=9, p_success=0.993
        ),
        NextExperiment(title="Train 30,000 first", why="It gives a slope.", cost_gpu_hours=76, net_value_gpu_hours=-33),
        NextExperiment(title="Repeat 8 streams", why="It decides.", cost_gpu_hours=0.5),
    )
    decision = dataclasses.replace(h200_decision(), experiments=experiments)
    return build(detailed_analysis(), decision, LATER)


def _priced(option: OptionAssessment) -> OptionAssessment:
    if not option.cost_gpu_hours:
        return option
    split = (
        CostPart(
            phase="data generation", gpu_hours=1.5 * option.cost_gpu_hours, source="830 tok/s as measured, 8 GPUs"
        ),
        CostPart(phase="training", gpu_hours=None),
    )
    return dataclasses.replace(
        option, cost_split=split, p_net_positive=0.9, regret_gpu_hours=181.0, cost_money=2.5 * option.cost_gpu_hours
    )


def _needed(low: float, high: float | None, never: float) -> SamplesNeeded:
    return SamplesNeeded(low=low, median=None if high is None else (low * high) ** 0.5, high=high, p_never=never)


def memo_targets() -> MemoView:
    """The founding campaign with samples for its targets, costs by phase, and lengths of use that turn the ranking."""
    source = founding()
    targets = (
        TargetSamples(
            speedup=1.0, accept_length=2.3, reachable=None, needed=_needed(15_000, None, 0.11), note="Break-even"
        ),
        TargetSamples(
            speedup=1.1,
            accept_length=2.53,
            reachable=None,
            needed=_needed(25_000, 8e6, 0.02),
            note="1.1 times the baseline takes 2.53 tokens a step: 25,000 to 8,000,000 samples (80 %)",
        ),
        TargetSamples(speedup=1.5, accept_length=3.44, reachable=False, needed=None, note="1.5 times is out of reach"),
    )
    (load,) = source.verdict.by_concurrency
    load = dataclasses.replace(_noted(load), parts=(PROMPTS, DRIFT, SpreadPart(name="rounding", sd=0.006, df=math.inf)))
    analysis = dataclasses.replace(
        source,
        verdict=dataclasses.replace(source.verdict, by_concurrency=(load,)),
        scaling=dataclasses.replace(source.scaling, targets=targets),
    )
    decision: DecisionSet = founding_decision()
    options = tuple(_priced(option) for option in decision.options)
    first, second = options[0].key, options[1].key
    flips = (
        HorizonFlip(days=0.02, from_key="keep_baseline", to_key=second, message=""),
        HorizonFlip(days=54, from_key=second, to_key=first, message=""),
    )
    return build(analysis, dataclasses.replace(decision, options=options, flips=flips), context())


def _forced(point: Point) -> Point:
    reason = "acceptance was simulated"
    return dataclasses.replace(
        point,
        step_time_only=True,
        accept_length=Estimate(reason=reason),
        accept_rate=None,
        speedup=Estimate(reason=reason),
        needs_fraction=None,
        samples=None,
        drafter=None,
    )


def memo_simulated() -> MemoView:
    """Step times with simulated acceptance at three loads, and no drafter served."""
    source = h200()
    servers = ("base", "d100000", "two", "tree")
    kept = [point for point in source.points if not point.configuration.speculative or point.run_id in servers]
    rows = tuple(_forced(point) if point.configuration.speculative else point for point in kept)
    ids = {point.run_id for point in rows}
    costs = tuple(
        dataclasses.replace(
            _costed(cost),
            run_ids=tuple(run for run in cost.run_ids if run in ids),
            best_accept_length=Estimate(),
            prefill=None,
            attribution_run_id=None,
        )
        for cost in source.costs
    )
    loads = tuple(
        dataclasses.replace(
            item,
            status="undecided",
            best_run_id=None,
            speedup=Estimate(reason="nothing to compare"),
            smallest_detectable=None,
            reason="No usable candidate: all ran with simulated acceptance",
        )
        for item in source.verdict.by_concurrency
    )
    nothing = dataclasses.replace(
        source.acceptance,
        run_id=None,
        configuration=None,
        vocabulary=None,
        per_position=(),
        per_category=(),
        reason=None,
    )
    analysis = dataclasses.replace(
        source,
        points=rows,
        costs=costs,
        verdict=dataclasses.replace(source.verdict, status="undecided", by_concurrency=loads),
        root_cause=None,
        findings=(),
        acceptance=nothing,
        scaling=dataclasses.replace(source.scaling, points=(), reason="No usable run names a number of samples."),
        step_time=StepTimeFit(status="refused", rank=0, concurrency=1),
        data_quality=(),
        rejected=(),
    )
    return build(analysis, DecisionSet(options=(), next_experiment=None), LATER)


def memo_level() -> MemoView:
    """Both one-sided tests place the difference inside two per cent."""
    source = founding()
    rows = list(source.points)
    rows[1] = dataclasses.replace(
        rows[1],
        throughput_tok_s=Estimate(value=90.4, low=89.9, high=90.9),
        speedup=Estimate(value=90.4 / 90.0, low=0.998, high=1.011),
        needs_fraction=-0.004,
    )
    load = dataclasses.replace(
        _noted(source.verdict.by_concurrency[0]),
        status="undecided",
        best_run_id=G5,
        baseline_run_id=BASE,
        speedup=rows[1].speedup,
        smallest_detectable=0.012,
        equivalence="equivalent",
        equivalence_note="Equivalent: both one-sided 95 % tests place the difference within 2.0 %.",
        reason="Equivalent within 2.0 %. Interval from prompts (0.5 %).",
    )
    verdict = Verdict(status="undecided", scope=SCOPE, decision_concurrency=1, by_concurrency=(load,))
    analysis = dataclasses.replace(source, points=tuple(rows), verdict=verdict, root_cause=None, findings=(), claims=())
    return build(analysis, founding_decision(), context())
