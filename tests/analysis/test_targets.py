"""Samples for target speed-ups, the largest size held out, and data that only look like more data."""

from __future__ import annotations

import dataclasses

import pytest

from tests.analysis.builders import BASE, analysed, drafter, provenance, run
from tests.analysis.campaigns import FOUNDING, WINDOW, founding_runs
from tracker.analysis._forms import Chain
from tracker.analysis.campaign import analyse
from tracker.analysis.hold_out import hold_out
from tracker.analysis.posterior import SizeMeasurement
from tracker.analysis.priors import DEFAULT_PRIORS
from tracker.analysis.results import ScalingFit, TargetSamples
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.record import RunRecord, StoredRun
from tracker.domain.training import MetricPoint, Training

SIZES = ((1_000, "1.60"), (3_000, "1.80"), (10_000, "2.05"), (30_000, "2.30"), (100_000, "2.52"))


def curve(**training: object) -> ScalingFit:
    return analysed(BASE, *(drafter(size, length, mix="chat", epochs=3, **training) for size, length in SIZES)).scaling


def target(fit: ScalingFit, speedup: float) -> TargetSamples:
    return next(item for item in fit.targets if item.speedup == speedup)


def test_every_target_names_its_accept_length_and_its_samples() -> None:
    fit = curve()

    assert [item.speedup for item in fit.targets] == [1.0, 1.1, 1.3, 1.5]
    assert fit.break_even is not None
    for item in fit.targets:
        assert item.accept_length == pytest.approx(item.speedup * fit.break_even.value)
    assert target(fit, 1.0).needed == fit.samples_to_break_even


def test_a_faster_target_never_needs_fewer_samples() -> None:
    lows = [item.needed.low for item in curve().targets if item.needed is not None]
    known = [low for low in lows if low is not None]

    assert known == sorted(known)


def test_a_target_above_the_ceiling_is_out_of_reach_and_gets_no_number_of_samples() -> None:
    slow = [drafter(size, length, mix="chat", epochs=3) for size, length in SIZES]
    fit = analysed(run("base", speed="150.0"), *slow).scaling
    item = target(fit, 1.5)

    assert fit.ceiling is not None
    assert item.accept_length > fit.ceiling
    assert item.reachable is False
    assert item.needed is None
    assert "out of reach at any training size" in item.note


def test_a_target_that_was_measured_is_called_reached() -> None:
    fit = analysed(run("base", speed="60.0"), *(drafter(size, length, mix="chat", epochs=3) for size, length in SIZES))

    assert target(fit.scaling, 1.0).note.endswith("already reached.")


def test_one_size_gives_a_range_with_its_open_end_and_no_single_number() -> None:
    fit = analyse(founding_runs(), campaign=FOUNDING, window=WINDOW).scaling
    item = target(fit, 1.1)

    assert item.accept_length == pytest.approx(2.53, abs=0.01)
    assert item.reachable is None
    assert "more than 10,000,000" in item.note
    assert "median" not in item.note


def test_break_even_required_lengths_say_whether_the_chain_can_yield_them() -> None:
    (cost,) = analysed(BASE, run("spec", speed="80.0", length="2.40")).costs

    assert cost.required["1.5"] == pytest.approx(1.5 * 2.7, abs=0.01)
    assert cost.required_reachable == {"1.1": True, "1.3": True, "1.5": False}


def test_the_largest_size_is_predicted_from_the_others() -> None:
    fit = curve()
    held = fit.hold_out

    assert held is not None
    assert held.samples == 100_000
    assert held.measured == pytest.approx(2.52)
    assert held.low < held.median < held.high
    assert 0.1 < held.pit < 0.9


