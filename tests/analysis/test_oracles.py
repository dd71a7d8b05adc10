"""Twenty published or exact numbers that the formulas must reproduce; numbering as in the modelling notes."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from tracker.analysis._forms import FORMS, Chain
from tracker.analysis.acceptance import (
    chain_length,
    constant_acceptance,
    decaying_fit,
    decaying_length,
    detect_conventions,
    distinct_experts,
    length_from_conditional,
    length_from_paths,
    length_from_positions,
    length_from_rate,
    vocabulary_ceiling,
)
from tracker.analysis.break_even import prefill_corrected_step_ms, required_length, step_ratio
from tracker.analysis.decomposition import StepRow, decompose
from tracker.analysis.posterior import SizeMeasurement, sample
from tracker.analysis.power import minimal_detectable_effect, prompts_needed
from tracker.analysis.priors import DEFAULT_PRIORS, Priors
from tracker.analysis.readings import accept_length, accept_rate
from tracker.analysis.value import minimal_speedup, net_gpu_hours, pay_back_gpu_hours, saved_fraction
from tracker.domain.measurement import Measurement, Reported
from tracker.domain.server import Speculation


@pytest.mark.parametrize(
    ("acceptance", "steps", "length", "work"),
    [(0.6, 2, 1.960, 1.531), (0.7, 3, 2.533, 1.579), (0.8, 5, 3.689, 1.626), (0.9, 10, 6.862, 1.603)],
)
def test_oracle_1_leviathan_chain_length_and_relative_work(
    acceptance: float, steps: int, length: float, work: float
) -> None:
    assert length == pytest.approx(chain_length(acceptance, steps), abs=1e-3)
    assert work == pytest.approx((steps + 1) / chain_length(acceptance, steps), abs=1e-3)


def test_oracle_2_constant_acceptance_from_a_length() -> None:
    assert constant_acceptance(2.3, 3) == pytest.approx(0.637, abs=2e-3)
    assert constant_acceptance(2.1, 4) == pytest.approx(0.547, abs=1e-3)
    with pytest.raises(ValueError, match="L > k"):
        constant_acceptance(3.5, 2)


@pytest.mark.parametrize(
    ("length", "speedup", "ratio"),
    [(6.65, 5.58, 1.192), (4.83, 4.26, 1.134), (3.98, 3.07, 1.296), (6.13, 4.40, 1.393), (5.63, 4.11, 1.370)],
)
def test_oracle_3_eagle3_table_1_overheads(length: float, speedup: float, ratio: float) -> None:
    assert ratio == pytest.approx(length / speedup, abs=0.006)
    assert length == pytest.approx(required_length(length / speedup, speedup))


@pytest.mark.parametrize(
    ("rate", "overhead", "exact", "printed"),
    [(3.47, 1.22, 2.844, 2.83), (3.14, 1.18, 2.661, 2.66), (3.51, 1.23, 2.854, 2.83), (3.01, 1.27, 2.370, 2.35)],
)
def test_oracle_4_medusa_table_1_speedups(rate: float, overhead: float, exact: float, printed: float) -> None:
    speedup = rate / step_ratio(overhead, 1.0)

    assert exact == pytest.approx(speedup, abs=1e-3)
    assert printed == pytest.approx(speedup, rel=0.01)


def test_oracle_5_magicdec_table_1_row_1() -> None:
    step, length, base = 44.11 + 45.12, 3.00, 36.62

    assert step / length == pytest.approx(29.74, abs=5e-3)
    assert step / length == pytest.approx(30.32, rel=0.025)
    assert step_ratio(step, base) == pytest.approx(2.437, abs=1e-3)
    assert length / step_ratio(step, base) == pytest.approx(1.21, abs=0.03)


@pytest.mark.parametrize(
    ("length", "speedup", "ratio"), [(5.71, 3.02, 1.891), (4.43, 2.46, 1.801), (2.39, 1.80, 1.328)]
)
def test_oracle_6_spec_bench_shows_that_a_ratio_does_not_travel(length: float, speedup: float, ratio: float) -> None:
    assert ratio == pytest.approx(length / speedup, abs=0.01)


def test_oracle_7_vllm_per_position_rates() -> None:
    cell = Measurement(accepted_drafts=1205, proposed_drafts=8036, verify_steps=8036 // 7)

    assert length_from_positions([0.365, 0.214, 0.151, 0.106, 0.086, 0.071, 0.057]) == pytest.approx(2.050, abs=1e-3)
    assert accept_rate(cell, None) == pytest.approx(0.150, abs=1e-3)
    found = accept_length(cell, None)
    assert found is not None
    assert found.value == pytest.approx(2.050, abs=2e-3)


@pytest.mark.parametrize(
    ("positions", "length", "rate"),
    [((0.3629, 0.1031, 0.0235), 1.4895, 0.1632), ((0.4084, 0.1084, 0.0158, 0.0015), 1.534, 0.1335)],
)
def test_oracle_8_speculators_positions(positions: tuple[float, ...], length: float, rate: float) -> None:
    assert length == pytest.approx(length_from_positions(positions), abs=1e-3)
    assert rate == pytest.approx((length_from_positions(positions) - 1) / len(positions), abs=1e-3)


def test_oracle_9_conventions_are_told_apart_by_their_own_numbers() -> None:
    old = detect_conventions((2.15, 2.25), (0.135, 0.145), num_draft_tokens=16, num_steps=None)
    new = detect_conventions((2.3445, 2.3455), (0.44835, 0.44845), num_draft_tokens=4, num_steps=None)
    llama_cpp = Measurement(accepted_drafts=167, proposed_drafts=259, verify_steps=87)

    assert old == ("length_over_draft_tokens",)
    assert new == ("accepted_over_proposed",)
    assert length_from_rate(0.4484, new[0], num_draft_tokens=4, num_steps=None) == pytest.approx(2.345, abs=1e-3)
    found = accept_length(llama_cpp, None)
    assert found is not None
    assert found.value == pytest.approx(2.920, abs=1e-3)
    assert accept_rate(llama_cpp, None) == pytest.approx(0.645, abs=1e-3)


# Oracle 10, the founding table, is test_founding.test_break_even_and_its_rounding_range_are_the_published_table.


def test_oracle_11_step_time_parts_come_back_and_chains_give_only_the_sum() -> None:
    def row(steps: int, tokens: int) -> StepRow:
        return StepRow(
            num_steps=steps, num_draft_tokens=tokens, step_ms=11 + 5 + 0.30 * (tokens - 1) + 0.90 * steps, log_sd=0.01
        )

    whole = decompose([row(*pair) for pair in ((3, 4), (5, 6), (7, 8), (5, 6), (7, 8), (3, 16), (5, 32))], 11.0)
    chains = decompose([row(*pair) for pair in ((3, 4), (5, 6), (7, 8))], 11.0)

    assert whole.rank == 3
    assert (whole.fixed_ms, whole.per_verified_token_ms, whole.per_draft_step_ms) == pytest.approx((5.0, 0.30, 0.90))
    assert chains.rank == 2
    assert (chains.fixed_ms, chains.combined_ms) == pytest.approx((5.0, 1.20))
    assert chains.per_verified_token_ms is None
    assert chains.per_draft_step_ms is None


def test_oracle_12_a_chain_of_seven_from_three_and_five() -> None:
    base, speeds, lengths = 189.98, (414.9, 453.7, 454.7), (2.931, 3.554, 3.907)
    ratios = [length * base / speed for length, speed in zip(lengths, speeds, strict=True)]
    first, rho = decaying_fit(lengths[0], 3, lengths[1], 5)

    assert ratios == pytest.approx([1.342, 1.488, 1.632], abs=1e-3)
    assert 2 * ratios[1] - ratios[0] == pytest.approx(1.634, abs=1e-3)
    assert (first, rho) == pytest.approx((0.8085, 0.9726), abs=1e-3)
    assert float(decaying_length(np.asarray(first), rho, 7)) == pytest.approx(3.864, abs=2e-3)
    assert chain_length(constant_acceptance(lengths[0], 3), 7) == pytest.approx(4.103, abs=2e-3)


@pytest.mark.parametrize(("tokens", "experts"), [(1, 8.00), (5, 38.37), (16, 109.82), (32, 188.23)])
def test_oracle_13_experts_that_a_step_touches(tokens: int, experts: float) -> None:
    assert experts == pytest.approx(distinct_experts(tokens, experts=384, active=8), abs=5e-3)


def test_oracle_14_vocabulary_ceilings() -> None:
    ceilings = [vocabulary_ceiling(0.983, steps) for steps in range(1, 6)]

    assert ceilings == pytest.approx([1.983, 2.949, 3.899, 4.833, 5.751], abs=1e-3)


def test_oracle_15_logit_linear_curve() -> None:
    priors = exact_priors(level=0.0, slope=0.7)
    chain = Chain(num_steps=3, max_acceptance=1.0, max_length=4.0)
    scores = np.zeros((1, 3))

    def length(samples: float) -> float:
        return float(FORMS[0].lengths(scores, math.log10(samples / 10_000), priors, chain)[0])

    found = [length(samples) for samples in (1e3, 3e3, 1e4, 1e5, 3e5)]
    assert found == pytest.approx([1.478, 1.646, 1.875, 2.413, 2.683], abs=1e-3)
    assert length(63_300) == pytest.approx(2.3, abs=3e-3)


def test_oracle_16_power_law_to_a_ceiling() -> None:
    # The form lives on acceptance, below 1: a quarter of 3.2 - 1.1 (D / 10K)^-0.3, served by a chain of one step.
    priors = exact_priors(level=math.log(0.525 / 0.475), slope=0.7)
    chain = Chain(num_steps=1, max_acceptance=0.8, max_length=2.0)
    exponent = math.log(0.3 / priors.power_median) / priors.power_log_sd
    scores = np.array([[0.0, 9.0, exponent, 0.0]])

    def length(samples: float) -> float:
        return 4 * (float(FORMS[1].lengths(scores, math.log10(samples / 10_000), priors, chain)[0]) - 1)

    assert [length(samples) for samples in (1e3, 1e4, 1e5)] == pytest.approx([1.005, 2.100, 2.649], abs=1e-3)
    assert length(45_100) == pytest.approx(2.5, abs=3e-3)


def test_oracle_17_the_slope_of_the_log_linear_form_is_the_conjugate_one() -> None:
    # Conjugate: prior N(0.5, 0.35), points 2.10 and 2.45 a decade apart, se 0.06, flat intercept: 0.358, sd 0.0825.
    priors = dataclasses.replace(exact_priors(level=0.0, slope=0.7), level_sd=3.0, tau=0.0)
    chain = Chain(num_steps=3, max_acceptance=1.0, max_length=4.0)
    measured = [
        SizeMeasurement(samples=10_000, length=2.10, se=0.06),
        SizeMeasurement(samples=100_000, length=2.45, se=0.06),
    ]
    scores = sample(measured, chain=chain, priors=priors, seed=0, draws=20_000).scores[2]
    slopes = FORMS[2].lengths(scores, 1.0, priors, chain) - FORMS[2].lengths(scores, 0.0, priors, chain)

    assert float(slopes.mean()) == pytest.approx(0.358, abs=0.01)
    assert float(slopes.std()) == pytest.approx(0.0825, abs=0.01)


def test_oracle_18_prompts_and_smallest_detectable_effect() -> None:
    effect = minimal_detectable_effect(sd=0.05, prompts=5)

    assert prompts_needed(math.log(1.03), sd=0.05) == 25
    assert effect is not None
    assert 100 * math.expm1(effect) == pytest.approx(8.8, abs=0.2)
    assert [prompts_needed(math.log(1.03), sd=sd) for sd in (0.03, 0.08, 0.10, 0.15)] == [11, 60, 92, 205]


def test_oracle_19_eagle3_figure_1_slope() -> None:
    decades = math.log10(532 / 68)

    assert (6.13 - 5.2) / decades == pytest.approx(1.04, abs=0.1)
    assert (6.13 - 5.2) / math.log2(532 / 68) == pytest.approx(0.313, abs=0.01)


def test_oracle_20_value_pay_back_and_minimal_speedup() -> None:
    net = net_gpu_hours(saved_fraction(np.array([1.1])), horizon_gpu_hours=17_280, cost_gpu_hours=750)

    assert float(net[0]) == pytest.approx(821, abs=0.5)
    assert pay_back_gpu_hours(750, 1.1) == pytest.approx(8250)
    assert minimal_speedup(750, 17_280) == pytest.approx(1.0454, abs=1e-4)


def test_trees_add_the_products_along_their_paths() -> None:
    first, second = (0.6, 0.15), (0.6, 0.15)
    products = [*first, *(a * b for a in first for b in second)]

    assert length_from_paths(products) == pytest.approx(2.3125)
    assert length_from_paths(sorted(products)[-4:]) == pytest.approx(2.20)
    assert length_from_conditional([0.6, 0.6]) == pytest.approx(1.96)


def test_prefill_leaves_the_step_time_of_a_short_answer() -> None:
    # 100 tokens in 1 s of decoding after 0.5 s of prefill: end to end 66.7 tok/s, 10 ms per token without the prompt.
    assert prefill_corrected_step_ms(length=1, tok_s=100 / 1.5, prefill_s=0.5, output_tokens=100) == pytest.approx(10.0)


def test_a_new_sglang_rate_narrows_a_rounded_length() -> None:
    cell = Measurement(
        reported_accept_length=Reported(value=2.3, half_width=0.05),
        reported_accept_rate=Reported(value=0.45, half_width=0.005),
        accept_rate_convention="accepted_over_proposed",
    )
    found = accept_length(cell, Speculation(enabled=True, num_draft_tokens=4))

    assert found is not None
    assert found.bounds == pytest.approx((2.335, 2.35))


def exact_priors(*, level: float, slope: float) -> Priors:
    """Return priors without spread in rho, so that score 0 is the formula itself."""
    # The slope's normal is truncated at 0; a tiny spread leaves the median at its mean.
    return dataclasses.replace(
        DEFAULT_PRIORS, level_mean=level, slope_mean=slope, slope_sd=1e-6, rho_mean=1.0, rho_sd=0.0
    )
