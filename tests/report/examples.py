"""One example a state of the memo, made by hand; each has golden files."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime

from tests.report.founding import BASE, BASELINE, CONTENDERS, G5, SCOPE, context, founding
from tests.report.founding_options import founding_decision
from tests.report.h200 import h200, h200_decision
from tracker.analysis.results import (
    CheckedClaim,
    DecisionSet,
    LoadVerdict,
    ScalingFit,
    StepTimeFit,
    Verdict,
    Window,
)
from tracker.domain.estimate import Estimate
from tracker.report import MemoContext, MemoView, build
from tracker.report.memo_json import payload

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
}
