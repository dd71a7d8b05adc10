"""guidellm, aiperf, vLLM sweeps and speculators' evaluation: their numbers keep their meaning."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from tracker import importers
from tracker.errors import InputError
from tracker.importers.base import ImportedRun

DATA = Path(__file__).resolve().parents[1] / "data"


def _codes(run: ImportedRun) -> list[str]:
    return [finding.code for finding in run.findings]


def test_closed_loop_levels_of_guidellm_are_one_run_over_concurrency() -> None:
    (run,) = importers.read(DATA / "guidellm" / "concurrent.json")

    assert [(cell.concurrency, cell.output_throughput_tok_s) for cell in run.measurements] == [(1, 48.0), (8, 300.0)]
    assert run.engine == "vllm"
    assert run.speculation is not None
    assert run.speculation.num_steps == 3


def test_open_loop_levels_of_guidellm_are_runs_of_their_own() -> None:
    slow, fast = importers.read(DATA / "guidellm" / "rates.yaml")

    assert slow.workload is not None
    assert fast.workload is not None
    assert (slow.workload.request_rate_per_s, fast.workload.request_rate_per_s) == (2.0, 4.0)
    assert slow.measurements[0].concurrency is None


def test_guidellm_times_are_filed_under_what_they_mean_elsewhere() -> None:
    (run,) = importers.read(DATA / "guidellm" / "concurrent.json")

    cell = run.measurements[0]
    assert cell.tpot_ms is not None
    assert (cell.tpot_ms.mean_ms, cell.itl_ms) == (20.5, None)
    assert cell.extra["time_per_output_token_ms"] == 20.8
    assert cell.e2e_latency_ms is not None
    assert cell.e2e_latency_ms.p99_ms == 2700.0


def test_drafts_of_all_requests_are_counts_and_of_a_sample_only_a_ratio() -> None:
    (run,) = importers.read(DATA / "guidellm" / "concurrent.json")

    whole, sample = run.measurements
    assert (whole.verify_steps, whole.accepted_drafts, whole.proposed_drafts) == (100, 150, 300)
    assert (sample.verify_steps, sample.accept_length) == (None, 2.5)
    assert _codes(run) == ["ACCEPTANCE_FROM_SAMPLE"]


def test_tokens_per_chunk_are_never_taken_for_an_accept_length() -> None:
    (run,) = importers.read(DATA / "guidellm" / "concurrent.json")

    assert run.measurements[0].extra["iter_tokens_per_iteration"] == 2.4
    assert run.measurements[0].accept_length == 2.5


def test_a_guidellm_report_of_medians_says_so(shared_data: Path) -> None:
    (run,) = importers.read(shared_data / "cases" / "data" / "C66.guidellm.SYNTHETIC.json")

    assert run.measurements[0].output_throughput_tok_s == 100.0
    assert _codes(run) == ["THROUGHPUT_IS_MEDIAN"]


def test_a_yaml_report_cut_inside_a_number_loses_its_last_level(tmp_path: Path) -> None:
    path = tmp_path / "cut.yaml"
    path.write_bytes((DATA / "guidellm" / "rates.yaml").read_bytes()[:-3])

    (run,) = importers.read(path)

    assert run.measurements[0].output_throughput_tok_s == 150.0
    assert run.missing is not None


def test_guidellm_csv_takes_the_streams_of_each_level_from_the_profile() -> None:
    (run,) = importers.read(DATA / "guidellm_csv" / "concurrent.csv")

    assert [(cell.concurrency, cell.output_throughput_tok_s) for cell in run.measurements] == [(1, 44.0), (16, 340.0)]
    assert run.measurements[1].requests_failed == 2


def test_aiperf_weighs_acceptance_by_tokens_and_keeps_the_histogram() -> None:
    (run,) = importers.read(DATA / "aiperf" / "single.json")

    (cell,) = run.measurements
    assert (cell.concurrency, cell.output_throughput_tok_s, cell.accept_length) == (4, 260.0, 2.5)
    assert cell.accepted_histogram == (300, 200, 200, 300)
    assert cell.position_rates == (0.7, 0.5, 0.3)
    assert cell.extra["spec_decode_acceptance_length"] == 2.62
    assert cell.reported_accept_rate is not None
    assert cell.reported_accept_rate.value == 0.5
    assert run.findings == ()


def test_aiperf_latencies_are_filed_under_what_they_mean_elsewhere() -> None:
    (run,) = importers.read(DATA / "aiperf" / "single.json")

    (cell,) = run.measurements
    assert cell.tpot_ms is not None
    assert cell.itl_ms is not None
    assert (cell.tpot_ms.mean_ms, cell.itl_ms.mean_ms) == (15.0, 37.5)


def test_a_histogram_that_contradicts_the_totals_is_a_finding(tmp_path: Path) -> None:
    value = json.loads((DATA / "aiperf" / "single.json").read_text())
    value["total_accepted_draft_tokens"]["avg"] = 1700
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(value))

    (run,) = importers.read(path)

    assert "IDENTITY_HISTOGRAM" in _codes(run)


def test_an_aiperf_aggregate_is_a_mean_with_its_interval_and_no_totals() -> None:
    (run,) = importers.read(DATA / "aiperf" / "aggregate.json")

    (cell,) = run.measurements
    assert (cell.concurrency, cell.output_throughput_tok_s, cell.accept_length) == (8, 400.0, 2.48)
    assert cell.output_tokens is None
    assert cell.extra["output_token_throughput_ci_low"] == 387.6
    assert cell.ttft_ms is not None
    assert cell.ttft_ms.p99_ms == 110.0
    assert _codes(run) == ["MEAN_OVER_REPEATS"]


def test_a_cancelled_aiperf_run_is_partial(tmp_path: Path) -> None:
    value = json.loads((DATA / "aiperf" / "single.json").read_text())
    path = tmp_path / "cancelled.json"
    path.write_text(json.dumps({**value, "was_cancelled": True}))

    (run,) = importers.read(path)

    assert run.missing == "the benchmark was cancelled"


def test_aiperf_records_leave_the_warm_up_out_and_time_the_rest() -> None:
    (run,) = importers.read(DATA / "aiperf_records" / "records.jsonl")

    (cell,) = run.measurements
    assert (cell.requests_completed, cell.output_tokens, cell.wall_s) == (2, 160, 4.0)
    assert cell.accept_length == pytest.approx(1 + 75 / 60)
    assert cell.accepted_histogram == (25, 10, 10, 15)
    assert run.workload is not None
    assert run.workload.prompt_set_digest is None


def test_the_csv_of_aiperf_says_what_its_json_says() -> None:
    (run,) = importers.read(DATA / "aiperf_csv" / "profile.csv")

    (cell,) = run.measurements
    assert (cell.output_throughput_tok_s, cell.accept_length, cell.wall_s) == (260.0, 2.5, 10.0)
    assert cell.ttft_ms is not None
    assert cell.ttft_ms.p99_ms == 90.0


def test_a_sweep_folder_pools_repeats_and_puts_concurrencies_side_by_side() -> None:
    three, five = importers.read(DATA / "vllm_bench_sweep" / "k")

    cells = [(cell.concurrency, cell.repeat, cell.output_tokens, cell.wall_s) for cell in three.measurements]
    assert cells == [(1, None, 1600, 21.0), (1, 0, 800, 10.0), (1, 1, 800, 11.0), (8, None, 800, 2.0)]
    assert (three.name, five.name) == ("EAGLE3 k=3", "EAGLE3 k=5")
    assert five.speculation is not None
    assert (five.speculation.num_steps, five.speculation.draft_model_path) == (5, "org/drafter")
    assert three.measurements[0].accept_length == pytest.approx(1 + 950 / 650)


def test_a_failed_combination_of_a_sweep_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    shutil.copytree(DATA / "vllm_bench_sweep" / "k", folder)
    (folder / "SERVE--k=5-BENCH--c=1" / "run=1.failure.json").write_text('{"run_number": 1, "error_type": "Timeout"}')

    run = importers.read(folder)[0]

    assert run.missing == "SERVE--k=5-BENCH--c=1/run=1.failure.json says Timeout"


def test_speculators_acceptance_is_pooled_over_subsets_by_counts() -> None:
    (run,) = importers.read(DATA / "speculators_eval" / "acceptance.csv")

    pooled, humaneval, qa = run.measurements
    assert pooled.accept_length == pytest.approx(1 + 1900 / 1500)
    assert (humaneval.category, humaneval.accept_length, qa.accept_length) == ("HumanEval", 2.5, 1.8)
    assert run.findings == ()


def test_positions_that_do_not_add_up_to_the_accept_length_are_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "acceptance.csv"
    path.write_text((DATA / "speculators_eval" / "acceptance.csv").read_text().replace("0.75,0.45,0.3", "0.75,0.6,0.4"))

    (run,) = importers.read(path)

    assert _codes(run) == ["IDENTITY_POSITION_RATES"]


def test_speculators_performance_rows_say_whose_acceptance_they_repeat() -> None:
    one, constant = importers.read(DATA / "speculators_eval" / "perf_results.csv")

    assert (one.measurements[0].concurrency, one.measurements[0].output_throughput_tok_s) == (1, 110.0)
    assert constant.workload is not None
    assert constant.workload.request_rate_per_s == 2.0
    assert "ACCEPTANCE_OF_WHOLE_SWEEP" in _codes(one)


def test_an_aiperf_export_without_metrics_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.write_text('{"schema_version": "1.4", "error_summary": []}')

    with pytest.raises(InputError, match="holds no metrics"):
        importers.read(path, "aiperf")


def _guidellm_with_prompts(tmp_path: Path, *arguments: object) -> Path:
    """Write a report whose requests carry what was sent, as guidellm does: JSON in a text."""
    value = json.loads((DATA / "guidellm" / "concurrent.json").read_text())
    first = value["benchmarks"][0]
    listed = first["requests"]["successful"]
    for request, sent in zip(listed, arguments, strict=False):
        request["request_args"] = sent if isinstance(sent, str) else json.dumps(sent)
    totals = first["metrics"].get("request_totals") or first["scheduler_metrics"]["requests_made"]
    totals["successful"] = len(listed)
    value["benchmarks"] = [first]
    path = tmp_path / "benchmarks.json"
    path.write_text(json.dumps(value))
    return path


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_requests_of_guidellm_carry_the_digest_of_the_prompt_that_was_sent(tmp_path: Path) -> None:
    path = _guidellm_with_prompts(
        tmp_path,
        {"body": {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "Why?"}]}]}},
        {"body": {"prompt": "Because", "max_tokens": 8}},
    )

    (run,) = importers.read(path)

    assert [row.prompt_key for row in run.requests] == [_sha("Why?"), _sha("Because")]


def test_a_chat_of_several_messages_has_a_key_of_its_own(tmp_path: Path) -> None:
    system = {"role": "system", "content": "Be brief."}
    asked = {"role": "user", "content": "Why?"}
    path = _guidellm_with_prompts(tmp_path, {"body": {"messages": [system, asked]}}, {"body": {"messages": [asked]}})

    (run,) = importers.read(path)

    first, second = (row.prompt_key for row in run.requests)
    assert first != second == _sha("Why?")


def test_arguments_without_a_prompt_or_cut_give_no_key(tmp_path: Path) -> None:
    path = _guidellm_with_prompts(tmp_path, {"body": {"model": "m"}}, '{"body": {"prompt": "Bec')

    (run,) = importers.read(path)

    assert [row.prompt_key for row in run.requests] == [None, None]


def test_a_sample_of_guidellms_requests_has_no_keys(tmp_path: Path) -> None:
    path = _guidellm_with_prompts(tmp_path, {"body": {"prompt": "a"}}, {"body": {"prompt": "b"}})
    value = json.loads(path.read_text())
    metrics = value["benchmarks"][0]["metrics"]
    totals = metrics.get("request_totals") or value["benchmarks"][0]["scheduler_metrics"]["requests_made"]
    totals["successful"] = 500
    path.write_text(json.dumps(value))

    (run,) = importers.read(path)

    assert {row.prompt_key for row in run.requests} == {None}


def _aiperf_with_inputs(tmp_path: Path, inputs: object) -> Path:
    lines = [json.loads(line) for line in (DATA / "aiperf_records" / "records.jsonl").read_text().splitlines()]
    for index, line in enumerate(lines):
        line["metadata"] |= {"conversation_id": f"session_{index}", "turn_index": 0}
    path = tmp_path / "profile_export.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "inputs.json").write_text(inputs if isinstance(inputs, str) else json.dumps(inputs))
    return path


def test_records_of_aiperf_take_their_prompts_from_the_inputs_beside_them(tmp_path: Path) -> None:
    sessions = [
        {"session_id": f"session_{index}", "payloads": [{"messages": [{"role": "user", "content": f"q{index}"}]}]}
        for index in range(3)
    ]
    path = _aiperf_with_inputs(tmp_path, {"data": sessions})

    (run,) = importers.read(path)

    assert [row.prompt_key for row in run.requests] == [_sha("q1"), _sha("q2")]
    assert run.workload is not None
    assert run.workload.prompts == 2
    assert run.workload.prompt_set_digest is not None


@pytest.mark.parametrize(
    "inputs", ["", '{"data": [', {"data": None}, {"data": [{"session_id": 7, "payloads": [1]}]}, []]
)
def test_inputs_that_say_nothing_leave_the_prompts_unknown(tmp_path: Path, inputs: object) -> None:
    path = _aiperf_with_inputs(tmp_path, inputs)

    (run,) = importers.read(path)

    assert [row.prompt_key for row in run.requests] == ["weak::100", "weak::120"]
    assert run.workload is not None
    assert (run.workload.prompts, run.workload.prompt_set_digest) == (None, None)


GENAI = DATA / "genai_bench" / "glm-chat"


def test_a_genai_bench_experiment_is_one_run_over_its_loads() -> None:
    (run,) = importers.read(GENAI)

    one, four = run.measurements
    assert (one.concurrency, one.output_tokens, one.wall_s) == (1, 128, 1.9)
    assert one.output_throughput_tok_s == pytest.approx(128 / 1.9)
    assert (four.requests_completed, four.requests_failed) == (3, 1)
    assert one.ttft_ms is not None
    assert one.ttft_ms.mean_ms == pytest.approx(225)
    assert one.tpot_ms is not None
    assert one.tpot_ms.median_ms == pytest.approx(11.25)
    assert [row.error for row in run.requests if row.error] == ["503: overloaded"]
    assert (run.engine, run.hardware and run.hardware.gpu_count, run.target and run.target.name) == ("sglang", 8, "GLM")
    assert run.workload is not None
    assert (run.workload.prompt_set, run.workload.input_tokens_mean) == ("D(128,64)", 134)
    assert run.speculation is None


def test_one_file_of_genai_bench_takes_the_metadata_beside_it() -> None:
    (run,) = importers.read(next(GENAI.glob("*concurrency_4*")))

    assert [cell.concurrency for cell in run.measurements] == [4]
    assert run.engine == "sglang"


def test_times_of_genai_bench_are_read_in_the_unit_it_names(tmp_path: Path) -> None:
    value = json.loads((DATA / "genai_bench" / "one_load.json").read_text())
    value["_time_unit"] = "ms"
    path = tmp_path / "load.json"
    path.write_text(json.dumps(value))

    (run,) = importers.read(path)

    assert run.measurements[0].ttft_ms is not None
    assert run.measurements[0].ttft_ms.mean_ms == pytest.approx(0.275)
    assert run.measurements[0].wall_s == 1.2


def test_a_unit_that_is_not_known_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "load.json"
    path.write_text(
        (DATA / "genai_bench" / "one_load.json").read_text().replace('"_time_unit": "s"', '"_time_unit": "h"')
    )

    with pytest.raises(InputError, match="_time_unit"):
        importers.read(path)


def test_an_open_loop_of_genai_bench_has_no_streams(tmp_path: Path) -> None:
    value = json.loads((DATA / "genai_bench" / "one_load.json").read_text())
    value["aggregated_metrics"]["iteration_type"] = "request_rate"
    path = tmp_path / "load.json"
    path.write_text(json.dumps(value))

    (run,) = importers.read(path)

    assert run.measurements[0].concurrency is None


def _guidellm(tmp_path: Path, benchmark: dict[str, object]) -> ImportedRun:
    path = tmp_path / "benchmarks.json"
    path.write_text(json.dumps({"benchmarks": [benchmark]}))
    return importers.read(path)[0]


def _distribution(value: float) -> dict[str, object]:
    return {"successful": {"mean": value, "median": value, "total_sum": 10 * value, "percentiles": {"p90": value}}}


def test_a_report_of_guidellm_before_0_4_has_its_settings_under_args(tmp_path: Path) -> None:
    run = _guidellm(
        tmp_path,
        {
            "type_": "generative_benchmark",
            "args": {"profile": {"type_": "sweep"}, "strategy": {"type_": "concurrent", "streams": 4}},
            "run_stats": {"requests_made": {"successful": 10, "errored": 1, "incomplete": 2, "total": 13}},
            "metrics": {"output_tokens_per_second": _distribution(100.0), "output_token_count": _distribution(200.0)},
        },
    )

    (cell,) = run.measurements
    assert (cell.concurrency, cell.requests_completed, cell.requests_failed) == (4, 10, 1)
    assert (cell.output_tokens, cell.output_throughput_tok_s) == (2000, 100.0)


def test_zeros_of_a_guidellm_level_without_answers_are_no_measurements(tmp_path: Path) -> None:
    names = ("time_to_first_token_ms", "inter_token_latency_ms", "request_latency", "time_per_output_token_ms")
    run = _guidellm(
        tmp_path,
        {
            "config": {"strategy": {"type_": "synchronous"}},
            "scheduler_metrics": {"requests_made": {"successful": 0, "errored": 10}},
            "metrics": {name: _distribution(0.0) for name in (*names, "output_tokens_per_second")},
        },
    )

    (cell,) = run.measurements
    assert (cell.ttft_ms, cell.tpot_ms, cell.e2e_latency_ms) == (None, None, None)
    assert "time_per_output_token_ms" not in cell.extra


def test_a_rate_of_aiperf_is_read_in_the_unit_it_names(tmp_path: Path) -> None:
    path = tmp_path / "profile_export_aiperf.json"
    value = json.loads((DATA / "aiperf" / "single.json").read_text())
    rate = value["spec_decode_overall_draft_acceptance_rate"]
    value["spec_decode_overall_draft_acceptance_rate"] = {**rate, "unit": "ratio", "avg": rate["avg"] / 100}
    path.write_text(json.dumps(value))

    (same,), (named,) = importers.read(DATA / "aiperf" / "single.json"), importers.read(path)

    assert named.measurements[0].reported_accept_rate == same.measurements[0].reported_accept_rate
