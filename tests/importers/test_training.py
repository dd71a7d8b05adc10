"""Training logs and trainer states."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracker import importers
from tracker.domain.training import MetricPoint
from tracker.errors import InputError
from tracker.importers import _history

DATA = Path(__file__).resolve().parents[1] / "data"


def test_records_glued_to_a_progress_bar_are_found_and_the_bar_is_not_read_as_metrics() -> None:
    (run,) = importers.read(DATA / "train_log" / "progress.log")

    assert run.kind == "training"
    assert run.training is not None
    assert run.training.optimizer_steps == 2
    names = {point.name for point in run.training.history}
    assert names == {"train_loss", "train_acc", "train_tau_sim", "lr"}
    assert MetricPoint(name="train_acc", step=1, value=0.1) in run.training.history


def test_a_simulated_accept_length_is_never_a_measured_one() -> None:
    (run,) = importers.read(DATA / "train_log" / "progress.log")

    assert run.measurements == ()


@pytest.mark.parametrize(
    ("name", "steps", "last"),
    [
        ("C26.train_eagle1_components.log", 300, MetricPoint(name="loss", step=300, value=2.7658)),
        ("C26.train_eagle3_plain.log", 100, MetricPoint(name="train_tau_sim", step=100, value=1.1065)),
        ("C26.train_eagle3_progressbar.log", 18, MetricPoint(name="train_tau_sim", step=18, value=1.0825)),
    ],
)
def test_published_training_logs_are_read(shared_data: Path, name: str, steps: int, last: MetricPoint) -> None:
    (run,) = importers.read(shared_data / "cases" / "data" / name)

    assert run.training is not None
    assert run.training.optimizer_steps == steps
    assert last in run.training.history


def test_a_long_history_is_thinned_and_keeps_its_last_point(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(f"epoch=0 step={step} loss={step}.5\n" for step in range(1, 5003)))

    (run,) = importers.read(path)

    assert run.training is not None
    assert len(run.training.history) <= _history.MAX_POINTS_A_METRIC
    assert run.training.history[-1] == MetricPoint(name="loss", step=5002, value=5002.5)


def test_a_list_of_drafters_gives_one_training_each(shared_data: Path) -> None:
    runs = importers.read(shared_data / "h200-tiny-llama" / "train_log.json")

    trainings = [run.training for run in runs if run.training is not None]
    assert [training.samples for training in trainings] == [100, 1000, 10000, 30000, 100000]
    assert [training.optimizer_steps for training in trainings] == [120, 156, 1200, 1200, 1200]
    assert trainings[0].validation_position_accuracy == (0.2693, 0.2308, 0.2081, 0.176, 0.1589)
    assert trainings[0].tokens == 25600
    assert runs[0].drafter is not None
    assert runs[0].drafter.vocabulary_coverage_fraction == pytest.approx(0.939, abs=5e-4)


def test_a_trainer_state_gives_steps_and_history_and_no_invented_tokens() -> None:
    (run,) = importers.read(DATA / "hf_trainer_state" / "trainer_state.json")

    assert run.training is not None
    assert (run.training.optimizer_steps, run.training.epochs, run.training.tokens) == (20, 0.5, None)
    assert MetricPoint(name="train_acc/parallel_0_step_0", step=20, value=0.41) in run.training.history
    assert run.training.samples is None
    assert run.tags == {"best_model_checkpoint": "checkpoint-20"}


def test_a_cut_trainer_state_says_so(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes((DATA / "hf_trainer_state" / "trainer_state.json").read_bytes()[:-30])

    with pytest.raises(InputError, match="no whole JSON"):
        importers.read(path)


def test_a_training_log_cut_within_a_record_says_so(shared_data: Path, tmp_path: Path) -> None:
    whole = (shared_data / "cases" / "data" / "C26.train_eagle3_progressbar.log").read_bytes()
    path = tmp_path / "train.log"
    path.write_bytes(whole[:-40])

    (run,) = importers.read(path)

    assert run.missing == "the last line may be cut; it was left out"
    assert run.training is not None
    assert run.training.optimizer_steps == 17
