"""llama.cpp's logs and printed benchmark, and evalscope's summary."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracker import importers

DATA = Path(__file__).resolve().parents[1] / "data"
TOLERANCE = 0.01


@pytest.mark.parametrize(
    ("name", "throughput", "length"),
    [
        ("C33.llama_speculative.log", 10.781, 6.40),
        ("C34.llama_speculative_simple_eagle3.log", 4.701, 1.36),
        ("C62.llama_speculative_2023.log", 0.519, 129 / 82),
        ("C62.llama_formats_real.log", None, 2.92),
    ],
)
def test_published_logs_give_their_accept_length(
    shared_data: Path, name: str, throughput: float | None, length: float
) -> None:
    (run,) = importers.read(shared_data / "cases" / "data" / name)

    cell = run.measurements[0]
    assert cell.accept_length == pytest.approx(length, rel=TOLERANCE)
    assert cell.output_throughput_tok_s == (None if throughput is None else pytest.approx(throughput, rel=TOLERANCE))
    assert run.engine == "llama.cpp"


def test_a_rate_of_98_per_cent_is_an_accept_length_of_2_4(shared_data: Path) -> None:
    (run,) = importers.read(shared_data / "cases" / "data" / "C62.llama_formats_docker_prefixed.log")

    first = run.requests[0]
    assert (first.verify_steps, first.accepted_drafts, first.proposed_drafts) == (861, 1186, 1207)
    assert run.measurements[0].accept_length == pytest.approx(2.37, rel=TOLERANCE)


def test_statistics_without_requests_are_named_as_lifetime_counters(shared_data: Path) -> None:
    runs = importers.read(shared_data / "cases" / "data" / "C62.llama_formats_old.log")

    assert [run.name for run in runs] == ["ngram_map_k", "ngram_mod"]
    assert [run.measurements[0].verify_steps for run in runs] == [1690, 810]
    assert all([finding.code for finding in run.findings] == ["COUNTERS_SINCE_START"] for run in runs)


def test_statistics_that_add_up_since_the_start_are_taken_apart_by_request() -> None:
    (run,) = importers.read(DATA / "llama_cpp_log" / "server.log")

    assert [row.verify_steps for row in run.requests] == [40, 20]
    assert run.measurements[0].accept_length == 2.5
    assert run.measurements[0].output_throughput_tok_s == pytest.approx(152 / 3.0)
    assert run.speculation is not None
    assert run.speculation.algorithm == "EAGLE3"


def test_two_slots_at_once_have_no_wall_time(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text((DATA / "llama_cpp_log" / "server.log").read_text().replace("id  0 | task 1", "id  1 | task 1"))

    (run,) = importers.read(path)

    assert run.measurements[0].output_throughput_tok_s is None
    assert run.measurements[0].concurrency is None


def test_the_window_of_llama_speculative_bounds_the_steps_and_not_the_drafts() -> None:
    (run,) = importers.read(DATA / "llama_cpp_log" / "speculative.log")

    assert run.speculation is not None
    assert (run.speculation.num_steps, run.speculation.num_draft_tokens) == (8, None)
    assert run.measurements[0].accept_rate == 0.4


def test_the_published_prompt_lines_are_pooled_by_counts(shared_data: Path) -> None:
    (run,) = importers.read(shared_data / "cases" / "data" / "C68.llama_mtp_bench.txt")

    pooled, *prompts = run.measurements
    assert pooled.accept_rate == pytest.approx(876 / 1356)
    assert pooled.output_tokens == 1227
    assert [cell.category for cell in prompts][:2] == ["code_python", "code_cpp"]
    assert prompts[0].output_throughput_tok_s == 31.3


def test_an_evalscope_summary_without_throughput_says_what_it_lacks(shared_data: Path) -> None:
    (run,) = importers.read(shared_data / "cases" / "data" / "C30.evalscope_partial.txt")

    (cell,) = run.measurements
    assert (cell.concurrency, cell.requests_completed, cell.wall_s) == (20, 100, 77.861)
    assert cell.output_throughput_tok_s is None
    assert run.missing == "the summary names no output throughput; it ends after `Failed requests`"


def test_a_whole_evalscope_summary_is_not_partial() -> None:
    (run,) = importers.read(DATA / "evalscope" / "summary.txt")

    assert (run.measurements[0].output_throughput_tok_s, run.missing) == (256.0, None)


TIMINGS = {
    "prompt_n": 20, "prompt_ms": 300.0, "predicted_n": 256, "predicted_ms": 2296.7, "predicted_per_second": 111.46,
    "draft_n": 259, "draft_n_accepted": 167,
}  # fmt: skip


@pytest.mark.parametrize(
    "answer",
    [
        {"content": "text", "tokens_predicted": 256, "timings": TIMINGS},
        {
            "object": "chat.completion",
            "choices": [{"message": {"content": "text"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 256},
            "timings": TIMINGS,
        },
    ],
    ids=["own route", "OpenAI route"],
)
def test_the_timings_of_an_answer_count_its_drafts(tmp_path: Path, answer: dict[str, object]) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(f"{json.dumps(answer)}\n" * 2)

    (run,) = importers.read(path)

    (cell,) = run.measurements
    assert run.engine == "llama.cpp"
    assert (cell.output_tokens, cell.accepted_drafts, cell.proposed_drafts) == (512, 334, 518)
    assert cell.accept_length == pytest.approx(1 + 167 / (256 - 167))
    assert [finding.code for finding in run.findings] == ["VERIFY_STEPS_FROM_TOKENS"]


def test_latencies_that_evalscope_prints_in_seconds_are_milliseconds(tmp_path: Path) -> None:
    rows = (
        ("Number of concurrency", "20"), ("Output token throughput (tok/s)", "164.4"),
        ("Average latency (s)", "12.1"), ("Average time to first token (s)", "1.2"),
        ("Average time per output token (s)", "0.085"), ("Average inter-token latency (s)", "0"),
    )  # fmt: skip
    rule = "+" + "-" * 40 + "+" + "-" * 20 + "+\n"
    path = tmp_path / "summary.txt"
    path.write_text(
        "Benchmarking summary:\n" + rule + rule.join(f"| {key:38} | {value:18} |\n" for key, value in rows) + rule
    )

    (run,) = importers.read(path)

    (cell,) = run.measurements
    means = [item and item.mean_ms for item in (cell.ttft_ms, cell.tpot_ms, cell.itl_ms, cell.e2e_latency_ms)]
    assert means == [1200.0, 85.0, None, 12100.0]
    assert run.missing is None
