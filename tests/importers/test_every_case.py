"""Every real input there is: what it is read as and how many runs it gives, or why it is refused."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import pytest

from tracker import importers
from tracker.errors import InputError
from tracker.importers.base import ImportedRun

TOLERANCE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A file that is imported."""

    format: str
    runs: int = 1
    lengths: tuple[float | None, ...] = ()
    missing: str | None = None


NO_MEASURE = "no column holds output throughput or accept length"
NO_FORMAT = "no known format"
# What each file of the cases gives: format, number of runs, first accept lengths; or the reason it is refused.
CASES: dict[str, Read | str] = {
    "C04.vllm_offline_spec_metrics.fixed.txt": Read(format="vllm_offline", lengths=(3.09,)),
    "C04.vllm_offline_spec_metrics.txt": Read(format="vllm_offline", lengths=(1.07,)),
    "C07.glm46_detail.csv": Read(format="table", runs=6, lengths=(2.0, 1.99, 1.98, 1.01, 1.12, 1.12)),
    "C07.glm46_mtp_nightly.csv": Read(format="table", runs=18),
    "C11.vllm_v0_medusa.log": Read(format="vllm_log", lengths=(1.0,)),
    "C14.per_position_cliff.csv": Read(format="table", runs=2, lengths=(2.37, 1.272)),
    "C23.domino_accept_len.csv": NO_MEASURE,
    "C23.domino_train_metrics.csv": NO_MEASURE,
    "C26.train_eagle1_components.log": Read(format="train_log"),
    "C26.train_eagle3_plain.log": Read(format="train_log"),
    "C26.train_eagle3_progressbar.log": Read(format="train_log"),
    "C27.specforge_qwen3_30b_a3b.csv": Read(format="table", runs=14),
    "C29.sglang_decode_baseline.log": Read(format="sglang_log", lengths=(None,)),
    "C30.evalscope_partial.txt": Read(format="evalscope", missing="ends after `Failed requests`"),
    "C33.llama_speculative.log": Read(format="llama_cpp_log", lengths=(6.40,)),
    "C34.llama_speculative_simple_eagle3.log": Read(format="llama_cpp_log", lengths=(1.36,)),
    "C36.sglang_decode_eagle3.log": Read(format="sglang_log", lengths=(1.95,)),
    "C40.k_crossover.csv": Read(format="table", runs=2),
    "C40.ratio_vs_k.csv": "an accept rate alone",
    "C41.running_req.csv": NO_MEASURE,
    "C43.eagle_qwen2_temp.csv": Read(format="table", runs=4, lengths=(1.7, 1.5, 2.19, 1.55)),
    "C44.mtp_temp1.csv": Read(format="table", runs=2, lengths=(1.206, 1.988)),
    "C46.workload_state.csv": Read(format="table", runs=3, lengths=(3.93, 1.94, 2.99)),
    "C48.speed_bench.txt": Read(format="table", runs=2),
    "C50.accept_len_vs_context.csv": NO_MEASURE,
    "C60.sglang_formats_SYNTHETIC.log": Read(format="sglang_log"),
    "C60.sglang_formats_real.log": Read(format="sglang_log"),
    "C61.vllm_formats_real.log": Read(format="vllm_log"),
    "C61.vllm_offline_spec_metrics.txt": Read(format="vllm_offline", lengths=(4.59,)),
    "C61.vllm_prometheus_excerpt.prom": Read(format="prometheus", lengths=(2.50,)),
    "C62.llama_formats_docker_prefixed.log": Read(format="llama_cpp_log", lengths=(2.38,)),
    "C62.llama_formats_old.log": Read(format="llama_cpp_log", runs=2),
    "C62.llama_formats_real.log": Read(format="llama_cpp_log", lengths=(2.92,)),
    "C62.llama_speculative_2023.log": Read(format="llama_cpp_log"),
    "C63.vllm_bench_baseline.txt": Read(format="bench_console", lengths=(None,)),
    "C63.vllm_bench_logprefixed_truncated.txt": Read(format="bench_console", missing="ends after `P99 TTFT (ms)`"),
    "C63.vllm_bench_rate_limited_truncated.txt": Read(format="bench_console", missing="ends after `P99 TTFT (ms)`"),
    "C63.vllm_bench_spec_truncated.txt": Read(
        format="bench_console", lengths=(3.49,), missing="ends after `Acceptance rate (%)`"
    ),
    "C65.specforge_bench_eagle3.json": Read(format="specforge_bench", runs=2, lengths=(2.17, 2.64)),
    "C65.specforge_bench_flat.json": Read(format="specforge_bench", lengths=(2.93,)),
    "C65.specforge_config_sweep.csv": Read(format="table", runs=5, lengths=(2.93, 3.55, 3.91, 2.94, 2.91)),
    "C65.specforge_dashboard.json": Read(format="specforge_bench", runs=2, lengths=(None, 2.64)),
    "C66.field_sets.json": NO_FORMAT,
    "C66.guidellm.SYNTHETIC.json": Read(format="guidellm"),
    "C66.sglang_bench_serving.SYNTHETIC.jsonl": Read(format="sglang_bench_serving", runs=2, lengths=(2.14, None)),
    "C66.vllm_bench_serve.SYNTHETIC.json": Read(format="vllm_bench_serve", lengths=(3.49,)),
    "C68.llama_mtp_bench.txt": Read(format="llama_cpp_bench"),
    "C68.llama_nmax_sweep.csv": Read(format="table", runs=5, lengths=(None,) * 5),
    "C70.sglang_eagle3_intro.csv": Read(format="table", runs=5, lengths=(5.36, 3.75, 5.39)),
    "C71-C77.mlflow_errors.txt": NO_FORMAT,
    "expected_breakeven.csv": Read(format="table", runs=41),
    "launch_commands.jsonl": NO_FORMAT,
}
NOTHING = "holds nothing that an importer recognises"
H200: dict[str, Read | str] = {
    "README.md": NO_MEASURE,
    "baseline": Read(format="sglang_folder", lengths=(None,)),
    "baseline-nograph": Read(format="sglang_folder", lengths=(None,)),
    "checkpoints": NOTHING,
    "eagle-wrong-flag-d100000-3-1-4": Read(format="sglang_folder", lengths=(1.0,)),
    "eagle3-d100-3-1-4": Read(format="sglang_folder", lengths=(1.364,)),
    "eagle3-d1000-3-1-4": Read(format="sglang_folder", lengths=(1.593,)),
    "eagle3-d10000-3-1-4": Read(format="sglang_folder", lengths=(2.983,)),
    "eagle3-d100000-2-1-3": Read(format="sglang_folder", lengths=(2.523,)),
    "eagle3-d100000-3-1-4": Read(format="sglang_folder", lengths=(3.034,)),
    "eagle3-d100000-3-4-16": Read(format="sglang_folder", lengths=(3.466,)),
    "endpoints": NOTHING,
    "prompts.json": NO_FORMAT,
    "train_log.json": Read(format="train_log", runs=5),
}


