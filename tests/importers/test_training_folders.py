"""Training folders, event files and the data they were trained on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tracker import importers
from tracker.domain.training import MetricPoint
from tracker.errors import InputError
from tracker.importers import _tfevents

DATA = Path(__file__).resolve().parents[1] / "data"


def test_the_framing_is_tensorflows_own() -> None:
    """The first twelve bytes of every event file in the world: length 24 and its masked checksum."""
    head = (DATA / "tensorboard_events" / "events.out.tfevents.1").read_bytes()[:12]

    assert head == b"\x18\x00\x00\x00\x00\x00\x00\x00\xa3\x7fK\x22"
    assert _tfevents.looks_like((DATA / "tensorboard_events" / "events.out.tfevents.1").read_bytes())


def test_scalars_come_as_the_trainer_wrote_them() -> None:
    (run,) = importers.read(DATA / "tensorboard_events" / "events.out.tfevents.1")

    assert run.training is not None
    assert run.training.optimizer_steps == 20
    assert MetricPoint(name="train/acc_0", step=10, value=0.4) in run.training.history


def test_a_damaged_record_is_refused_and_not_read_as_a_number(tmp_path: Path) -> None:
    content = bytearray((DATA / "tensorboard_events" / "events.out.tfevents.1").read_bytes())
    content[-20] ^= 1
    path = tmp_path / "events"
    path.write_bytes(content)

    with pytest.raises(InputError, match="is damaged"):
        importers.read(path)


def test_an_event_file_cut_while_training_gives_its_whole_records(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.write_bytes((DATA / "tensorboard_events" / "events.out.tfevents.1").read_bytes()[:-5])

    (run,) = importers.read(path)

    assert run.training is not None
    assert run.training.optimizer_steps == 10
    assert run.missing is not None


def test_a_specforge_folder_tells_steps_settings_metrics_and_counts_its_data() -> None:
    (run,) = importers.read(DATA / "specforge_run" / "qwen3-10k")

    training = run.training
    assert run.kind == "training"
    assert run.measurements == ()
    assert training is not None
    assert (training.optimizer_steps, training.epochs) == (200, 2.0)
    assert (training.samples, training.unique_samples, training.tokens) == (3, 2, None)
    assert training.validation_position_accuracy == (0.6, 0.5)
    assert training.hyperparameters["training.learning_rate"] == 0.0001
    assert run.target is not None
    assert run.target.path == "org/Qwen3-8B"
    assert run.tags["best.metric"] == "eval/simulated_acc_len"


def test_a_limit_on_the_samples_leaves_the_distinct_ones_unknown(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(DATA / "specforge_run" / "qwen3-10k", folder)
    config = folder / "config.yaml"
    config.write_text(config.read_text().replace("max_length: 4096", "max_prompts: 2"))

    (run,) = importers.read(folder)

    assert run.training is not None
    assert (run.training.samples, run.training.unique_samples) == (2, None)


def test_a_speculators_folder_tells_command_versions_and_why_data_is_not_counted() -> None:
    (run,) = importers.read(DATA / "speculators_run" / "eagle3-5k")

    assert run.training is not None
    assert (run.training.optimizer_steps, run.training.epochs, run.training.samples) == (150, 3.0, None)
    assert run.tags["train.vllm"] == "0.20.0"
    assert run.target is not None
    assert run.target.name == "Qwen3-8B"
    assert [finding.code for finding in run.findings] == ["TRAINING_DATA_NOT_COUNTED"]


def test_secrets_on_a_training_command_are_not_kept(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "train_command.txt").write_text(
        "# speculators: 0.5.0\ntrain.py --epochs 1 --hub-token hf_abcdefghijklmnopqrstuvwxyz123456\n"
    )

    (run,) = importers.read(folder)

    assert run.training is not None
    assert "hf_abcdefghijklmnopqrstuvwxyz123456" not in json.dumps(dict(run.training.hyperparameters))


def test_samples_are_counted_with_repeats_and_without() -> None:
    (run,) = importers.read(DATA / "training_data" / "conversations.jsonl")

    assert run.training is not None
    assert (run.training.samples, run.training.unique_samples, run.training.tokens) == (3, 2, None)


def test_tokens_are_counted_where_every_sample_carries_them(tmp_path: Path) -> None:
    path = tmp_path / "mixed.jsonl"
    path.write_text((DATA / "training_data" / "tokens.jsonl").read_text() + '{"conversations": []}\n')

    (whole,) = importers.read(DATA / "training_data" / "tokens.jsonl")
    (mixed,) = importers.read(path)

    assert whole.training is not None
    assert mixed.training is not None
    assert (whole.training.tokens, mixed.training.tokens) == (6, None)


def test_rows_of_a_parquet_file_are_counted_like_lines(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "train.bin"
    pq.write_table(pa.table({"id": [1, 2, 3], "input_ids": [[1, 2], [3], [1, 2]]}), path)

    (run,) = importers.read(path)

    assert run.training is not None
    assert (run.training.samples, run.training.unique_samples, run.training.tokens) == (3, 2, 5)


def test_a_cut_parquet_file_is_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    whole = tmp_path / "train.parquet"
    pq.write_table(pa.table({"input_ids": [[1, 2], [3]]}), whole)
    path = tmp_path / "cut.parquet"
    path.write_bytes(whole.read_bytes()[:-20])

    with pytest.raises(InputError, match="cut or damaged"):
        importers.read(path, "training_data")


def test_a_trainer_without_samples_is_read_as_what_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    (folder / "run-step5").mkdir(parents=True)
    (folder / "run-step5" / "training_state.pt").write_bytes(b"")

    (run,) = importers.read(folder)

    assert run.training is not None
    assert (run.training.optimizer_steps, run.training.samples) == (5, None)
