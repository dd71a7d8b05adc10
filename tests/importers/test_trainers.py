"""Trainers' own runs in a tracking store, by the parameters and metrics that they really write."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trainer_runs import SPECFORGE_0_1, SPECFORGE_0_2, SPECULATORS_POINTS, points, specforge_points
from tracker.domain.trainer_run import TrainerRun
from tracker.domain.training import MetricPoint
from tracker.errors import InputError, TrackerError, UnknownFormatError
from tracker.importers import trainers


def _run(**changes: Any) -> TrainerRun:
    given: dict[str, Any] = {
        "run_id": "a" * 32,
        "experiment": "drafters",
        "name": "kimi-eagle3",
        "status": "FINISHED",
        "started_at": datetime(2026, 11, 20, 8, tzinfo=UTC),
    }
    return TrainerRun(**(given | changes))


def _specforge(params: dict[str, str] = SPECFORGE_0_2, **changes: str) -> TrainerRun:
    return _run(params=params | changes, points=specforge_points())


def _speculators(**changes: Any) -> TrainerRun:
    return _run(**({"points": points(SPECULATORS_POINTS)} | changes))


def test_every_trainer_is_named_like_its_module_and_has_a_one_line_title() -> None:
    for name, trainer in trainers.trainers().items():
        assert trainer.name == name
        assert trainer.title
        assert "\n" not in trainer.title


@pytest.mark.parametrize("params", [SPECFORGE_0_1, SPECFORGE_0_2], ids=["0.1", "0.2"])
def test_exactly_one_trainer_claims_a_run_of_specforge(params: dict[str, str]) -> None:
    assert trainers.read(_specforge(params))[0] == "specforge"


def test_exactly_one_trainer_claims_a_run_of_speculators() -> None:
    assert trainers.read(_speculators())[0] == "speculators"


def test_a_specforge_run_tells_budget_settings_history_and_the_drafter_it_made() -> None:
    _, run = trainers.read(_specforge())

    training = run.training
    assert training is not None
    assert run.kind == "training"
    assert run.measurements == ()
    assert (training.optimizer_steps, training.epochs, training.batch_size) == (400, 2.0, 16)
    assert training.samples_seen == 400 * 16
    assert training.hyperparameters["training.learning_rate"] == 0.0001
    assert training.validation_position_accuracy == (0.75, 0.6, 0.5)
    assert MetricPoint(name="eval/simulated_acc_len", step=400, value=1.425) in training.history
    assert run.drafter is not None
    assert (run.drafter.name, run.drafter.path) == ("kimi-eagle3-100k", "/train/out/kimi-eagle3-100k")
    assert run.target is not None
    assert run.target.name == "Kimi-K2.5"
    assert run.measured_at == datetime(2026, 11, 20, 8, tzinfo=UTC)


def test_an_older_specforge_counts_its_samples_by_groups_of_processes() -> None:
    _, run = trainers.read(_specforge(SPECFORGE_0_1))

    assert run.training is not None
    # 4 groups of 2 processes, one sample each, 2 batches a step.
    assert (run.training.batch_size, run.training.samples_seen) == (16, 6400)


def test_under_sequence_parallelism_the_samples_seen_are_unknown_and_the_reason_is_said() -> None:
    _, run = trainers.read(_specforge(**{"training.sp_ulysses_size": "2"}))

    assert run.training is not None
    assert (run.training.batch_size, run.training.samples_seen) == (None, None)
    (finding,) = [item for item in run.findings if item.code == "SAMPLES_SEEN_UNKNOWN"]
    assert "sequence parallelism" in finding.message


def test_the_data_of_a_specforge_run_is_counted_where_it_is_on_this_machine(tmp_path: Path) -> None:
    data = tmp_path / "train.jsonl"
    data.write_text('{"conversations": [1]}\n{"conversations": [2]}\n{"conversations": [1]}\n')

    _, run = trainers.read(_specforge(**{"data.train_data_path": str(data)}))

    assert run.training is not None
    assert (run.training.samples, run.training.unique_samples, run.training.data_name) == (3, 2, "train.jsonl")


def test_data_elsewhere_is_named_and_not_counted() -> None:
    _, run = trainers.read(_specforge())

    assert run.training is not None
    assert (run.training.samples, run.training.data_name) == (None, "perfect-blend-100k.jsonl")
    assert [item.code for item in run.findings] == ["TRAINING_DATA_NOT_COUNTED"]


def test_keys_of_other_services_and_unset_arguments_are_not_kept() -> None:
    _, run = trainers.read(_specforge(SPECFORGE_0_1))

    assert run.training is not None
    kept = run.training.hyperparameters
    assert "wandb_key" not in kept
    assert "resume_from" not in kept
    assert "0123456789abcdef" not in str(kept)


def test_a_speculators_run_tells_steps_epochs_and_accuracies_and_what_it_does_not_say() -> None:
    _, run = trainers.read(_speculators())

    training = run.training
    assert training is not None
    # Steps are counted from 0, epochs too.
    assert (training.optimizer_steps, training.epochs) == (300, 3.0)
    assert training.validation_position_accuracy == pytest.approx((0.8, 0.75, 0.5))
    assert (training.samples, training.tokens, training.batch_size, run.target) == (None, None, None, None)
    assert [item.code for item in run.findings] == ["TRAINING_DATA_NOT_COUNTED"]


def test_a_killed_speculators_run_has_as_many_epochs_as_were_validated() -> None:
    _, run = trainers.read(_speculators(status="KILLED"))

    assert run.training is not None
    assert run.training.epochs == 2.0


def test_a_run_of_no_known_trainer_is_refused_with_its_metrics_and_the_trainers_there_are() -> None:
    run = _run(params={"lr": "0.1"}, points=points({"loss": {0: 1.0}, "auc": {0: 0.5}}))

    with pytest.raises(UnknownFormatError, match=r"auc, loss.*Known trainers: specforge, speculators"):
        trainers.read(run)


def test_an_unknown_trainer_by_name_is_refused() -> None:
    with pytest.raises(UnknownFormatError, match="there is no trainer `axolotl`"):
        trainers.read(_speculators(), "axolotl")


def test_a_run_without_metrics_is_refused() -> None:
    with pytest.raises(InputError, match="holds no metrics"):
        trainers.read(_run(params=SPECFORGE_0_2))


TEXTS = st.one_of(st.text(max_size=12), st.sampled_from(["None", "nan", "inf", "-1", "1e400", "9" * 40, "True", "/"]))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    params=st.dictionaries(st.sampled_from(sorted(SPECFORGE_0_2)), TEXTS),
    values=st.lists(
        st.tuples(
            st.sampled_from(["train/loss", "val/full_acc_0_epoch", "eval/per_position_acc/0", "epoch", "global_step"]),
            st.integers(0, 10**12),
            st.floats(allow_nan=True, allow_infinity=True),
        ),
        max_size=8,
    ),
    trainer=st.sampled_from(sorted(trainers.trainers())),
)
def test_odd_parameters_and_metrics_never_end_in_a_traceback(
    params: dict[str, str], values: list[tuple[str, int, float]], trainer: str
) -> None:
    found = tuple(MetricPoint(name=name, step=step, value=value) for name, step, value in values)
    run = _run(params=SPECFORGE_0_2 | params, points=found)

    try:
        _, read = trainers.read(run, trainer)
    except TrackerError:
        return
    assert read.training is not None
    assert read.training.samples is None
