"""Originals are kept without the texts people wrote or models answered, whatever the format."""

from __future__ import annotations

import gzip
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
        ("marked.jsonl", '\ufeff{"prompt": "%s", "latency": 1.0}\n'),
        ("table.csv", "prompt,output_tok_s\n%s,100.0\n"),
        ("table.csv", 'note,answer\nx,"%s, and\nmore"\n'),
        ("table.md", "| prompt | tok/s |\n|---|---|\n| %s | 100 |\n"),
        ("vllm.log", "INFO 05-08 16:25:01 Received request c-1: prompt: '%s', params: SamplingParams(n=1)\n"),
        ("vllm.log", "INFO 05-08 16:25:01 Received request c-1: prompt: \"it's %s"),
        ("sglang.log", "[2026-06-10 12:00:00] Receive: obj=GenerateReqInput(rid='1', text='%s', stream=False)\n"),
        ("sglang.log", "[2026-06-10 12:00:00] Finish: obj=X(), out={'text': '%s', 'meta_info': {}}\n"),
        ("chat.log", "[2026-06-10 12:00:00] Receive: obj=X(messages=[{'role': 'user', 'content': '%s'}])\n"),
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


LOG = (
    "[2026-06-10 12:00:00] server_args=ServerArgs(model_path='m', chat_template='chatml')\n"
    "[2026-06-10 12:00:01] Decode batch, #running-req: 1, accept len: 2.50, gen throughput (token/s): 100.00\n"
)


def test_a_servers_log_without_texts_is_kept_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(LOG)

    (kept,) = originals.keep(path)

    assert kept.content.decode() == LOG


@pytest.mark.parametrize("content", [gzip.compress(LOG.encode()), LOG.encode("utf-16")], ids=["gzip", "UTF-16"])
def test_a_packed_or_recoded_original_is_kept_readable(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "server.log.gz"
    path.write_bytes(content)

    (kept,) = originals.keep(path)

    assert kept.name == "input/server.log"
    assert kept.content.decode().removeprefix("\ufeff") == LOG


def test_an_original_that_unpacks_to_more_than_is_kept_stays_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "server.log.gz"
    path.write_bytes(gzip.compress(b" " * (originals.MAX_ORIGINAL_BYTES + 1)))

    assert originals.keep(path) == ()


def test_numbers_under_a_telling_name_stay(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("prompt,accept_length\n1,2.50\n")

    (kept,) = originals.keep(path)

    assert kept.content == path.read_bytes()
