"""llama.cpp's logs and printed benchmark, and evalscope's summary."""

from __future__ import annotations

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
