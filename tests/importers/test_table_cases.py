"""Published tables: their runs, and the break-evens recomputed from them within 1 %."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracker import importers
from tracker.errors import InputError
from tracker.importers.base import ImportedRun

TOLERANCE = 0.01


def _read(shared_data: Path, name: str) -> tuple[ImportedRun, ...]:
    return importers.read(shared_data / "cases" / "data" / name)


def _break_even(base: ImportedRun, spec: ImportedRun) -> float:
    """Return accept length x base throughput / speculative throughput."""
    (b,), (s,) = base.measurements, spec.measurements
    assert b.output_throughput_tok_s is not None
    assert s.output_throughput_tok_s is not None
    assert s.accept_length is not None
    return s.accept_length * b.output_throughput_tok_s / s.output_throughput_tok_s


def test_c27_gives_six_baselines_and_the_published_break_evens(shared_data: Path) -> None:
    runs = _read(shared_data, "C27.specforge_qwen3_30b_a3b.csv")
    baselines = {run.measurements[0].concurrency: run for run in runs if run.role == "baseline"}
    values = [
        _break_even(baselines[run.measurements[0].concurrency], run)
        for run in runs
        if run.speculation is not None and run.speculation.enabled
    ]

    assert sorted(baselines) == [1, 4, 8, 16, 32, 64]
    assert values == pytest.approx([2.59, 2.829, 2.132, 2.921, 3.138, 4.011, 2.351, 3.014], rel=TOLERANCE)


def test_c07_gives_two_days_with_one_break_even(shared_data: Path) -> None:
    nightly = _read(shared_data, "C07.glm46_mtp_nightly.csv")
    detail = _read(shared_data, "C07.glm46_detail.csv")
    base = {
        (run.measured_at.date().isoformat(), cell.concurrency): cell.output_throughput_tok_s
        for run in nightly
        if run.name == "TP8" and run.measured_at is not None
        for cell in run.measurements
    }
    values = []
    for run in detail:
        assert run.measured_at is not None
        (cell,) = run.measurements
        baseline = base[run.measured_at.date().isoformat(), cell.concurrency]
        assert baseline is not None
        assert cell.accept_length is not None
        assert cell.output_throughput_tok_s is not None
        values.append(cell.accept_length * baseline / cell.output_throughput_tok_s)

    assert values == pytest.approx([1.37, 1.423, 1.532, 1.349, 1.45, 1.537], rel=TOLERANCE)


def test_c65_sweep_gives_five_configurations(shared_data: Path) -> None:
    runs = _read(shared_data, "C65.specforge_config_sweep.csv")

    implied = [
        (run.measurements[0].accept_length or 0)
        * (run.measurements[0].output_throughput_tok_s or 0)
        / run.measurements[0].extra["reported_speedup"]
        / (run.measurements[0].output_throughput_tok_s or 1)
        for run in runs
    ]

    assert [run.name for run in runs][:3] == ["3-1-4, concurrency 1", "5-1-6, concurrency 1", "7-1-8, concurrency 1"]
    assert implied == pytest.approx([1.344, 1.485, 1.636, 1.652, 1.807], rel=TOLERANCE)


def test_c68_window_bounds_the_steps_but_not_the_proposed_drafts(shared_data: Path) -> None:
    runs = _read(shared_data, "C68.llama_nmax_sweep.csv")

    assert runs[0].role == "baseline"
    assert [run.speculation and run.speculation.num_steps for run in runs[1:]] == [1, 2, 3, 4]
    assert all(run.measurements[0].accept_length is None for run in runs)
    best = max(runs, key=lambda run: run.measurements[0].output_throughput_tok_s or 0)
    assert best.speculation is not None
    assert best.speculation.num_steps == 2


def test_c44_gives_accept_lengths_from_counters(shared_data: Path) -> None:
    greedy, sampled = _read(shared_data, "C44.mtp_temp1.csv")

    assert greedy.measurements[0].accept_length == pytest.approx(1.206, rel=TOLERANCE)
    assert sampled.measurements[0].accept_length == pytest.approx(1.988, rel=TOLERANCE)
    steps = [
        (run.measurements[0].output_throughput_tok_s or 0) / (run.measurements[0].accept_length or 1)
        for run in (greedy, sampled)
    ]
    assert steps == pytest.approx([94.1, 84.9], rel=TOLERANCE)
    assert greedy.workload is not None
    assert greedy.workload.temperature == 1.0


def test_c46_keeps_user_speed_apart_and_reads_tokens_per_iteration(shared_data: Path) -> None:
    raw, chat, _ = _read(shared_data, "C46.workload_state.csv")

    per_step = [
        run.measurements[0].extra["decode_tok_s_user"] / (run.measurements[0].accept_length or 1) for run in (raw, chat)
    ]
    assert per_step == pytest.approx([38.0, 38.5], rel=TOLERANCE)
    assert raw.measurements[0].output_throughput_tok_s is None
    assert raw.measurements[0].accept_rate_convention == "unknown"


def test_c14_adds_positions_up(shared_data: Path) -> None:
    first, second = _read(shared_data, "C14.per_position_cliff.csv")

    assert first.measurements[0].accept_length == pytest.approx(2.37, rel=TOLERANCE)
    assert second.measurements[0].accept_length == pytest.approx(1.272, rel=TOLERANCE)


def test_c40_c43_and_c70_are_read(shared_data: Path) -> None:
    k7, k5 = _read(shared_data, "C40.k_crossover.csv")
    shapes = _read(shared_data, "C43.eagle_qwen2_temp.csv")
    graphs = _read(shared_data, "C70.sglang_eagle3_intro.csv")

    assert [cell.output_throughput_tok_s for cell in k5.measurements] == [42.18, 64.12, 84.20, 100.33]
    assert [cell.concurrency for cell in k7.measurements] == [1, 2, 4, 6]
    assert [run.name for run in shapes][:2] == ["chain, temperature 0", "chain, temperature 1"]
    assert [(run.cuda_graph, run.measurements[0].accept_length) for run in graphs][:3:2] == [
        (False, 5.36),
        (True, 5.39),
    ]


@pytest.mark.parametrize(
    "name",
    [
        "C23.domino_accept_len.csv",
        "C23.domino_train_metrics.csv",
        "C40.ratio_vs_k.csv",
        "C41.running_req.csv",
        "C50.accept_len_vs_context.csv",
    ],
)
def test_tables_whose_columns_name_no_measure_are_refused_with_what_was_found(shared_data: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"no column holds output throughput or accept length.*found: "):
        _read(shared_data, name)


def test_rows_to_which_others_add_speculation_are_baselines_and_a_printed_one_is_a_length(shared_data: Path) -> None:
    runs = importers.read(shared_data / "cases" / "data" / "C07.glm46_mtp_nightly.csv")

    assert [run.role for run in runs] == ["baseline"] * 9 + [None] * 9
    assert all(run.speculation is not None and run.speculation.enabled for run in runs[9:])
    assert runs[-1].measurements[-1].accept_length == 1.0


def test_a_configuration_with_a_rate_speculates_and_keeps_its_own_numbers(shared_data: Path) -> None:
    base, spec = importers.read(shared_data / "cases" / "data" / "C48.speed_bench.txt")

    assert spec.speculation is not None
    assert spec.speculation.enabled
    assert dict(base.measurements[0].extra) == {"base_avg_latency": 11.976}
    assert dict(spec.measurements[0].extra) == {
        "decode_speedup": 1.64,
        "spec_avg_latency": 7.471,
        "latency_speedup": 1.6,
    }
