"""Priors are a file that people edit; mistakes in it are named."""

from __future__ import annotations

from importlib import resources

import pytest

from tracker.analysis.priors import DEFAULT_PRIORS, load_priors
from tracker.errors import InputError

TEXT = resources.files("tracker.analysis").joinpath("priors.toml").read_text(encoding="utf-8")


def test_the_packaged_file_is_the_default() -> None:
    assert load_priors(TEXT) == DEFAULT_PRIORS
    assert DEFAULT_PRIORS.gpu_hours_per_sample == 0.0025
    assert DEFAULT_PRIORS.published_break_even[0].value == 1.84


def test_an_edited_number_is_used() -> None:
    assert load_priors(TEXT.replace("tau = 0.06", "tau = 0.1")).tau == 0.1


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("tau = 0.06", "", "missing: tau"),
        ("tau = 0.06", "tau = 0.06\ntaw = 1", "unknown: taw"),
        ("tau = 0.06", 'tau = "0.06"', "tau must be a number"),
        ("tau = 0.06", "tau = true", "tau must be a number"),
        ("tau = 0.06", "tau = = 1", "not valid TOML"),
        ('version = "2026-11-b"', "version = 3", "version must be a text"),
        ("[noise]", "[noises]", "unknown: noises"),
        ("eagle_topk = 1", "", "published_break_even"),
    ],
)
def test_a_mistake_in_the_file_is_named(before: str, after: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        load_priors(TEXT.replace(before, after, 1), where="my.toml")

    assert caught.value.where == "my.toml"


def test_a_steeper_slope_is_steeper_in_all_three_forms() -> None:
    steeper = DEFAULT_PRIORS.scale_slope(2)

    assert steeper.slope_mean == 2 * DEFAULT_PRIORS.slope_mean
    assert steeper.power_median == 2 * DEFAULT_PRIORS.power_median
    assert steeper.linear_mean == 2 * DEFAULT_PRIORS.linear_mean
    assert steeper.level_mean == DEFAULT_PRIORS.level_mean
