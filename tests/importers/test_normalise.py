"""Rounding, units and the meaning of printed rates."""

from __future__ import annotations

import pytest

from tracker.domain.measurement import Measurement, Reported
from tracker.importers import _identities, _normalise


@pytest.mark.parametrize(
    ("text", "value", "half_width"),
    [("2.1", 2.1, 0.05), ("90.0", 90.0, 0.05), ("90", 90.0, 0.5), ("1,234.5", 1234.5, 0.05), ("2.10", 2.1, 0.005)],
)
def test_a_printed_number_carries_half_a_unit_of_its_last_digit(text: str, value: float, half_width: float) -> None:
    assert _normalise.reported(text) == Reported(value=value, half_width=half_width)


def test_a_number_with_all_its_digits_was_not_rounded() -> None:
    assert _normalise.reported("2.927672803225336") == Reported(value=2.927672803225336)


@pytest.mark.parametrize("text", ["", "nan", "inf", "1e999", "two", ".", "1,2", "--1", "0x10"])
def test_text_that_is_no_finite_number_gives_none(text: str) -> None:
    assert _normalise.reported(text) is None


def test_a_percentage_becomes_a_fraction_with_its_rounding() -> None:
    assert _normalise.reported("31.16", scale=0.01) == Reported(value=0.3116, half_width=0.00005)


@pytest.mark.parametrize(
    ("value", "unit", "scale"),
    [(0.14, None, 1.0), (31.16, None, 0.01), (1.2, None, 1.0), (0.9, "percent", 0.01), (66.0, "fraction", 1.0)],
)
def test_a_rate_is_percent_when_said_so_or_when_no_fraction_can_be_that_large(
    value: float, unit: str | None, scale: float
) -> None:
    assert _normalise.rate_scale(value, unit=unit) == scale


@pytest.mark.parametrize(
    ("length", "rate", "num_draft_tokens", "num_steps", "convention"),
    [
        ("2.2", "0.14", 16, None, "length_over_draft_tokens"),
        ("2.1", "0.42", 5, None, "length_over_draft_tokens"),
        ("1.9", "0.39", 5, 2, "length_over_draft_tokens"),
        ("1.9", "0.12", 16, None, "length_over_draft_tokens"),
        ("2.345", "0.4484", 4, 3, "accepted_over_proposed"),
        ("1.01", "0.25", 4, 3, "length_over_draft_tokens"),
        ("1.00", "0.00", 4, 3, "accepted_over_proposed"),
        ("2.10", "0.55", 16, 2, "drafts_over_steps_times_num_steps"),
        ("2.1", "0.42", None, None, "length_over_draft_tokens"),
        ("2.6", "0.5333", None, None, "accepted_over_proposed"),
        ("1.36", "0.12", None, None, "unknown"),
        ("2.60", "0.65", 16, 3, "unknown"),
        ("4.00", "1.00", 4, 3, "unknown"),
    ],
)
def test_the_accept_length_tells_which_rate_was_printed(
    length: str, rate: str, num_draft_tokens: int | None, num_steps: int | None, convention: str
) -> None:
    reading = _normalise.read_rate(
        length=_normalise.reported(length),
        rate=_normalise.reported(rate),
        num_draft_tokens=num_draft_tokens,
        num_steps=num_steps,
    )

    assert reading.convention == convention
    assert reading.findings == ()


def test_a_rate_that_no_definition_explains_is_a_finding_with_the_numbers() -> None:
    reading = _normalise.read_rate(
        length=_normalise.reported("3.93"), rate=_normalise.reported("0.746"), num_draft_tokens=4, num_steps=3
    )

    (finding,) = reading.findings
    assert reading.convention == "unknown"
    assert finding.code == "RATE_CONVENTION_CONTRADICTS_LENGTH"
    assert "0.746" in finding.message
    assert "0.983" in finding.message


def test_counts_give_length_and_rate_without_any_convention() -> None:
    cell = Measurement(verify_steps=87, accepted_drafts=167, proposed_drafts=259)

    assert cell.accept_length == pytest.approx(2.920, abs=5e-4)
    assert cell.accept_rate == pytest.approx(0.645, abs=5e-4)


def test_conditional_rates_multiply_into_unconditional_ones() -> None:
    assert _normalise.unconditional_rates([0.8, 0.5, 0.25]) == pytest.approx((0.8, 0.4, 0.1))


