"""The clean H200 campaign as measured: a curve at five epochs, two drafters beside it, and no form that fits."""

from __future__ import annotations

import dataclasses
import functools
import json
import tomllib

import pytest

from tests.analysis.campaigns import H200, H200_LOADS, LOGGED, WINDOW, h200_cells, h200_row
from tracker.analysis.campaign import analyse
from tracker.analysis.results import ScalingFit
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.provenance import Provenance
from tracker.domain.record import RunRecord, StoredRun
from tracker.domain.server import Speculation
from tracker.domain.training import Training
from tracker.domain.workload import Workload
from tracker.resources import experiments_dir

FOLDER = experiments_dir() / "h200-tiny-llama-clean"
CHAIN = "-3-1-4"
# Share of the forecast from the six smaller sizes at or below what 100,000 samples measured: the curve flattens sooner.
PIT = {1: 0.084, 8: 0.087, 32: 0.108}


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
def test_seven_sizes_at_five_epochs_are_one_curve_under_the_names_of_the_campaign(load: int) -> None:
    fit = fit_at(load)

    assert [point.samples for point in fit.points] == [1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000]
    assert [point.epochs for point in fit.points] == pytest.approx([5.0] * 7, abs=0.01)
    assert fit.reason is not None
    assert "7 sizes trained alike, at 5 epochs each, so steps grow with the data." in fit.reason
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
        "2,000 samples at 10 instead of 5 epochs: 1.84 against 1.47; "
        "10,000 samples at 10 instead of 5 epochs: 2.95 against 2.84"
    )


@pytest.mark.parametrize("load", H200_LOADS)
def test_the_jump_before_ten_thousand_samples_is_in_none_of_the_forms_at_any_load(load: int) -> None:
    fit = fit_at(load)

    assert fit.status == "refused"
    assert fit.forecast == ()
    assert fit.worst_residual_se == pytest.approx(3.07, abs=0.05)
    assert fit.reason is not None
    assert "10,000 samples lie 3.1 standard errors above the curve" in fit.reason
    assert fit.effective_sample_size is not None
    assert fit.effective_sample_size > 1000


@pytest.mark.parametrize("load", H200_LOADS)
def test_the_cure_is_training_to_the_end_and_not_more_steps_for_eight_sizes(load: int) -> None:
    cure = fit_at(load).cure

    assert cure is not None
    assert cure.startswith("Train every size until more passes bring nothing")
    assert "7,812" not in cure


@pytest.mark.parametrize("load", H200_LOADS)
def test_the_largest_size_falls_low_in_what_the_smaller_ones_predict(load: int) -> None:
    held = fit_at(load).hold_out

    assert held is not None
    assert held.samples == 100_000
    assert held.pit == pytest.approx(PIT[load], abs=0.02)
