"""Which sizes form one curve, and what the drafters beside it are evidence of."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analysis.builders import analysed, drafter, run
from tracker.analysis.results import ScalingFit
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.record import StoredRun
from tracker.domain.training import Training

SIZES = ((1_000, "1.60"), (3_000, "1.80"), (10_000, "2.05"), (30_000, "2.30"), (100_000, "2.52"))


def five_epochs() -> list[StoredRun]:
    return [
        drafter(size, length, mix="chat", epochs=5.0, batch_size=64, optimizer_steps=size * 5 // 64)
        for size, length in SIZES
    ]


def other(samples: int, length: str, **training: Any) -> StoredRun:
    return run(
        f"other-{samples}",
        speed="101.0",
        length=length,
        drafter=Checkpoint(name=f"other-{samples}"),
        training=Training(samples=samples, **training),
    )


def fit_of(*runs: StoredRun) -> ScalingFit:
    return analysed(run("base", speed="60.0"), *runs).scaling


def test_sizes_at_equal_epochs_are_one_curve_and_longer_trainings_stand_beside_it() -> None:
    alone = fit_of(*five_epochs())
    longer = other(10_000, "2.15", mix="chat", epochs=10.0, batch_size=64, optimizer_steps=1562)
    fit = fit_of(*five_epochs(), longer)

    assert fit.status == alone.status == "forecast"
    assert [item.median for item in fit.forecast] == [item.median for item in alone.forecast]
    assert [point.samples for point in fit.points] == [size for size, _ in SIZES]
    assert [point.run_id for point in fit.beside] == ["other-10000"]
    assert fit.budget_note == "10,000 samples at 10 instead of 5 epochs: 2.15 against 2.05"
    assert fit.reason is not None
    assert fit.budget_note in fit.reason


def test_steps_that_grow_with_the_data_at_equal_epochs_are_said_and_not_held_against_the_curve() -> None:
    fit = fit_of(*five_epochs())

    assert fit.reason is not None
    assert "5 sizes trained alike, at 5 epochs each, so steps grow with the data." in fit.reason
    assert "cannot be told apart" not in fit.reason
    assert fit.beside == ()
    assert fit.budget_note is None


def test_a_size_that_only_another_budget_has_qualifies_the_curve() -> None:
    fit = fit_of(*five_epochs(), other(300_000, "2.40", mix="chat", epochs=1.0, batch_size=64, optimizer_steps=4687))

    assert fit.status == "qualified"
    assert fit.reason is not None
    assert fit.reason.startswith("Some sizes were trained differently and are in no fit.")
    assert fit.budget_note == "300,000 samples at 1 instead of 5 epochs: 2.40, no such size in the fit"


def test_sizes_of_the_larger_mix_are_fitted_and_the_other_mix_stands_beside() -> None:
    fit = fit_of(
        other(1_000, "1.60", mix="chat", epochs=3.0),
        drafter(10_000, "2.10", mix="code", epochs=3.0),
        drafter(100_000, "2.50", mix="code", epochs=3.0),
    )

    assert fit.status == "qualified"
    assert [point.samples for point in fit.points] == [10_000, 100_000]
    assert fit.budget_note == "1,000 samples of chat instead of code: 1.60, no such size in the fit"


def test_equal_optimizer_steps_make_a_curve_where_equal_epochs_do_not() -> None:
    budgets = ((1_000, "1.60", 300), (10_000, "2.05", 1000), (30_000, "2.30", 1000), (50_000, "2.40", 1000))
    fit = fit_of(
        *(
            drafter(size, length, mix="chat", batch_size=64, optimizer_steps=steps, epochs=64 * steps / size)
            for size, length, steps in budgets
        )
    )

    assert [point.samples for point in fit.points] == [10_000, 30_000, 50_000]
    assert [point.samples for point in fit.beside] == [1_000]
    assert fit.status == "qualified"


@pytest.mark.parametrize(
    "epochs",
    [
        # The first real campaign: 7.7 and 10 passes differ by more than 20 %, and the last size was never seen whole.
        {100: 76.8, 1_000: 10.0, 10_000: 7.7, 100_000: 0.77},
        {1_000: 8.0, 10_000: 4.0, 100_000: 2.0},
    ],
)
def test_sizes_no_two_of_which_were_trained_alike_stay_refused(epochs: dict[int, float]) -> None:
    lengths = {100: "1.20", 1_000: "1.60", 10_000: "2.05", 100_000: "2.52"}
    fit = fit_of(
        *(
            drafter(size, lengths[size], mix="chat", epochs=passes, optimizer_steps=int(size * passes / 64))
            for size, passes in epochs.items()
        )
    )

    assert fit.status == "refused"
    assert fit.reason is not None
    assert "cannot be told apart" in fit.reason
    assert fit.forecast == ()
    assert fit.beside == ()
    assert fit.cure is not None
    assert fit.cure.startswith("Retrain the sizes")


JUMP = ((1_000, "1.277"), (2_000, "1.474"), (5_000, "1.800"), (10_000, "3.100"), (100_000, "3.150"))


def test_a_residual_is_measured_with_the_scatter_between_trainings_and_says_where_it_lies() -> None:
    jump = [drafter(size, length, mix="chat", epochs=5.0) for size, length in JUMP]
    fit = fit_of(*jump)

    assert fit.status == "refused"
    assert fit.worst_residual_se is not None
    assert fit.worst_residual_se > 3
    assert fit.reason is not None
    assert f"10,000 samples lie {fit.worst_residual_se:.1f} standard errors above the curve" in fit.reason
    assert fit.cure == "Serve one more size between the measured ones, on the same prompts."


def test_where_more_passes_still_help_the_cure_of_a_curve_that_fits_no_form_is_training() -> None:
    jump = [drafter(size, length, mix="chat", epochs=5.0) for size, length in JUMP]
    fit = fit_of(*jump, other(2_000, "2.900", mix="chat", epochs=10.0))

    assert fit.cure is not None
    assert fit.cure.startswith("Train every size until more passes bring nothing")
    assert "at 2,000 samples they still raise accept length" in fit.cure


@pytest.mark.parametrize(("distinct", "shown"), [(99_965, 100_000), (99_000, 99_000)])
def test_a_few_repeats_do_not_rename_a_size(distinct: int, shown: int) -> None:
    *others, (largest, length) = SIZES
    runs = [drafter(size, value, mix="chat", epochs=5.0, unique_samples=size) for size, value in others]
    last = drafter(largest, length, mix="chat", epochs=5.0, unique_samples=distinct)
    fit = fit_of(*runs, last)

    assert fit.points[-1].samples == shown
    assert shown in {point.samples for point in fit.forecast}
    assert fit.hold_out is not None
    assert fit.hold_out.samples == shown


def test_fitted_and_other_drafters_keep_their_order_whatever_the_order_of_the_runs() -> None:
    runs = [*five_epochs(), other(10_000, "2.15", mix="chat", epochs=10.0)]

    assert fit_of(*runs) == fit_of(*reversed(runs))