def _check(path: Path, expected: Read | str) -> None:
    if isinstance(expected, str):
        with pytest.raises(InputError, match=expected):
            importers.read(path)
        return
    assert importers.detect(path).name == expected.format
    runs = importers.read(path)
    assert len(runs) == expected.runs
    for run, length in zip(runs, expected.lengths, strict=False):
        found = run.measurements[0].accept_length
        assert found == (None if length is None else pytest.approx(length, rel=TOLERANCE))
    missing = runs[0].missing
    assert (missing is None) == (expected.missing is None)
    assert expected.missing is None or expected.missing in (missing or "")


@pytest.mark.parametrize("name", CASES)
def test_every_file_of_the_cases_is_imported_or_refused_for_the_right_reason(shared_data: Path, name: str) -> None:
    _check(shared_data / "cases" / "data" / name, CASES[name])


@pytest.mark.parametrize("name", H200)
def test_everything_of_the_real_campaign_is_imported_or_refused_for_the_right_reason(
    shared_data: Path, name: str
) -> None:
    _check(shared_data / "h200-tiny-llama" / name, H200[name])


def test_no_file_is_forgotten(shared_data: Path) -> None:
    assert {item.name for item in (shared_data / "cases" / "data").iterdir()} == set(CASES)
    assert {item.name for item in (shared_data / "h200-tiny-llama").iterdir()} == set(H200)


def test_the_whole_dashboard_is_read_with_each_baseline_once(shared_data: Path) -> None:
    runs = importers.read(shared_data / "specbundle" / "data.json")

    baselines = [run for run in runs if run.role == "baseline"]
    assert len(runs) == 292
    assert all(run.measurements[0].accept_length is None for run in baselines)
    assert len({run.name for run in baselines}) == len(baselines) == 37
    assert all((run.measurements[0].accept_length or 0) > 1 for run in runs if run.role is None)


