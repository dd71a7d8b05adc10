"""One example a state of the memo, made by hand; each has golden files."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from tests.report.as_read import payload
from tests.report.detailed import memo_detailed, memo_level, memo_simulated, memo_targets
from tests.report.founding import BASE, BASELINE, CONTENDERS, G5, SCOPE, context, founding
from tests.report.founding_options import founding_decision
from tests.report.h200 import h200, h200_decision
from tracker.analysis.results import (
    CheckedClaim,
    DecisionSet,
    LoadVerdict,
    ScalingFit,
    StepChange,
    StepTimeFit,
    Verdict,
    Window,
)
from tracker.domain.estimate import Estimate
from tracker.report import EarlierMemo, MemoContext, MemoView, build

NO_OPTIONS = DecisionSet(options=(), next_experiment=None)
NO_FIT = {
    "step_time": StepTimeFit(status="refused", rank=0, concurrency=1),
    "scaling": ScalingFit(status="refused", reason=None),
    "claims": (),
    "root_cause": None,
    "findings": (),
}


def memo_founding() -> MemoView:
    """Slower, root cause fixed, one training size."""
    return build(founding(), founding_decision(), context())


def memo_h200() -> MemoView:
    """Depends on load, root cause, refused fits, categories, vocabulary a lever."""
    return build(h200(), h200_decision(), MemoContext(generated_at=datetime(2026, 12, 1, 8, tzinfo=UTC), memo_number=1))


def memo_faster() -> MemoView:
    """Faster at the only load; the baseline is deployed."""
    source = h200()
    rows = tuple(point for point in source.points if point.concurrency == 1)
    load = source.verdict.by_concurrency[0]
    verdict = Verdict(
        status="faster", scope="19 prompts, 1 stream, 1 x H200", decision_concurrency=1, by_concurrency=(load,)
    )
    analysis = dataclasses.replace(source, points=rows, verdict=verdict, root_cause=None, findings=())
    return build(analysis, h200_decision(next_experiment=None), context(run_urls={}, memo_number=2))


def memo_undecided() -> MemoView:
    """Eight per cent ahead, inside the noise."""
    source = h200()
    rows = tuple(point for point in source.points if point.concurrency == 8)
    load = dataclasses.replace(
        source.verdict.by_concurrency[1],
        reason="two baseline passes lie 12 % apart, more than the lead of 10 %",
    )
    verdict = Verdict(
        status="undecided",
        scope="80 prompts, 8 streams, 1 x H200",
        decision_concurrency=8,
        by_concurrency=(load,),
        population_note="For other prompts the interval is wider still.",
    )
    analysis = dataclasses.replace(source, points=rows, verdict=verdict, root_cause=None, findings=())
    return build(analysis, h200_decision(), context(run_urls={}))


def memo_refused_fit() -> MemoView:
    """Slower, and the training sizes were not trained alike."""
    fit = h200().scaling
    points = tuple(dataclasses.replace(point, run_id=G5) for point in fit.points)
    return build(founding(scaling=dataclasses.replace(fit, points=points), claims=()), founding_decision(), context())


def memo_no_baseline() -> MemoView:
    """Six drafter runs and nothing to compare them with."""
    rows = tuple(
        dataclasses.replace(
            point, speedup=Estimate(), break_even=None, needs_fraction=None, reachable=None, reachable_note=None
        )
        for point in CONTENDERS
    )
    verdict = Verdict(
        status="undecided",
        scope=SCOPE,
        decision_concurrency=1,
        by_concurrency=(
            LoadVerdict(
                concurrency=1,
                status="undecided",
                best_run_id=G5,
                baseline_run_id=None,
                speedup=Estimate(reason="no baseline"),
                smallest_detectable=None,
                reason="no plain run in the comparison group",
            ),
        ),
    )
    analysis = founding(points=rows, costs=(), verdict=verdict, **NO_FIT)
    return build(analysis, NO_OPTIONS, context())


def memo_one_run() -> MemoView:
    """One baseline run and nothing else."""
    verdict = Verdict(
        status="undecided",
        scope=SCOPE,
        decision_concurrency=1,
        by_concurrency=(
            LoadVerdict(
                concurrency=1,
                status="undecided",
                best_run_id=None,
                baseline_run_id=BASE,
                speedup=Estimate(reason="no contender"),
                smallest_detectable=None,
            ),
        ),
    )
    plain = dataclasses.replace(founding().acceptance, run_id=None, configuration=None, vocabulary=None, reason=None)
    analysis = founding(
        points=(BASELINE,), costs=(), verdict=verdict, acceptance=plain, assumptions=(), data_quality=(), **NO_FIT
    )
    return build(analysis, NO_OPTIONS, context())


def memo_nothing_new() -> MemoView:
    """Every run is older than the window."""
    source = founding()
    rows = tuple(dataclasses.replace(point, is_news=False) for point in source.points)
    window = Window(since=datetime(2026, 11, 30, tzinfo=UTC), until=datetime(2026, 12, 7, tzinfo=UTC))
    later = context(previous=payload(memo_founding()), memo_number=2, generated_at=datetime(2026, 12, 7, 8, tzinfo=UTC))
    return build(dataclasses.replace(source, points=rows, window=window), founding_decision(), later)


def memo_unfixed_cause() -> MemoView:
    """The wrong flag is all there is: the drafter never ran as it should."""
    source = founding()
    cause = dataclasses.replace(
        source.root_cause, fixed=False, fixed_run_id=None, accept_length_after=Estimate(reason="not measured")
    )
    load = dataclasses.replace(
        source.verdict.by_concurrency[0],
        status="undecided",
        best_run_id=None,
        speedup=Estimate(reason="no usable run with the drafter"),
    )
    verdict = dataclasses.replace(source.verdict, status="undecided", by_concurrency=(load,))
    rows = (source.points[0], source.points[-1])
    kept = {key: value for key, value in NO_FIT.items() if key not in ("root_cause", "findings")}
    profile = dataclasses.replace(source.acceptance, run_id=None, configuration=None, vocabulary=None, reason=None)
    analysis = founding(points=rows, costs=(), verdict=verdict, root_cause=cause, acceptance=profile, **kept)
    return build(analysis, NO_OPTIONS, context())


def memo_second() -> MemoView:
    """A week later: nearer, still short."""
    source = founding()
    best = source.points[1]
    speed = 87.9
    ratio = speed / 90.0
    better = dataclasses.replace(
        best,
        throughput_tok_s=Estimate(value=speed, low=86.9, high=88.9),
        speedup=Estimate(value=ratio, low=0.94, high=0.997),
        break_even=dataclasses.replace(
            best.break_even, value=2.15, low=2.1, high=2.2, rounding_low=2.12, rounding_high=2.18
        ),
        needs_fraction=2.15 / 2.1 - 1,
        step_time_ms=Estimate(value=23.9, low=23.6, high=24.2),
        step_time_rounding_ms=None,
    )
    load = dataclasses.replace(source.verdict.by_concurrency[0], speedup=better.speedup)
    old = tuple(dataclasses.replace(point, is_news=False) for point in source.points)
    analysis = dataclasses.replace(
        source,
        points=(old[0], better, *old[2:]),
        verdict=dataclasses.replace(source.verdict, by_concurrency=(load,)),
        window=Window(since=datetime(2026, 11, 30, tzinfo=UTC), until=datetime(2026, 12, 7, tzinfo=UTC)),
        claims=(CheckedClaim(message="The forecast for this run, 80 to 96 tok/s, came true.", run_ids=(G5,)),),
    )
    later = context(previous=payload(memo_founding()), memo_number=2, generated_at=datetime(2026, 12, 7, 8, tzinfo=UTC))
    return build(analysis, founding_decision(), later)


def _with_intervals(decision: DecisionSet) -> DecisionSet:
    """Expected speeds with an interval of 15 % to both sides, as the options of a real campaign have."""
    options = tuple(
        dataclasses.replace(
            option,
            concurrency=1,
            expected_tok_s=Estimate(value=value, low=value * 0.85, high=value * 1.15),
        )
        if (value := option.expected_tok_s.value) is not None
        else option
        for option in decision.options
    )
    return dataclasses.replace(decision, options=options)


def memo_third() -> MemoView:
    """Two weeks later: the option decided on was measured, forecasts are checked, one series jumped."""
    source = founding()
    first, second = build(source, _with_intervals(founding_decision()), context()), memo_second()
    day = datetime(2026, 11, 24, 9, tzinfo=UTC)
    dated = tuple(
        dataclasses.replace(point, is_news=False, measured_at=day + timedelta(hours=5 * index))
        for index, point in enumerate(second.source.analysis.points)
    )
    trained = dataclasses.replace(
        dated[1],
        run_id="a1c3f7",
        name="eagle3 100K, 5 draft",
        drafter="own-100k",
        samples=100_000,
        throughput_tok_s=Estimate(value=99.4, low=97.8, high=101.0),
        accept_length=Estimate(value=2.47, low=2.41, high=2.53),
        accept_length_rounding=None,
        speedup=Estimate(value=99.4 / 90.0, low=1.06, high=1.15),
        needs_fraction=2.15 / 2.47 - 1,
        measured_at=datetime(2026, 12, 10, 14, tzinfo=UTC),
        is_news=True,
    )
    slump = dataclasses.replace(
        dated[0],
        run_id="c0ffee",
        name="baseline, new driver",
        throughput_tok_s=Estimate(value=84.1, low=83.0, high=85.2),
        speedup=Estimate(value=84.1 / 90.0, low=0.92, high=0.95),
        measured_at=datetime(2026, 12, 12, 9, tzinfo=UTC),
        is_news=True,
    )
    jump = StepChange(
        series="the baseline at 1 stream",
        quantity="throughput",
        concurrency=1,
        before=90.0,
        after=84.1,
        run_ids_before=(BASE,),
        run_ids_after=("c0ffee",),
        annotation=None,
        alarm=True,
        message="The baseline at 1 stream fell from 90.0 to 84.1 tok/s; between the two runs the driver changed",
    )
    load = dataclasses.replace(
        source.verdict.by_concurrency[0], status="faster", best_run_id="a1c3f7", speedup=trained.speedup
    )
    analysis = dataclasses.replace(
        source,
        points=(dated[0], slump, trained, *dated[1:]),
        verdict=dataclasses.replace(source.verdict, status="faster", by_concurrency=(load,)),
        window=Window(since=datetime(2026, 12, 7, tzinfo=UTC), until=datetime(2026, 12, 14, tzinfo=UTC)),
        claims=(),
        changes=(jump,),
    )
    taken = {
        "option": "more_data_100000",
        "title": "Train on 100,000 samples",
        "by": "A. Lead",
        "note": "Two weeks, then we look again",
        "decided_at": "2026-12-01T10:00:00+00:00",
    }
    later = context(
        earlier=(
            EarlierMemo(content=payload(first), decision=taken),
            EarlierMemo(content=payload(second)),
        ),
        previous=payload(second),
        memo_number=3,
        generated_at=datetime(2026, 12, 14, 8, tzinfo=UTC),
        run_urls={},
    )
    return build(analysis, founding_decision(), later)


MEMOS: dict[str, Callable[[], MemoView]] = {
    "founding": memo_founding,
    "h200": memo_h200,
    "faster": memo_faster,
    "undecided": memo_undecided,
    "refused_fit": memo_refused_fit,
    "no_baseline": memo_no_baseline,
    "one_run": memo_one_run,
    "nothing_new": memo_nothing_new,
    "unfixed_cause": memo_unfixed_cause,
    "second": memo_second,
    "third": memo_third,
    "detailed": memo_detailed,
    "targets": memo_targets,
    "simulated": memo_simulated,
    "level": memo_level,
}
