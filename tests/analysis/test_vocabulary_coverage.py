"""A vocabulary whose coverage was counted on other text than the one served."""

from __future__ import annotations

import dataclasses

import pytest

from tests.analysis.builders import BASE, analysed, drafter
from tracker.analysis.results import CampaignAnalysis
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.record import StoredRun


def covering(coverage: float, samples: int, length: str) -> StoredRun:
    run = drafter(samples, length, mix="chat", epochs=3)
    named = Checkpoint(name=f"drafter-{samples}", vocabulary_coverage_fraction=coverage)
    return dataclasses.replace(run, record=run.record.replace(drafter=named))


def notes(found: CampaignAnalysis) -> list[str]:
    return [note.message for note in found.data_quality if note.topic == "vocabulary coverage"]


def test_more_accepted_than_the_vocabulary_allows_is_named_and_limits_no_curve() -> None:
    # Three steps with 80 % covered allow 2.95 tokens.
    found = analysed(BASE, covering(0.8, 10_000, "3.20"))

    assert found.scaling.ceiling == 4.0
    assert found.scaling.reason is not None
    assert "A vocabulary that covers 80 % of the tokens allows less than was measured" in found.scaling.reason
    assert found.acceptance.vocabulary is None
    (message,) = notes(found)
    assert "accept length 3.20 is more than a vocabulary that covers 80 % of the tokens allows (2.95)" in message
    medians = [point.median for point in found.scaling.forecast]
    assert medians == sorted(medians)


def test_a_vocabulary_that_allows_what_was_measured_limits_the_curve() -> None:
    found = analysed(BASE, covering(0.8, 10_000, "2.40"))

    assert found.scaling.ceiling == pytest.approx(2.952)
    assert found.acceptance.vocabulary is not None
    assert notes(found) == []


def test_a_hair_above_the_vocabulary_is_the_error_of_a_measurement() -> None:
    found = analysed(BASE, covering(0.8, 10_000, "2.96"))

    assert found.scaling.ceiling == pytest.approx(2.952)
    assert found.acceptance.vocabulary is not None
    assert notes(found) == []


@pytest.mark.parametrize("coverage", [0.0, -0.1, 1.2])
def test_a_coverage_that_is_no_share_counts_for_nothing(coverage: float) -> None:
    found = analysed(BASE, covering(coverage, 10_000, "2.40"))

    assert found.scaling.ceiling == 4.0
    assert found.acceptance.vocabulary is None
    assert notes(found) == []