def _value(run: ImportedRun) -> tuple[float, float | None]:
    cell = run.measurements[0]
    assert cell.output_throughput_tok_s is not None
    return cell.output_throughput_tok_s, cell.accept_length


def _pairs(shared_data: Path) -> dict[str, tuple[float, float, float | None]]:
    """Return baseline throughput, speculative throughput and accept length by the label of the expected table."""
    folder = shared_data / "cases" / "data"
    found: dict[str, tuple[float, float, float | None]] = {}
    nightly = {
        (run.measured_at, cell.concurrency): cell.output_throughput_tok_s
        for run in importers.read(folder / "C07.glm46_mtp_nightly.csv")
        if run.name == "TP8"
        for cell in run.measurements
    }
    for run in importers.read(folder / "C07.glm46_detail.csv"):
        assert run.measured_at is not None
        throughput, length = _value(run)
        base = nightly[run.measured_at, run.measurements[0].concurrency]
        assert base is not None
        day = "04-03 good" if run.measured_at.day == 3 else "04-04 bad"
        found[f"bs={run.measurements[0].concurrency} {day}"] = (base, throughput, length)
    sweep = importers.read(folder / "C27.specforge_qwen3_30b_a3b.csv")
    plain = {run.measurements[0].concurrency: _value(run)[0] for run in sweep if run.role == "baseline"}
    for run in sweep:
        if run.role is None and run.speculation is not None:
            shape = f"{run.speculation.num_steps}-{run.speculation.eagle_topk}-{run.speculation.num_draft_tokens}"
            load = run.measurements[0].concurrency
            found[f"bs={load} {shape}"] = (plain[load], *_value(run))
    base_run, spec_run = importers.read(folder / "C65.specforge_dashboard.json")
    found["dashboard gsm8k bs=8 3-1-4"] = (_value(base_run)[0], *_value(spec_run))
    windows = importers.read(folder / "C68.llama_nmax_sweep.csv")
    for index, run in enumerate(windows[1:], start=1):
        cell = run.measurements[0]
        assert cell.accept_length is None
        most = cell.extra["accept_length_at_most"]
        found[f"n_max={index} (AL=1+n*rate upper estimate)"] = (_value(windows[0])[0], _value(run)[0], most)
    for run in importers.read(folder / "C65.specforge_config_sweep.csv"):
        assert run.speculation is not None
        shape = f"{run.speculation.num_steps}-{run.speculation.eagle_topk}-{run.speculation.num_draft_tokens}"
        throughput, length = _value(run)
        base = throughput / run.measurements[0].extra["reported_speedup"]
        found[f"Llama-3.1-8B bs=1 {shape} (base = tput/reported speedup)"] = (base, throughput, length)
    (laptop,) = importers.read(folder / "C33.llama_speculative.log")
    # Its thread gives the baseline in words alone: about 11.
    found["llama.cpp 32B+3B draft 16"] = (11.0, *_value(laptop))
    base_categories, spec_categories = importers.read(folder / "C48.speed_bench.txt")
    for before, after in zip(base_categories.measurements, spec_categories.measurements, strict=True):
        assert before.category == after.category
        assert before.output_throughput_tok_s is not None
        assert after.output_throughput_tok_s is not None
        found[str(after.category)] = (before.output_throughput_tok_s, after.output_throughput_tok_s, None)
    return found


def test_expected_break_evens_and_speedups_follow_from_imported_values(shared_data: Path) -> None:
    with (shared_data / "cases" / "data" / "expected_breakeven.csv").open() as stream:
        expected = {row["label"]: row for row in csv.DictReader(stream)}

    pairs = _pairs(shared_data)

    # The other eight rows (C12, C29, C35, C78) have no file: their figures stand in words.
    assert len(pairs) == 6 + 8 + 1 + 4 + 8 + 5 + 1 == len(expected) - 8
    for label, (base, spec, length) in pairs.items():
        row = expected[label]
        assert spec / base == pytest.approx(float(row["speedup"]), rel=TOLERANCE), label
        if length is not None:
            assert length == pytest.approx(float(row["accept_len"]), rel=TOLERANCE), label
            assert length * base / spec == pytest.approx(float(row["break_even_accept_len"]), rel=TOLERANCE), label


def test_a_folder_of_several_servers_says_which_of_its_files_are_read(shared_data: Path) -> None:
    with pytest.raises(InputError, match=NOTHING) as caught:
        importers.read(shared_data / "h200-tiny-llama" / "endpoints")

    assert "base.chat.sse" in (caught.value.hint or "")
