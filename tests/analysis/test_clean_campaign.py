"""The clean H200 campaign as measured: a curve at five epochs that levels off, and two drafters beside it."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import tomllib
from pathlib import Path

import pytest

from tests.analysis.campaigns import H200, H200_LOADS, LOGGED, WINDOW, h200_cells, h200_row
from tracker.analysis._forms import Chain
from tracker.analysis.campaign import analyse
from tracker.analysis.hold_out import hold_out
from tracker.analysis.posterior import SizeMeasurement
from tracker.analysis.priors import DEFAULT_PRIORS
from tracker.analysis.results import ScalingFit
from tracker.analysis.uncertainty import quantile
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.provenance import Provenance
from tracker.domain.record import RunRecord, StoredRun
from tracker.domain.server import Speculation
from tracker.domain.training import Training
from tracker.domain.workload import Workload
from tracker.resources import experiments_dir

FOLDER = experiments_dir() / "h200-tiny-llama"
CHAIN = "-3-1-4"
ALL = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
# The smallest was stopped early: it has no value at 32 streams.
SIZES = {1: ALL, 8: ALL, 32: ALL[1:]}
STORED = Path(__file__).resolve().parents[1] / "data" / "analysis" / "pit.json"


def drafters() -> dict[str, Training]:
    listed = tomllib.loads((FOLDER / "campaign.toml").read_text(encoding="utf-8"))["drafters"]
    names = {field.name for field in dataclasses.fields(Training)} - {"cost"}
    return {
        entry["name"]: Training(**{key: value for key, value in entry["training"].items() if key in names})
        for entry in listed
    }


def served(name: str, training: Training | None) -> StoredRun:
    folder = FOLDER / "servers" / (name if training is None else f"{name}{CHAIN}")
    entries = [json.loads(line) for line in (folder / "requests.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = tuple(
        dataclasses.replace(h200_row(entry), prompt_key=entry["prompt_key"])
        for entry in entries
        if "meta_info" in entry
    )
    walls = {(entry["concurrency"], entry["repeat"]): entry["wall_s"] for entry in entries if "wall_s" in entry}
    chain = Speculation(enabled=True, algorithm="EAGLE3", num_steps=3, eagle_topk=1, num_draft_tokens=4)
    record = RunRecord(
        record_id=name,
        kind="benchmark",
        experiment=H200.name,
        name=name,
        role="baseline" if training is None else "candidate",
        speculation=Speculation(enabled=False) if training is None else chain,
        target=Checkpoint(name="target"),
        drafter=None if training is None else Checkpoint(name=name, vocabulary_coverage_fraction=0.9379),
        workload=Workload(prompt_set="prompts", temperature=0.0, ignore_eos=True, max_output_tokens=96),
        measurements=tuple(cell for load in H200_LOADS for cell in h200_cells(rows, walls, load)),
        training=training,
        provenance=Provenance(measured_at=LOGGED, logged_at=LOGGED, tracker_version="0"),
    )
    return StoredRun(run_id=name, record=record, requests=rows)


@functools.cache
def fit_at(load: int) -> ScalingFit:
    runs = [served("baseline-1", None), *(served(name, training) for name, training in drafters().items())]
    return analyse(tuple(runs), campaign=dataclasses.replace(H200, decision_concurrency=load), window=WINDOW).scaling


@pytest.mark.parametrize("load", H200_LOADS)
def test_sizes_at_five_epochs_are_one_curve_under_the_names_of_the_campaign(load: int) -> None:
    fit = fit_at(load)

    assert tuple(point.samples for point in fit.points) == SIZES[load]
    assert [point.epochs for point in fit.points] == pytest.approx([5.0] * len(SIZES[load]), abs=0.01)
    assert fit.reason is not None
    assert f"{len(SIZES[load])} sizes trained alike, at 5 epochs each, so steps grow with the data." in fit.reason
    assert "cannot be told apart" not in fit.reason


@pytest.mark.parametrize("load", H200_LOADS)
def test_drafters_trained_twice_as_long_stand_beside_the_curve(load: int) -> None:
    fit = fit_at(load)

    assert [(point.samples, point.run_id) for point in fit.beside] == [
        (2_000, "eagle3-2000-x2"),
        (10_000, "eagle3-10000-x2"),
    ]
    assert fit.budget_note is not None
    assert "2,000 samples at 10 instead of 5 epochs" in fit.budget_note
    assert "10,000 samples at 10 instead of 5 epochs" in fit.budget_note


def test_what_the_longer_training_brought_at_one_stream() -> None:
    assert fit_at(1).budget_note == (
        "2,000 samples at 10 instead of 5 epochs: 1.72 against 1.50; "
        "10,000 samples at 10 instead of 5 epochs: 2.93 against 2.76"
    )


@pytest.mark.parametrize("load", H200_LOADS)
def test_the_form_with_a_ceiling_of_its_own_passes_through_the_jump_and_the_plateau(load: int) -> None:
    fit = fit_at(load)
    at = {point.samples: point for point in fit.forecast}

    assert fit.status in ("forecast", "qualified")
    assert fit.worst_residual_se is not None
    assert fit.worst_residual_se < 3
    assert fit.effective_sample_size is not None
    assert fit.effective_sample_size >= 300
    # Ten times the data add next to nothing: the curve is flat from 50,000 samples on.
    assert at[1_000_000].median - at[100_000].median == pytest.approx(0.03, abs=0.03)


@pytest.mark.parametrize("load", H200_LOADS)
def test_the_forecast_holds_for_this_training_budget_and_its_cure_is_training_to_the_end(load: int) -> None:
    fit = fit_at(load)

    assert fit.reason is not None
    assert "holds for this training budget alone: at 2,000 and 10,000 samples more passes still raise" in fit.reason
    # The rule of thumb about repeated data is not held against what was measured here.
    assert "repeats add little" not in fit.reason
    if fit.status == "qualified":
        assert fit.cure is not None
        assert fit.cure.startswith("Train every size until more passes bring nothing")
        assert "7,812" not in fit.cure


def held_out(load: int) -> dict[int, float]:
    """Return, for every prefix of the series, where its largest size fell in what the smaller ones predict."""
    fit = fit_at(load)
    assert fit.max_acceptance is not None
    assert fit.ceiling is not None
    chain = Chain(num_steps=3, max_acceptance=fit.max_acceptance, max_length=fit.ceiling)
    sizes = []
    for point in fit.points:
        length, half = point.accept_length.value, point.accept_length.half_width
        assert length is not None
        assert half is not None
        sizes.append(SizeMeasurement(samples=point.samples, length=length, se=half / quantile(0.9, math.inf)))
    found = [hold_out(sizes[:count], chain=chain, priors=DEFAULT_PRIORS, seed=0) for count in range(2, len(sizes) + 1)]
    return {item.samples: item.pit for item in found if item is not None}


def stored(load: int) -> dict[int, float]:
    ranks = json.loads(STORED.read_text(encoding="utf-8"))["pit"]
    start = f"H200 tiny Llama clean, {load} streams, "
    return {int(name.removeprefix(start)): rank for name, rank in ranks.items() if name.startswith(start)}


@pytest.mark.parametrize("load", H200_LOADS)
def test_every_size_falls_where_it_is_stored_to_fall_in_what_the_smaller_ones_predict(load: int) -> None:
    held = fit_at(load).hold_out

    assert held is not None
    assert held.samples == 100_000
    assert held_out(load) == pytest.approx(stored(load), abs=0.02)
    assert held.pit == pytest.approx(stored(load)[100_000], abs=0.02)


@pytest.mark.parametrize("load", H200_LOADS)
def test_from_four_sizes_on_the_next_falls_inside_and_before_that_training_cut_short_jumps_out(load: int) -> None:
    ranks = stored(load)

    assert all(0.1 <= ranks[size] <= 0.9 for size in ranks if size not in (5_000, 10_000))
    # 78 to 390 optimizer steps leave these sizes half trained: they rise faster than any prior of data alone allows.
    assert all(ranks[size] > 0.95 for size in (5_000, 10_000))