def test_a_largest_size_that_fell_off_its_curve_has_an_extreme_rank() -> None:
    sizes = [SizeMeasurement(samples=size, length=float(length), se=0.02) for size, length in SIZES[:-1]]
    chain = Chain(num_steps=3, max_acceptance=0.97, max_length=3.82)

    def rank(length: float) -> float:
        largest = SizeMeasurement(samples=100_000, length=length, se=0.02)
        found = hold_out([*sizes, largest], chain=chain, priors=DEFAULT_PRIORS, seed=0)
        assert found is not None
        return found.pit

    assert rank(2.0) < 0.02
    assert rank(3.3) > 0.98


def test_one_size_cannot_be_held_out() -> None:
    assert analysed(BASE, drafter(10_000, "2.05")).scaling.hold_out is None


def test_repeated_samples_count_once() -> None:
    runs = [drafter(size, length, unique_samples=size // 2, mix="chat", epochs=1) for size, length in SIZES]
    fit = analysed(BASE, *runs).scaling

    assert [point.samples for point in fit.points] == [size // 2 for size, _ in SIZES]
    assert {point.repeated_fraction for point in fit.points} == {0.5}
    assert [point.epochs for point in fit.points] == [2.0] * 5
    assert fit.reason is not None
    assert "counts distinct samples: 500 of 1,000" in fit.reason


def test_many_passes_over_the_data_are_named() -> None:
    fit = analysed(BASE, *(drafter(size, length, mix="chat", epochs=10) for size, length in SIZES)).scaling

    assert fit.reason is not None
    assert "10.0 passes over the data" in fit.reason


def test_repeats_recorded_for_some_sizes_only_qualify_the_curve() -> None:
    runs = [drafter(size, length, mix="chat", epochs=3) for size, length in SIZES[:-1]]
    last = drafter(100_000, "2.52", unique_samples=100_000, mix="chat", epochs=3)
    fit = analysed(BASE, *runs, last).scaling

    assert fit.status == "qualified"
    assert fit.reason is not None
    assert "recorded for some sizes only" in fit.reason


def training_run(samples: int) -> StoredRun:
    record = RunRecord(
        record_id=f"training-{samples}",
        kind="training",
        experiment="test",
        name=f"training-{samples}",
        drafter=Checkpoint(name=f"drafter-{samples}"),
        training=Training(
            samples=samples, mix="chat", epochs=3, history=(MetricPoint(name="acc", step=100, value=0.9),)
        ),
        provenance=provenance(),
    )
    return StoredRun(run_id=f"training-{samples}", record=record)


def test_a_trained_size_nobody_served_is_named_and_in_no_fit() -> None:
    fit = analysed(BASE, drafter(10_000, "2.05"), training_run(30_000)).scaling

    assert fit.unserved == (30_000,)
    assert [point.samples for point in fit.points] == [10_000]
    assert fit.reason is not None
    assert "never stands in for served acceptance" in fit.reason


def test_training_metrics_alone_are_refused_with_what_to_measure() -> None:
    fit = analysed(BASE, run("spec", speed="100.0", length="2.40"), training_run(30_000)).scaling

    assert fit.status == "refused"
    assert fit.unserved == (30_000,)
    assert fit.cure == "Serve the trained drafters on one set of prompts."


def test_the_trainers_accuracy_stands_beside_the_served_length_and_replaces_nothing() -> None:
    told = drafter(10_000, "2.05", validation_position_accuracy=(0.9, 0.9, 0.9, 0.5, 0.5))
    found = analysed(BASE, told)
    plain = analysed(BASE, drafter(10_000, "2.05"))

    assert found.acceptance.training_note is not None
    assert "3.44 tokens a step" in found.acceptance.training_note
    assert "2.05 tokens a step were served" in found.acceptance.training_note
    assert found.scaling == dataclasses.replace(plain.scaling)


def test_a_trainers_metric_history_is_quoted_from_its_last_step() -> None:
    history = tuple(MetricPoint(name="train/acc_0", step=step, value=step / 1000) for step in (100, 800))
    found = analysed(BASE, drafter(10_000, "2.05", history=history))

    assert found.acceptance.training_note is not None
    assert "train/acc_0 0.800 at step 800" in found.acceptance.training_note
