"""SpecForge benchmarks and the SpecBundle dashboard."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracker import importers
from tracker.errors import InputError
from tracker.importers.base import ImportedRun

DATA = Path(__file__).resolve().parents[1] / "data" / "specforge_bench"


def _break_even(base: ImportedRun, spec: ImportedRun) -> float:
    (b,), (s,) = base.measurements, spec.measurements
    return (s.accept_length or 0) * (b.output_throughput_tok_s or 0) / (s.output_throughput_tok_s or 1)


def test_steps_zero_is_the_baseline_and_has_no_accept_length() -> None:
    baseline, spec = importers.read(DATA / "bench_eagle3.jsonl")

    assert baseline.role == "baseline"
    assert baseline.measurements[0].accept_length is None
    assert spec.name == "drafter-1k, mtbench, 3-1-4, concurrency 1"
    assert spec.drafter is not None
    assert spec.drafter.path == "models/drafter-1k"
    assert _break_even(baseline, spec) == pytest.approx(1.5)


def test_a_dashboard_baseline_repeated_beside_every_configuration_counts_once() -> None:
    runs = importers.read(DATA / "dashboard.json")

    assert [(run.row, run.role) for run in runs] == [(0, "baseline"), (1, None), (2, None)]
    assert [run.speculation.num_steps for run in runs if run.speculation is not None] == [None, 3, 5]
    assert runs[1].target is not None
    assert runs[1].target.name == "target-a"


def test_the_runners_mean_over_requests_is_not_the_accept_length() -> None:
    (run,) = importers.read(DATA / "runner.json")

    (cell,) = run.measurements
    assert cell.accept_length == pytest.approx(3.333, abs=5e-4)
    assert cell.extra["average_acceptance_length"] == 2.625


def test_settings_unknown_to_the_benchmark_stay_unknown(shared_data: Path) -> None:
    mtbench, gsm8k = importers.read(shared_data / "cases" / "data" / "C65.specforge_bench_eagle3.json")

    assert mtbench.speculation is not None
    assert (mtbench.speculation.num_steps, mtbench.speculation.num_draft_tokens) == (None, None)
    assert gsm8k.measurements[0].accept_length == pytest.approx(2.6434, rel=0.01)


def test_the_published_dashboard_gives_its_break_even(shared_data: Path) -> None:
    baseline, spec = importers.read(shared_data / "cases" / "data" / "C65.specforge_dashboard.json")

    assert _break_even(baseline, spec) == pytest.approx(1.90, rel=0.01)


def test_the_whole_specbundle_is_read_with_every_baseline_once(shared_data: Path) -> None:
    runs = importers.read(shared_data / "specbundle" / "data.json")

    baselines = [
        (run.target and run.target.name, run.workload and run.workload.prompt_set, run.measurements[0].concurrency)
        for run in runs
        if run.role == "baseline"
    ]
    assert len(runs) == 292
    assert len(baselines) == len(set(baselines)) == 37
    assert all(run.measurements[0].accept_length is not None for run in runs if run.role != "baseline")


def test_a_cut_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    path.write_bytes((DATA / "bench_eagle3.jsonl").read_bytes()[:300])

    with pytest.raises(InputError, match=r"the document is cut after"):
        importers.read(path)


def test_categories_of_a_data_set_are_measurements_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    part = {"latency": 4.0, "output_throughput": 210.0, "accept_length": 3.0, "num_questions": 2, "accuracy": None}
    metrics = {
        "latency": 10.0, "output_throughput": 200.0, "accept_length": 2.6, "num_questions": 5,
        "categorical_performance": {"math": part, "writing": {**part, "accept_length": 2.1}},
    }  # fmt: skip
    row = {"batch_size": 1, "steps": 3, "topk": 1, "num_draft_tokens": 4, "metrics": [metrics], "num_samples": 5}
    path.write_text(json.dumps({"model": "m/drafter", "mtbench": [row]}))

    (run,) = importers.read(path)

    assert [(cell.category, cell.accept_length) for cell in run.measurements] == [
        (None, 2.6),
        ("math", 3.0),
        ("writing", 2.1),
    ]


def test_verify_steps_of_the_runner_show_that_the_server_speculated(tmp_path: Path) -> None:
    path = tmp_path / "runner.json"
    value = {
        "backend": "sglang", "dataset": "gsm8k", "samples": 10, "output_tokens": 1000, "latency_seconds": 10.0,
        "throughput_tokens_per_second": 100.0, "average_acceptance_length": 2.625, "spec_verify_count": 400,
    }  # fmt: skip
    path.write_text(json.dumps(value))

    (run,) = importers.read(path)

    assert run.speculation is not None
    assert run.speculation.enabled
    assert run.measurements[0].accept_length == 2.5
