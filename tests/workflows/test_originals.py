"""Originals are kept without the texts people wrote or models answered, whatever the format."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracker.workflows import originals

SECRET_TEXT = "the quarterly figures are terrible"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("stream.sse", 'data: {"choices": [{"delta": {"content": "%s"}}]}\n\ndata: [DONE]\n'),
        ("cut.sse", 'data: {"choices": [{"delta": {"content": "%s'),
        ("train.jsonl", '{"conversations": [{"from": "human", "value": "%s"}]}\n'),
        ("report.json", '{"benchmarks": [{"requests": {"successful": [{"request_args": "{body: %s}"}]}}]}'),
        ("report.yaml", "benchmarks:\n- requests:\n    successful:\n    - output: %s\n"),
    ],
)
def test_no_text_of_a_prompt_or_answer_is_kept(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content % SECRET_TEXT)

    kept = originals.keep(path)

    assert all(SECRET_TEXT.encode() not in item.content for item in kept)


def test_settings_of_a_report_stay_readable(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text('{"args": {"data": ["prompt_tokens=256"]}}')

    (kept,) = originals.keep(path)

    assert b"prompt_tokens=256" in kept.content


def test_a_yaml_report_without_texts_is_kept_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "report.yaml"
    path.write_text("benchmarks:\n- metrics:\n    output_tokens_per_second: {successful: {mean: 1.0}}\n")

    (kept,) = originals.keep(path)

    assert kept.content == path.read_bytes()


def test_weights_in_a_training_folder_are_neither_hashed_nor_kept(tmp_path: Path) -> None:
    (tmp_path / "run-step5").mkdir()
    (tmp_path / "run-step5" / "training_state.pt").write_bytes(b"weights")
    (tmp_path / "config.yaml").write_text("training: {num_epochs: 1}\n")

    assert [item.name for item in originals.digests(tmp_path)] == ["config.yaml"]
    assert [item.name for item in originals.keep(tmp_path)] == ["input/config.yaml"]
