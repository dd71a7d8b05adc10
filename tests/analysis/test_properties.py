"""What must hold for any numbers: monotone, unit-free, order-free, shrinking with data, and no exception."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.campaigns import FOUNDING, LOGGED, WINDOW, founding_runs
from tracker.analysis._forms import Chain
from tracker.analysis.acceptance import (
    chain_length,
    constant_acceptance,
    decaying_length,
    harmonic_length,
    length_from_conditional,
    rejections_explained,
    vocabulary_ceiling,
)
from tracker.analysis.campaign import analyse
from tracker.analysis.decision import gather
from tracker.analysis.decomposition import StepRow, decompose
from tracker.analysis.posterior import SizeMeasurement, sample
from tracker.analysis.power import minimal_detectable_effect, paired_ratio
from tracker.analysis.priors import DEFAULT_PRIORS
from tracker.analysis.uncertainty import Component, combine
from tracker.analysis.value import evpi, evsi, expected_regret, minimal_speedup, pay_back_gpu_hours, seconds_saved
from tracker.domain.campaign import Campaign, Costs
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, Reported, RequestRow
from tracker.domain.provenance import Provenance
from tracker.domain.record import RunRecord, StoredRun
from tracker.domain.server import Speculation
from tracker.domain.training import Training
from tracker.domain.workload import Hardware, Workload
from tracker.options import decide

rates = st.floats(0.01, 0.99)
steps = st.integers(1, 12)
CHAIN = Chain(num_steps=3, max_acceptance=0.97, max_length=3.82)


@given(first=rates, second=rates, count=steps)
def test_accept_length_grows_with_acceptance_and_with_steps(first: float, second: float, count: int) -> None:
    low, high = sorted((first, second))

    assert chain_length(low, count) <= chain_length(high, count) + 1e-12
    assert chain_length(low, count) <= chain_length(low, count + 1)
    assert 1 <= chain_length(low, count) <= count + 1


@given(rate=rates, count=steps)
def test_constant_acceptance_inverts_the_chain(rate: float, count: int) -> None:
    assert rate == pytest.approx(constant_acceptance(chain_length(rate, count), count), abs=1e-6)


@given(rate=rates, rho=st.floats(0.5, 1.0), count=steps)
def test_decay_lowers_the_length_and_none_leaves_it(rate: float, rho: float, count: int) -> None:
    assert float(decaying_length(np.asarray(rate), rho, count)) <= chain_length(rate, count) + 1e-9
    assert float(decaying_length(np.asarray(rate), 1.0, count)) == pytest.approx(chain_length(rate, count))


@given(values=st.lists(st.floats(1.0, 8.0), min_size=1, max_size=6), data=st.data())
def test_a_mix_lies_between_its_categories_and_below_their_mean(values: list[float], data: st.DataObject) -> None:
    raw = [data.draw(st.floats(0.05, 1.0)) for _ in values]
    shares = [part / sum(raw) for part in raw]
    mixed = harmonic_length(values, shares)

    assert min(values) - 1e-9 <= mixed <= max(values) + 1e-9
    assert mixed <= sum(share * value for share, value in zip(shares, values, strict=True)) + 1e-9


@given(coverage=st.floats(0.5, 1.0), acceptance=st.floats(0.0, 0.99), count=steps)
def test_a_larger_vocabulary_raises_the_ceiling_and_explains_less(
    coverage: float, acceptance: float, count: int
) -> None:
    more = min(1.0, coverage + 0.01)
    before, after = rejections_explained(coverage, acceptance), rejections_explained(more, acceptance)

    assert vocabulary_ceiling(coverage, count) <= vocabulary_ceiling(more, count)
    assert before is not None
    assert after is not None
    assert 0 <= after <= before <= 1


@given(conditional=st.lists(rates, min_size=1, max_size=8))
def test_rising_acceptance_along_the_chain_is_no_error(conditional: list[float]) -> None:
    assert (
        length_from_conditional(sorted(conditional))
        <= length_from_conditional(sorted(conditional, reverse=True)) + 1e-9
    )


@given(
    parts=st.lists(st.tuples(st.floats(0.001, 0.5), st.integers(1, 30)), min_size=1, max_size=5),
    more=st.floats(0.001, 0.5),
)
def test_every_further_uncertainty_widens_the_spread(parts: list[tuple[float, int]], more: float) -> None:
    components = [Component(name="part", sd=sd, df=df) for sd, df in parts]

    assert combine(components).sd <= combine([*components, Component(name="more", sd=more)]).sd
    assert combine(components).sd == pytest.approx(combine(reversed(components)).sd)


@given(prompts=st.integers(2, 200), sd=st.floats(0.005, 0.5))
@settings(max_examples=40, deadline=None)
def test_more_prompts_show_smaller_effects_in_proportion_to_their_spread(prompts: int, sd: float) -> None:
    here = minimal_detectable_effect(sd=sd, prompts=prompts)
    more = minimal_detectable_effect(sd=sd, prompts=2 * prompts)
    double = minimal_detectable_effect(sd=2 * sd, prompts=prompts)

    assert here is not None
    assert more is not None
    assert more < here
    assert double == pytest.approx(2 * here, rel=1e-3)


@given(logs=st.lists(st.floats(-0.5, 0.5), min_size=2, max_size=30))
def test_a_paired_ratio_turns_round_with_its_sides(logs: list[float]) -> None:
    there, back = paired_ratio(logs), paired_ratio([-value for value in logs])

    assert there.value is not None
    assert back.value == pytest.approx(1 / there.value)


@given(
    fixed=st.floats(0.1, 20),
    token=st.floats(0.01, 2),
    draft=st.floats(0.01, 5),
    base=st.floats(1, 50),
    unit=st.sampled_from([0.001, 1000.0]),
)
@settings(max_examples=40)
def test_the_split_comes_back_whatever_the_order_and_the_unit(
    fixed: float, token: float, draft: float, base: float, unit: float
) -> None:
    def row(count: int, tokens: int, factor: float) -> StepRow:
        step = base + fixed + token * (tokens - 1) + draft * count
        return StepRow(num_steps=count, num_draft_tokens=tokens, step_ms=step * factor, log_sd=0.01)

    shapes = [(3, 4), (5, 6), (3, 16), (2, 5)]
    plain = decompose([row(*shape, 1.0) for shape in shapes], base)
    scaled = decompose([row(*shape, unit) for shape in reversed(shapes)], base * unit)

    assert (plain.fixed_ms, plain.per_verified_token_ms, plain.per_draft_step_ms) == pytest.approx(
        (fixed, token, draft), rel=1e-4, abs=1e-6
    )
    assert scaled.fixed_ms == pytest.approx(fixed * unit, rel=1e-4, abs=1e-6 * unit)


@given(seed=st.integers(0, 2**32 - 1), options=st.integers(2, 6), noise=st.floats(0.01, 5.0))
@settings(max_examples=25, deadline=None)
def test_sample_information_is_worth_something_between_nothing_and_perfect_information(
    seed: int, options: int, noise: float
) -> None:
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal(800)
    utilities = rng.standard_normal((options, 1)) + rng.standard_normal((options, 1)) * theta
    worth = evsi(utilities, theta[None, :], np.array([noise]), seed=seed % 1000)

    assert 0 <= worth <= evpi(utilities) + 1e-12
    assert (expected_regret(utilities) >= -1e-12).all()


def test_a_sharper_experiment_is_worth_more_and_a_useless_one_nothing() -> None:
    theta = np.random.default_rng(3).standard_normal(2000)
    utilities = np.stack([np.zeros(2000), theta])
    sharp, blunt, useless = (evsi(utilities, theta[None, :], np.array([sd]), seed=1) for sd in (0.1, 1.0, 100.0))

    assert sharp > blunt > useless
    assert useless == pytest.approx(0, abs=0.01)
    assert sharp == pytest.approx(evpi(utilities), rel=0.15)


@given(cost=st.floats(1, 1e4), speedup=st.floats(1.01, 5))
def test_pay_back_and_minimal_speedup_are_two_sides_of_one_sum(cost: float, speedup: float) -> None:
    served = pay_back_gpu_hours(cost, speedup)

    assert served is not None
    assert minimal_speedup(cost, served) == pytest.approx(speedup)
    assert pay_back_gpu_hours(cost, 0.9) is None
    assert seconds_saved(tokens=1000, base_tok_s=100, speedup=speedup) > 0


@given(length=st.floats(1.3, 3.2), samples=st.sampled_from([1000, 10_000, 50_000]))
@settings(max_examples=8, deadline=None)
def test_accept_length_never_falls_with_data_and_the_forecast_widens(length: float, samples: int) -> None:
    posterior = sample(
        [SizeMeasurement(samples=samples, length=length, se=0.05)],
        chain=CHAIN,
        priors=DEFAULT_PRIORS,
        seed=0,
        draws=1000,
    )
    medians = [float(np.median(posterior.lengths(samples * factor))) for factor in (1, 3, 10, 100)]

    assert medians == sorted(medians)
    assert np.std(posterior.lengths(samples)) < np.std(posterior.lengths(10 * samples)) + 1e-9


def test_a_further_size_narrows_the_forecast() -> None:
    def width(*measured: tuple[int, float]) -> float:
        points = [SizeMeasurement(samples=size, length=length, se=0.05) for size, length in measured]
        draws = sample(points, chain=CHAIN, priors=DEFAULT_PRIORS, seed=0).lengths(300_000)
        low, high = np.quantile(draws, (0.1, 0.9))
        return float(high - low)

    one = width((10_000, 2.10))
    near = width((10_000, 2.10), (3_000, 1.85))
    far = width((10_000, 2.10), (3_000, 1.85), (100_000, 2.45))

    assert one > near > far
    assert far < 0.5 * one


def test_sharp_data_are_refined_until_the_weights_carry() -> None:
    points = [
        SizeMeasurement(samples=size, length=length, se=0.001)
        for size, length in ((1_000, 1.60), (3_000, 1.75), (10_000, 1.95), (30_000, 2.15), (100_000, 2.38))
    ]
    priors = dataclasses.replace(DEFAULT_PRIORS, tau=0.004)
    posterior = sample(points, chain=CHAIN, priors=priors, seed=0)

    assert posterior.effective_draws > 300
    assert float(np.median(posterior.lengths(10_000))) == pytest.approx(1.95, abs=0.02)


@given(order=st.permutations(range(8)), factor=st.sampled_from([0.1, 10.0]))
@settings(max_examples=10, deadline=None)
def test_order_of_runs_and_speed_of_the_machine_change_no_ratio(order: list[int], factor: float) -> None:
    runs = founding_runs()
    plain = analyse(runs, campaign=FOUNDING, window=WINDOW)
    moved = analyse([_faster(runs[index], factor) for index in order], campaign=FOUNDING, window=WINDOW)

    assert plain.verdict.status == moved.verdict.status
    assert [cost.break_even.value for cost in plain.costs] == pytest.approx(
        [cost.break_even.value for cost in moved.costs]
    )
    assert plain.scaling.status == moved.scaling.status
    assert [point.median for point in plain.scaling.forecast] == pytest.approx(
        [point.median for point in moved.scaling.forecast]
    )


def _faster(run: StoredRun, factor: float) -> StoredRun:
    def scaled(found: Reported | None) -> Reported | None:
        if found is None or found.half_width is None:
            return found
        return Reported(value=found.value * factor, half_width=found.half_width * factor)

    cells = tuple(
        dataclasses.replace(cell, reported_throughput_tok_s=scaled(cell.reported_throughput_tok_s))
        for cell in run.record.measurements
    )
    return dataclasses.replace(run, record=run.record.replace(measurements=cells))


def maybe(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | strategy


counts = st.integers(1, 10_000)
reported = st.builds(Reported, value=st.floats(0.5, 500), half_width=maybe(st.sampled_from([0.05, 0.005])))


@st.composite
def cells(draw: st.DrawFn) -> Measurement:
    verified = draw(maybe(st.integers(0, 1000)))
    return Measurement(
        concurrency=draw(maybe(st.sampled_from([1, 8]))),
        prompts=draw(maybe(st.integers(1, 50))),
        requests_failed=draw(maybe(st.integers(0, 3))),
        output_tokens=draw(maybe(counts)),
        wall_s=draw(maybe(st.floats(0.1, 100))),
        busy_s=draw(maybe(st.floats(0.1, 100))),
        input_tokens=draw(maybe(counts)),
        cached_input_tokens=draw(maybe(st.integers(0, 100))),
        verify_steps=verified,
        accepted_drafts=draw(maybe(st.integers(0, 3000))),
        accepted_histogram=draw(maybe(st.lists(st.integers(0, 50), min_size=1, max_size=5).map(tuple))),
        reported_throughput_tok_s=draw(maybe(reported)),
        reported_accept_length=draw(maybe(reported)),
        reported_accept_rate=draw(maybe(reported)),
        accept_rate_convention=draw(
            maybe(st.sampled_from(["length_over_draft_tokens", "accepted_over_proposed", "unknown"]))
        ),
    )


@st.composite
def stored_runs(draw: st.DrawFn) -> StoredRun:
    name = draw(st.sampled_from(["a", "b", "c", "d", "e", "f"]))
    number = draw(st.integers(0, 10**6))
    moment = LOGGED + timedelta(minutes=draw(st.integers(-20_000, 20_000)))
    finding = Finding(
        code="CODE",
        severity="error",
        message="void.",
        voids=("acceptance",),
        flag_after="--speculative-algorithm EAGLE3",
    )
    record = RunRecord(
        record_id=f"{name}-{number}",
        kind=draw(st.sampled_from(["benchmark", "benchmark", "training"])),
        experiment="any",
        name=name,
        role=draw(maybe(st.sampled_from(["baseline", "candidate"]))),
        speculation=draw(
            maybe(
                st.builds(
                    Speculation,
                    enabled=st.booleans(),
                    algorithm=maybe(st.sampled_from(["EAGLE3", "NGRAM"])),
                    num_steps=maybe(st.integers(1, 8)),
                    eagle_topk=maybe(st.integers(1, 4)),
                    num_draft_tokens=maybe(st.integers(2, 16)),
                    simulated_accept_length=maybe(st.just(3.0)),
                )
            )
        ),
        target=draw(maybe(st.builds(Checkpoint, name=st.sampled_from(["t", "u"])))),
        drafter=draw(
            maybe(
                st.builds(
                    Checkpoint,
                    name=st.sampled_from(["x", "y"]),
                    vocabulary_coverage_fraction=maybe(st.floats(0.5, 1.0)),
                )
            )
        ),
        hardware=draw(maybe(st.builds(Hardware, gpu=maybe(st.just("H200")), gpu_count=maybe(st.integers(1, 8))))),
        workload=draw(
            maybe(st.builds(Workload, prompt_set=maybe(st.sampled_from(["p", "q"])), prompts=maybe(st.just(5))))
        ),
        cuda_graph=draw(maybe(st.booleans())),
        measurements=tuple(draw(st.lists(cells(), max_size=2, unique_by=lambda cell: cell.concurrency))),
        training=draw(
            maybe(
                st.builds(
                    Training,
                    samples=maybe(st.sampled_from([100, 1000, 10_000])),
                    optimizer_steps=maybe(counts),
                    epochs=maybe(st.floats(0.1, 20)),
                    mix=maybe(st.sampled_from(["m", "n"])),
                )
            )
        ),
        findings=(finding,) if draw(st.booleans()) else (),
        validity=draw(st.sampled_from(["ok", "ok", "suspect", "partial"])),
        provenance=Provenance(logged_at=moment, measured_at=moment, tracker_version="0"),
    )
    rows = draw(
        st.lists(
            st.builds(
                RequestRow,
                prompt_key=maybe(st.sampled_from(["k1", "k2", "weak:code:7"])),
                category=maybe(st.sampled_from(["code", "chat"])),
                concurrency=maybe(st.sampled_from([1, 8])),
                repeat=st.integers(0, 1),
                output_tokens=maybe(st.integers(0, 300)),
                latency_s=maybe(st.floats(0.01, 10)),
                verify_steps=maybe(st.integers(0, 100)),
                accepted_drafts=maybe(st.integers(0, 300)),
                accepted_histogram=maybe(st.lists(st.integers(0, 9), max_size=4).map(tuple)),
                error=maybe(st.just("timeout")),
            ),
            max_size=5,
        )
    )
    return StoredRun(run_id=f"{name}-{number}", record=record, requests=tuple(rows))


@given(
    runs=st.lists(stored_runs(), max_size=6, unique_by=lambda run: run.run_id),
    costs=st.builds(Costs, gpus=maybe(st.just(8)), horizon_days=maybe(st.just(30.0))),
)
@settings(max_examples=30, deadline=None)
def test_whatever_was_recorded_the_analysis_answers_in_words_and_never_raises(
    runs: list[StoredRun], costs: Costs
) -> None:
    found = analyse(runs, campaign=Campaign(name="any", costs=costs, max_tpot_ms=10), window=WINDOW)
    decision = decide(gather(found))

    assert found.verdict.status in ("faster", "slower", "undecided", "mixed")
    assert all(load.reason for load in found.verdict.by_concurrency)
    for point in found.points:
        for estimate in (point.throughput_tok_s, point.accept_length, point.step_time_ms, point.speedup):
            assert estimate.value is not None or estimate.reason
    for option in decision.options:
        assert option.rank is not None or option.unvalued_reason
