"""SGLang's serving benchmark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracker import importers
from tracker.domain.measurement import Reported
from tracker.errors import InputError
from tracker.importers.base import ImportedRun

SAMPLE = Path(__file__).resolve().parents[1] / "data" / "sglang_bench_serving" / "runs.jsonl"


def _codes(run: ImportedRun) -> list[str]:
    return [finding.code for finding in run.findings]


def test_each_line_is_one_run_with_its_row() -> None:
    runs = importers.read(SAMPLE)

    assert [(run.row, run.name) for run in runs] == [(0, "chain-3"), (1, None), (2, "detailed")]
    (cell,) = runs[0].measurements
    assert (cell.concurrency, cell.requests_completed, cell.output_tokens, cell.wall_s) == (4, 5, 1000, 10.0)
    assert cell.output_throughput_tok_s == 100.0
    assert cell.tpot_ms is not None
    assert (cell.tpot_ms.mean_ms, cell.tpot_ms.median_ms, cell.tpot_ms.p99_ms) == (20.0, 19.5, 30.0)


def test_the_servers_lifetime_accept_length_is_kept_with_a_warning_of_what_it_is() -> None:
    run = importers.read(SAMPLE)[0]

    assert run.measurements[0].reported_accept_length == Reported(value=2.5, half_width=0.05)
    assert _codes(run) == ["ACCEPT_LENGTH_CUMULATIVE", "PEAK_COUNTS_CHUNKS"]


def test_a_baseline_without_accept_length_has_none() -> None:
    run = importers.read(SAMPLE)[1]

    assert run.measurements[0].accept_length is None
    assert _codes(run) == []


def test_infinity_is_a_closed_loop_and_a_number_an_open_one() -> None:
    closed, opened, _ = importers.read(SAMPLE)

    assert closed.workload is not None
    assert opened.workload is not None
    assert (closed.workload.request_rate_per_s, closed.workload.concurrencies) == (None, (4,))
    assert (opened.workload.request_rate_per_s, opened.measurements[0].concurrency) == (2.0, None)


def test_peak_chunks_are_never_taken_for_throughput() -> None:
    (cell,) = importers.read(SAMPLE)[0].measurements

    assert "max_output_tokens_per_s" not in cell.extra
    assert cell.extra["max_output_chunks_per_s"] == 60.0
    assert cell.output_throughput_tok_s == 100.0


def test_the_embedded_server_info_is_handed_on_whole() -> None:
    info = importers.read(SAMPLE)[0].server_info

    assert info is not None
    assert info["speculative_num_steps"] == 3
    assert "internal_states" in info


def test_output_details_become_request_rows() -> None:
    rows = importers.read(SAMPLE)[2].requests

    assert [(row.input_tokens, row.output_tokens, row.ttft_s) for row in rows] == [(10, 12, 0.1), (20, 8, 0.2)]
    assert [row.latency_s for row in rows] == pytest.approx([0.4, 0.5])


def test_the_published_example_reads_as_expected(shared_data: Path) -> None:
    first, second = importers.read(shared_data / "cases" / "data" / "C66.sglang_bench_serving.SYNTHETIC.jsonl")

    assert first.measurements[0].output_throughput_tok_s == pytest.approx(183.80, rel=0.01)
    assert first.measurements[0].accept_length == 2.14
    assert second.measurements[0].accept_length is None


def test_a_throughput_that_contradicts_tokens_and_time_is_a_finding(tmp_path: Path) -> None:
    line = json.loads(SAMPLE.read_text().splitlines()[1])
    path = tmp_path / "bench.jsonl"
    path.write_text(json.dumps(line | {"output_throughput": 150.0}) + "\n")

    (run,) = importers.read(path)

    assert "IDENTITY_THROUGHPUT" in _codes(run)
    assert run.row is None


def test_a_cut_last_run_is_left_out_and_named(tmp_path: Path) -> None:
    path = tmp_path / "bench.jsonl"
    path.write_bytes(SAMPLE.read_bytes()[:-200])

    runs = importers.read(path)

    assert [run.name for run in runs] == ["chain-3", None]
    assert all(run.missing is not None and run.missing.startswith("line 3 is cut after") for run in runs)


def test_detail_lists_of_different_lengths_are_an_error_with_the_line(tmp_path: Path) -> None:
    lines = SAMPLE.read_text().splitlines()
    lines[2] = json.dumps(json.loads(lines[2]) | {"ttfts": [0.1]})
    path = tmp_path / "bench.jsonl"
    path.write_text("\n".join(lines) + "\n")

    with pytest.raises(InputError, match="lists differ in length") as caught:
        importers.read(path)

    assert caught.value.where == f"{path}:3"


def _result(**changes: object) -> dict[str, object]:
    value = json.loads(SAMPLE.read_text().splitlines()[0])
    return {**value, **changes}


@pytest.mark.parametrize("indent", [2, None], ids=["indented", "one line"])
def test_a_document_or_a_list_is_read_as_lines_are(tmp_path: Path, indent: int | None) -> None:
    one, several = tmp_path / "one.json", tmp_path / "several.json"
    one.write_text(json.dumps(_result(), indent=indent))
    several.write_text(json.dumps([_result(), _result(accept_length=None)], indent=indent))

    assert importers.read(one)[0].measurements == importers.read(SAMPLE)[0].measurements
    assert [run.row for run in importers.read(several)] == [0, 1]


def test_a_document_that_ends_too_early_says_after_what(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    text = json.dumps(_result(), indent=2)
    path.write_text(text[: text.index('"mean_ttft_ms"') + 16])

    with pytest.raises(InputError, match='the document is cut after "mean_ttft_ms"'):
        importers.read(path)


def test_zeros_of_a_run_without_answers_are_no_measurements(tmp_path: Path) -> None:
    path = tmp_path / "bench.jsonl"
    empty = _result(completed=0, total_output_tokens=0, output_throughput=0.0, accept_length=0.0)
    path.write_text(json.dumps({**empty, **{key: 0.0 for key in empty if key.endswith("_ms")}}) + "\n")

    (run,) = importers.read(path)

    (cell,) = run.measurements
    assert (cell.accept_length, cell.ttft_ms, cell.tpot_ms, cell.itl_ms, cell.e2e_latency_ms) == (None,) * 5
    assert cell.output_throughput_tok_s == 0.0


def test_an_accept_length_shows_that_the_server_speculated() -> None:
    speculating, plain = importers.read(SAMPLE)[:2]

    assert speculating.speculation is not None
    assert speculating.speculation.enabled
    assert plain.speculation is None


def test_the_peak_of_the_native_route_counts_tokens(tmp_path: Path) -> None:
    path = tmp_path / "bench.jsonl"
    path.write_text(json.dumps(_result(max_output_tokens_per_s=500.0)) + "\n")

    (run,) = importers.read(path)

    assert run.measurements[0].extra["max_output_tokens_per_s"] == 500.0
    assert "PEAK_COUNTS_CHUNKS" not in _codes(run)
