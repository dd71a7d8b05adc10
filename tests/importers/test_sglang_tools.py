"""SGLang's other benchmarks, and answers of the OpenAI routes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracker import importers
from tracker.errors import InputError
from tracker.importers.base import ImportedRun

DATA = Path(__file__).resolve().parents[1] / "data"


def _codes(run: ImportedRun) -> list[str]:
    return [finding.code for finding in run.findings]


def test_one_batch_throughput_counts_the_prefill_like_every_other_tool() -> None:
    eagle3, plain = importers.read(DATA / "sglang_one_batch_server" / "eagle3.jsonl")

    assert [cell.concurrency for cell in eagle3.measurements] == [1, 8]
    assert eagle3.measurements[1].output_throughput_tok_s == 8 * 512 / 8.0
    assert eagle3.measurements[1].extra["output_throughput"] == 546.13
    assert eagle3.measurements[0].accept_length == 2.5
    assert _codes(eagle3) == ["ACCEPT_LENGTH_CUMULATIVE"]
    assert plain.measurements[0].accept_length is None


def test_answers_shorter_than_the_refresh_of_the_accept_length_are_named(tmp_path: Path) -> None:
    line = json.loads((DATA / "sglang_one_batch_server" / "eagle3.jsonl").read_text().splitlines()[0])
    path = tmp_path / "short.jsonl"
    path.write_text(json.dumps({**line, "output_len": 16}) + "\n")

    (run,) = importers.read(path)

    assert "ANSWERS_TOO_SHORT_FOR_ACCEPTANCE" in _codes(run)


def test_a_batch_size_measured_twice_becomes_repeats_with_a_pooled_cell(tmp_path: Path) -> None:
    line = (DATA / "sglang_one_batch_server" / "eagle3.jsonl").read_text().splitlines()[0]
    path = tmp_path / "twice.jsonl"
    slower = line.replace('"latency": 4.0', '"latency": 6.0')
    path.write_text(f"{line}\n{slower}\n")

    (run,) = importers.read(path)

    assert [(cell.repeat, cell.output_throughput_tok_s) for cell in run.measurements] == [
        (None, 1024 / 10.0),
        (0, 128.0),
        (1, 512 / 6.0),
    ]


def test_offline_throughput_has_no_concurrency_and_no_accept_length() -> None:
    (run,) = importers.read(DATA / "sglang_offline_throughput" / "one.jsonl")

    (cell,) = run.measurements
    assert (cell.concurrency, cell.output_throughput_tok_s, cell.accept_length) == (None, 250.0, None)
    assert run.engine == "sglang"


def test_the_speculative_grid_gives_break_even_as_the_quotient_of_step_times() -> None:
    base, spec = importers.read(DATA / "sglang_bench_speculative" / "grid.jsonl")

    assert (base.role, spec.name) == ("baseline", "3-1-4")
    for plain, drafted in zip(base.measurements, spec.measurements, strict=True):
        assert plain.accept_length is None
        assert drafted.accept_length is not None
        assert plain.output_throughput_tok_s is not None
        assert drafted.output_throughput_tok_s is not None
        break_even = drafted.accept_length * plain.output_throughput_tok_s / drafted.output_throughput_tok_s
        assert break_even == pytest.approx(drafted.extra["step_time_s"] / plain.extra["step_time_s"])
    assert "THROUGHPUT_FROM_STEP_TIME" in _codes(spec)


def test_a_line_of_another_tool_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mixed.jsonl"
    path.write_text((DATA / "sglang_offline_throughput" / "one.jsonl").read_text() + '{"other": 1}\n')

    with pytest.raises(InputError, match="no offline_throughput result") as caught:
        importers.read(path)

    assert caught.value.where == f"{path}:2"


@pytest.mark.parametrize(
    ("name", "engine", "length", "tokens"),
    [
        ("sglang.jsonl", "sglang", 1 + 55 / 45, 102),
        ("sglang_choices.json", "sglang", 2.1, 22),
        ("vllm.jsonl", "vllm", 1 + 45 / 25, 71),
        ("stream.sse", "sglang", 3.0, 64),
    ],
)
def test_openai_answers_carry_their_drafts_wherever_the_server_puts_them(
    name: str, engine: str, length: float, tokens: int
) -> None:
    (run,) = importers.read(DATA / "openai_answers" / name)

    cell = run.measurements[0]
    assert (run.engine, cell.output_tokens) == (engine, tokens)
    assert cell.accept_length == pytest.approx(length)
    assert run.findings == ()


def test_the_drafts_per_step_that_vllm_names_become_the_speculation() -> None:
    (run,) = importers.read(DATA / "openai_answers" / "vllm.jsonl")

    assert run.speculation is not None
    assert (run.speculation.num_steps, run.speculation.num_draft_tokens) == (4, 5)
    assert run.measurements[0].accepted_histogram == (7, 4, 5, 5, 4)


def test_load_generator_fields_around_an_openai_answer_are_kept() -> None:
    (run,) = importers.read(DATA / "openai_answers" / "sglang.jsonl")

    assert run.measurements[0].output_throughput_tok_s == 51.0
    assert {row.category for row in run.requests} == {"code", "prose"}


def test_a_stream_cut_before_its_end_is_left_out(tmp_path: Path) -> None:
    text = (DATA / "openai_answers" / "stream.sse").read_text()
    path = tmp_path / "cut.sse"
    path.write_text(text + text.replace("data: [DONE]\n", ""))

    (run,) = importers.read(path)

    assert len(run.requests) == 1
    assert run.missing is not None
    assert "[DONE]" in run.missing


def test_a_real_streamed_answer_is_read_by_usage_and_not_by_chunks(shared_data: Path) -> None:
    (run,) = importers.read(shared_data / "h200-tiny-llama" / "endpoints" / "eagle3.chat.sse")

    assert run.measurements[0].output_tokens == 64


def test_lines_of_our_own_load_generator_keep_their_prompt_key_and_client_times(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_text(
        '{"concurrency": 2, "repeat": 0, "category": "code", "prompt_key": "k1", "client_latency_s": 1.5, '
        '"client_ttft_s": 0.5, "meta_info": {"usage": {"prompt_tokens": 9, "completion_tokens": 21}}}\n'
    )

    (run,) = importers.read(path)

    (row,) = run.requests
    assert (row.prompt_key, row.output_tokens, row.latency_s, row.ttft_s) == ("k1", 21, 1.5, 0.5)
    assert run.engine is None


def test_a_speed_that_is_not_accept_length_over_step_time_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "grid.jsonl"
    line = {
        "batch_size": 1, "steps": 3, "topk": 1, "num_draft_tokens": 4, "acc_length": 2.5, "step_time": 0.01,
        "speed": 999.0, "completion_tokens": 1000,
    }  # fmt: skip
    path.write_text(json.dumps(line) + "\n")

    (run,) = importers.read(path)

    (finding,) = [item for item in run.findings if item.code == "IDENTITY_THROUGHPUT"]
    assert "999" in finding.message
    assert "250.00" in finding.message