def test_positions_add_up_to_the_accept_length() -> None:
    positions = [
        Reported(value=value, half_width=0.0005) for value in (0.365, 0.214, 0.151, 0.106, 0.086, 0.071, 0.057)
    ]

    length = _normalise.length_from_positions(positions)

    assert length.value == pytest.approx(2.050, abs=1e-6)
    assert length.half_width == pytest.approx(0.0035)


def _codes(cell: Measurement, **options: object) -> set[str]:
    return {finding.code for finding in _identities.check(cell, **options)}  # type: ignore[arg-type]


def test_a_cell_that_meets_every_identity_has_no_finding() -> None:
    cell = Measurement(
        concurrency=1,
        output_tokens=18000,
        wall_s=48.40,
        verify_steps=5153,
        accepted_drafts=12846,
        reported_throughput_tok_s=Reported(value=371.88, half_width=0.005),
        reported_accept_length=Reported(value=3.4928),
    )

    assert _codes(cell, num_steps=8, position_rates=(0.70, 0.52, 0.40, 0.30, 0.22, 0.16, 0.115, 0.0779)) == set()


@pytest.mark.parametrize(
    ("cell", "options", "code"),
    [
        (Measurement(verify_steps=4, accepted_drafts=5, accepted_histogram=(1, 1, 1)), {}, "IDENTITY_HISTOGRAM"),
        (Measurement(verify_steps=4, accepted_drafts=6, accepted_histogram=(1, 1, 2)), {}, "IDENTITY_HISTOGRAM"),
        (
            Measurement(verify_steps=100, accepted_drafts=150, reported_accept_length=Reported(value=1.5)),
            {},
            "IDENTITY_ACCEPT_LENGTH",
        ),
        (Measurement(reported_accept_length=Reported(value=0.8)), {}, "IDENTITY_ACCEPT_LENGTH"),
        (Measurement(reported_accept_length=Reported(value=4.2)), {"num_steps": 2}, "IDENTITY_ACCEPT_LENGTH"),
        (
            Measurement(reported_accept_length=Reported(value=1.9)),
            {"position_rates": (0.7, 0.5)},
            "IDENTITY_POSITION_RATES",
        ),
        (
            Measurement(reported_accept_length=Reported(value=8.0)),
            {"position_rates": (1.0,) * 7},
            "ACCEPTANCE_SATURATED",
        ),
        (
            Measurement(output_tokens=1000, wall_s=10.0, reported_throughput_tok_s=Reported(value=120.0)),
            {},
            "IDENTITY_THROUGHPUT",
        ),
    ],
)
def test_a_violated_identity_is_found(cell: Measurement, options: dict[str, object], code: str) -> None:
    assert code in _codes(cell, **options)


def test_conditional_positions_are_recognised_as_such() -> None:
    cell = Measurement(reported_accept_length=Reported(value=2.3))

    (finding,) = _identities.check(cell, position_rates=(0.8, 0.5, 0.25))

    assert finding.fix is not None
    assert "conditional" in finding.fix


def test_many_cells_with_one_complaint_make_one_finding() -> None:
    cells = [Measurement(concurrency=n, reported_accept_length=Reported(value=0.5)) for n in range(1, 8)]

    merged = _identities.merge([finding for cell in cells for finding in _identities.check(cell)])

    assert len(merged) == 1
    assert "4 more" in merged[0].message


def test_a_rate_that_no_width_explains_contradicts_the_length_beside_it() -> None:
    reading = _normalise.read_rate(
        length=_normalise.reported("3.93"), rate=_normalise.reported("0.746"), num_draft_tokens=None, num_steps=None
    )

    (finding,) = reading.findings
    assert finding.code == "RATE_CONVENTION_CONTRADICTS_LENGTH"
    assert "0.746" in finding.message
    assert "3.93" in finding.message


def test_the_rate_of_0_5_4_over_a_tree_is_no_contradiction() -> None:
    reading = _normalise.read_rate(
        length=_normalise.reported("2.60"), rate=_normalise.reported("0.65"), num_draft_tokens=16, num_steps=3
    )

    assert reading.findings == ()


@pytest.mark.parametrize(
    ("rate", "itl_ms", "drafts"),
    [("0.3116", 8.23, 8), ("0.60", 2.8 * 2.38, 3), ("0.02", 1.5 * 2.38, None), ("0.9", 2.38, None), ("0", 8.0, None)],
)
def test_drafts_a_step_follow_from_rate_and_gaps_where_one_number_fits(
    rate: str, itl_ms: float, drafts: int | None
) -> None:
    printed = _normalise.reported(rate)

    assert printed is not None
    assert _normalise.drafts_from_gaps(printed, itl_ms=itl_ms, tpot_ms=2.38) == drafts
