"""vLLM's serving benchmark: its JSON, and what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracker import importers
from tracker.domain.measurement import Reported
from tracker.errors import InputError
from tracker.importers.base import ImportedRun

DATA = Path(__file__).resolve().parents[1] / "data"


def _codes(run: ImportedRun) -> list[str]:
    return [finding.code for finding in run.findings]


def test_counters_percentages_and_positions_are_read() -> None:
    (run,) = importers.read(DATA / "vllm_bench_serve" / "k3.json")

    (cell,) = run.measurements
    assert (cell.verify_steps, cell.accepted_drafts, cell.proposed_drafts) == (160, 240, 480)
    assert cell.accept_length == 2.5
    assert cell.reported_accept_rate == Reported(value=0.5, half_width=0.0005)
    assert cell.accept_rate == 0.5
    assert cell.extra["position_1_acceptance_rate"] == 0.5
    assert run.speculation is not None
    assert (run.speculation.num_steps, run.speculation.num_draft_tokens) == (3, 4)
    assert [finding.code for finding in run.findings] == ["PEAK_COUNTS_CHUNKS"]


def test_appended_lines_are_one_run_each_and_details_become_rows() -> None:
    plain, k3 = importers.read(DATA / "vllm_bench_serve" / "appended.jsonl")

    assert (plain.row, k3.row) == (0, 1)
    assert plain.speculation is None
    assert plain.measurements[0].accept_length is None
    assert plain.workload is not None
    assert plain.workload.request_rate_per_s == 5.0
    assert [row.output_tokens for row in plain.requests] == [100] * 4
    assert plain.requests[0].latency_s == pytest.approx(0.15)


def test_the_published_example_gives_its_accept_length(shared_data: Path) -> None:
    (run,) = importers.read(shared_data / "cases" / "data" / "C66.vllm_bench_serve.SYNTHETIC.json")

    (cell,) = run.measurements
    assert cell.accept_length == pytest.approx(3.4928, rel=0.01)
    assert cell.output_throughput_tok_s == pytest.approx(371.9, rel=0.01)
    assert run.findings == ()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"spec_decode_acceptance_length": 1.5}, "IDENTITY_ACCEPT_LENGTH"),
        ({"spec_decode_acceptance_rate": 0.5}, "RATE_CONVENTION_CONTRADICTS_LENGTH"),
        ({"spec_decode_per_position_acceptance_rates": [0.75, 0.67, 0.5]}, "IDENTITY_POSITION_RATES"),
        ({"output_throughput": 45.0}, "IDENTITY_THROUGHPUT"),
    ],
)
def test_numbers_that_contradict_each_other_are_findings(tmp_path: Path, change: dict[str, object], code: str) -> None:
    value = json.loads((DATA / "vllm_bench_serve" / "k3.json").read_text())
    path = tmp_path / "k3.json"
    path.write_text(json.dumps(value | change))

    (run,) = importers.read(path)

    assert code in _codes(run)


def test_a_result_cut_in_the_middle_says_so(tmp_path: Path) -> None:
    path = tmp_path / "k3.json"
    path.write_bytes((DATA / "vllm_bench_serve" / "k3.json").read_bytes()[:400])

    with pytest.raises(InputError, match="no run in it is whole: line 1 is cut after"):
        importers.read(path)


def test_the_console_holds_the_same_numbers_as_the_json() -> None:
    (printed,) = importers.read(DATA / "bench_console" / "vllm.txt")
    (saved,) = importers.read(DATA / "vllm_bench_serve" / "k3.json")

    first, second = printed.measurements[0], saved.measurements[0]
    assert first.output_throughput_tok_s == second.output_throughput_tok_s
    assert (first.verify_steps, first.accepted_drafts, first.proposed_drafts) == (160, 240, 480)
    assert first.tpot_ms is not None
    assert second.tpot_ms is not None
    assert (first.tpot_ms.mean_ms, first.tpot_ms.p99_ms) == (second.tpot_ms.mean_ms, second.tpot_ms.p99_ms)
    assert printed.missing is None


def test_a_log_with_two_printed_results_and_a_misspelt_label_gives_two_runs() -> None:
    first, second = importers.read(DATA / "bench_console" / "sglang_twice.log")

    assert first.engine == "sglang"
    assert (first.measurements[0].concurrency, first.measurements[0].accept_length) == (4, 2.5)
    assert second.measurements[0].accept_length == 2.4
    assert _codes(first) == ["ACCEPT_LENGTH_CUMULATIVE"]


@pytest.mark.parametrize(
    ("name", "throughput", "concurrency", "missing"),
    [
        ("C63.vllm_bench_baseline.txt", 39.96, 1, None),
        ("C63.vllm_bench_logprefixed_truncated.txt", 1549.45, 40, "P99 TTFT (ms)"),
        ("C63.vllm_bench_rate_limited_truncated.txt", 6306.39, None, "P99 TTFT (ms)"),
        ("C63.vllm_bench_spec_truncated.txt", 371.88, 1, "Acceptance rate (%)"),
    ],
)
def test_published_consoles_are_read_and_say_where_they_end(
    shared_data: Path, name: str, throughput: float, concurrency: int | None, missing: str | None
) -> None:
    (run,) = importers.read(shared_data / "cases" / "data" / name)

    (cell,) = run.measurements
    assert cell.output_throughput_tok_s == pytest.approx(throughput, rel=0.01)
    assert cell.concurrency == concurrency
    assert run.missing == (None if missing is None else f"the printed result ends after `{missing}`")


def test_the_peak_of_a_speculating_server_is_no_throughput(shared_data: Path) -> None:
    (run,) = importers.read(shared_data / "cases" / "data" / "C63.vllm_bench_spec_truncated.txt")

    (cell,) = run.measurements
    assert cell.extra["max_output_chunks_per_s"] == 122.0
    assert "Peak output token throughput (tok/s)" not in cell.extra
    assert cell.output_throughput_tok_s is not None
    assert cell.output_throughput_tok_s > 370
    assert cell.accept_length == pytest.approx(3.49, rel=0.01)
    assert run.speculation is not None
    assert run.speculation.num_steps == 8
    assert [finding.code for finding in run.findings] == ["PEAK_COUNTS_CHUNKS", "ACCEPT_LENGTH_FROM_RATE"]
    assert cell.itl_ms is not None
    assert cell.tpot_ms is not None
    assert (cell.itl_ms.mean_ms or 0) / (cell.tpot_ms.mean_ms or 1) == pytest.approx(3.46, rel=0.01)


@pytest.mark.parametrize(("told", "engine"), [("openai-chat", "vllm"), ("vllm", "vllm"), ("sglang", "sglang")])
def test_the_engine_is_the_one_that_the_benchmark_was_told_to_talk_to(tmp_path: Path, told: str, engine: str) -> None:
    path = tmp_path / "result.json"
    value = json.loads((DATA / "vllm_bench_serve" / "k3.json").read_text())
    path.write_text(json.dumps({**value, "backend": told, "endpoint_type": told}))

    (run,) = importers.read(path)

    assert run.engine == engine
