"""Assumptions in words: prices that a reader can read."""

from __future__ import annotations

import dataclasses

import pytest

from tests.analysis.builders import BASE, drafter
from tests.analysis.campaigns import FOUNDING, WINDOW
from tracker.analysis.campaign import analyse
from tracker.domain.campaign import Costs


def price_of_data(**costs: float) -> str:
    campaign = dataclasses.replace(
        FOUNDING, claims=(), deployed_run=None, costs=Costs(gpus=8, horizon_days=90, **costs)
    )
    found = analyse((BASE, drafter(10_000, "2.05")), campaign=campaign, window=WINDOW)
    (note,) = (item for item in found.assumptions if item.topic == "price of data")
    return note.message


@pytest.mark.parametrize(
    ("price", "words"),
    [
        (0.00257, "0.00257 GPU-hours a sample, all phases together"),
        (0.25, "0.25 GPU-hours a sample, all phases together"),
        (1.83e-7, "0.183 GPU-hours a million samples, all phases together"),
    ],
)
def test_the_price_of_a_sample_is_said_in_figures_that_can_be_read(price: float, words: str) -> None:
    assert price_of_data(gpu_hours_per_sample=price).startswith(words)


def test_generation_that_alone_costs_more_than_the_price_says_what_it_takes() -> None:
    text = price_of_data(gpu_hours_per_sample=2e-7, generation_tok_s=1e7, tokens_per_sample=1e4)

    assert "0.2 GPU-hours a million samples" in text
    assert "Generating at the measured 10,000,000 tok/s alone takes 2.22 GPU-hours a million samples: " in text


def test_without_a_price_it_is_the_published_one() -> None:
    assert price_of_data().startswith("0.0025 GPU-hours a sample of about 10,000 tokens")
