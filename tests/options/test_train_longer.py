"""Training longer: from drafters of twice the passes where they were served, else from published curves."""

from __future__ import annotations

import dataclasses
import math

import pytest

from tests.analysis.builders import BASE, analysed, run
from tests.analysis.test_clean_campaign import drafters, served
from tests.options.test_more_options import decided, known
from tracker.analysis.campaign import analyse
from tracker.analysis.decision import gather
from tracker.analysis.results import DecisionSet, OptionAssessment
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.record import StoredRun
from tracker.domain.server import Speculation
from tracker.domain.training import Training, TrainingCost
from tracker.options import decide

CURVE = ((1_000, "1.60"), (3_000, "1.85"), (10_000, "2.10"), (30_000, "2.30"))


def trained(samples: int, length: str, epochs: float = 3.0, hours: float | None = None) -> StoredRun:
    name = f"drafter-{samples}-{epochs:g}"
    return run(
        name,
        speed=f"{44 * float(length):.1f}",
        length=length,
        drafter=Checkpoint(name=name),
        training=Training(
            samples=samples,
            mix="chat",
            epochs=epochs,
            cost=None if hours is None else TrainingCost(training_gpu_hours=hours),
        ),
    )


def curve(hours: float | None = None) -> list[StoredRun]:
    return [trained(samples, length, hours=hours) for samples, length in CURVE]


def option(*longer: StoredRun, hours: float | None = None) -> OptionAssessment:
    return known(decided(BASE, *curve(hours), *longer), "train_longer")


def speed(found: OptionAssessment) -> float:
    value = found.expected_tok_s.value
    assert value is not None
    return value


TODAY = 44 * 2.30


def test_without_a_longer_training_published_curves_are_used_and_named() -> None:
    found = option()

    assert found.evidence is not None
    assert found.evidence.startswith("Published: accept length changes by −3.0 % to 2.0 % with more passes")
    assert speed(found) == pytest.approx(TODAY * 0.995, rel=0.01)


def test_a_longer_training_of_the_same_size_is_the_gain() -> None:
    found = option(trained(30_000, "2.53", epochs=6.0))

    assert found.evidence is not None
    assert "30,000 samples 2.30 at 3 passes, 2.53 at 6" in found.evidence
    assert "The gain is the one measured at this size" in found.evidence
    assert speed(found) == pytest.approx(TODAY * 1.10, rel=0.01)


def test_a_gain_that_shrinks_with_data_is_carried_on() -> None:
    # 20 % at 1,000 and 5 % at 10,000 samples: a power of -0.58, so 2.7 % at 30,000.
    found = option(
        trained(1_000, f"{1.60 * math.exp(0.20):.2f}", epochs=6.0),
        trained(10_000, f"{2.10 * math.exp(0.05):.2f}", epochs=6.0),
    )

    assert found.evidence is not None
    assert "The gain shrinks with data; carried on to 30,000 it is 2.7 %" in found.evidence
    assert speed(found) == pytest.approx(TODAY * 1.027, rel=0.01)


def test_one_longer_training_of_another_size_bounds_the_gain() -> None:
    found = option(trained(10_000, "2.31", epochs=6.0))

    assert found.evidence is not None
    assert "At 30,000 samples anything from none to 9.5 % is taken as equally likely" in found.evidence
    assert speed(found) == pytest.approx(TODAY * 1.048, rel=0.015)


def test_it_costs_the_passes_alone_where_training_was_recorded_by_phase() -> None:
    longer = trained(30_000, "2.53", epochs=6.0, hours=4.0)
    found = option(longer, hours=2.0)
    unknown = option(trained(30_000, "2.53", epochs=6.0))

    assert found.cost_gpu_hours == pytest.approx(4.0)
    assert [part.phase for part in found.cost_split] == ["training"]
    assert unknown.cost_gpu_hours == pytest.approx(30_000 * 0.0025)


def clean() -> DecisionSet:
    baseline = served("baseline-1", None)
    runs = (baseline, *(served(name, training) for name, training in drafters().items()))
    campaign = dataclasses.replace(analysed().campaign, decision_concurrency=1, name="h200-tiny-llama")
    window = analysed().window
    return decide(gather(analyse(runs, campaign=campaign, window=window)))


def test_the_clean_campaign_says_what_its_longer_trainings_showed() -> None:
    found = known(clean(), "train_longer")

    assert found.evidence is not None
    assert (
        "2,000 samples 1.50 at 5 passes, 1.72 at 10 and 10,000 samples 2.76 at 5 passes, 2.93 at 10" in found.evidence
    )
    # 15 % at 2,000 and 6.4 % at 10,000 samples leave little at 100,000.
    assert "carried on to 100,000 it is 1.6 %" in found.evidence
    assert found.rank is not None


def deep(name: str, length: str, speed: str, samples: int = 30_000) -> StoredRun:
    """Return the largest drafter of the curve on a chain of seven steps."""
    seven = Speculation(enabled=True, algorithm="EAGLE3", num_steps=7, eagle_topk=1, num_draft_tokens=8)
    training = Training(samples=samples, mix="chat", epochs=3.0)
    return run(name, speed=speed, length=length, speculation=seven, drafter=Checkpoint(name=name), training=training)


def test_more_data_are_served_in_the_fastest_configuration_measured() -> None:
    found = known(decided(BASE, *curve(), deep("deep", "3.00", "150.0")), "more_data_300000")
    shallow = known(decided(BASE, *curve()), "more_data_300000")

    assert found.configuration == "EAGLE3 7-1-8"
    assert shallow.configuration == "EAGLE3 3-1-4"
    assert found.evidence is not None
    assert "Served as EAGLE3 7-1-8, the fastest here" in found.evidence
    assert speed(found) / 150 == pytest.approx(speed(shallow) / TODAY, rel=0.02)
