"""vLLM engine logs, its offline block and its counters."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracker import importers

DATA = Path(__file__).resolve().parents[1] / "data"


def test_interval_lines_are_pooled_by_drafts_and_not_averaged() -> None:
    (run,) = importers.read(DATA / "vllm_log" / "v1.log")

    (cell,) = run.measurements
    assert (cell.verify_steps, cell.accepted_drafts, cell.proposed_drafts) == (300, 380, 900)
    assert cell.accept_length == pytest.approx(1 + 380 / 300)
    assert (cell.concurrency, cell.output_throughput_tok_s) == (1, 52.0)
    assert run.speculation is not None
    assert run.speculation.num_steps == 3
    assert run.findings == ()


def test_v0_counters_are_totals_and_the_last_line_counts() -> None:
    (run,) = importers.read(DATA / "vllm_log" / "v0.log")

    (cell,) = run.measurements
    assert cell.verify_steps == 200
    assert cell.accept_length == pytest.approx(440 / 200)
    assert cell.concurrency == 2


PREFIX = "INFO 02-03 10:00:00 [metrics.py:1] "
LAYOUTS = [
    (
        "Speculative metrics: Draft acceptance rate: 0.642, System efficiency: 0.598, Number of speculative tokens: 3, "
        "Number of accepted tokens: 8547, Number of draft tokens: 13311, Number of emitted tokens: 10616.",
        10616 / 4437,
    ),
    (
        "Speculative metrics: Draft acceptance rate: 1.000, "
        "Number of accepted tokens: 66, Number of draft tokens: 66, ",
        None,
    ),
    ("SpecDecoding metrics: Draft acceptance rate: 100.0%, Accepted: 66 tokens, Drafted: 66 tokens", None),
    (
        "SpecDecoding metrics: Draft acceptance rate: 88.8%, Mean acceptance length: 5.44, Accepted: 262 tokens, "
        "Drafted: 295 tokens, Per-position acceptance rate: 0.983, 0.949, 0.915, 0.881, 0.712",
        5.44,
    ),
    (
        "SpecDecoding metrics: Mean acceptance length: 2.87, Accepted: 489 tokens, Drafted: 1572 tokens, "
        "Per-position acceptance rate: 0.740, 0.473, 0.309, 0.187, 0.099, 0.057, Avg Draft acceptance rate: 31.1%",
        1 + 489 / 262,
    ),
    (
        "SpecDecoding metrics: Mean acceptance length: 6.82, Current speculative depth: 7, Accepted: 256 tokens, "
        "Drafted: 308 tokens, Per-position acceptance rate: 1.000, 1.000, 1.000, 1.000, 0.795, 0.614, 0.409",
        6.82,
    ),
]


@pytest.mark.parametrize(("line", "length"), LAYOUTS)
def test_every_published_layout_gives_its_accept_length(tmp_path: Path, line: str, length: float | None) -> None:
    path = tmp_path / "engine.log"
    path.write_text(f"{PREFIX}{line}\n")

    (run,) = importers.read(path)

    (cell,) = run.measurements
    assert cell.accept_length == (None if length is None else pytest.approx(length, rel=0.01))
    assert run.findings == ()


def test_published_logs_are_read(shared_data: Path) -> None:
    folder = shared_data / "cases" / "data"
    (medusa,) = importers.read(folder / "C11.vllm_v0_medusa.log")
    (mixed,) = importers.read(folder / "C61.vllm_formats_real.log")

    assert medusa.measurements[0].accept_length == 1.0
    assert medusa.measurements[0].output_throughput_tok_s == pytest.approx((127.4 + 110.4) / 2)
    assert mixed.measurements[0].extra["metrics_lines"] == 10


@pytest.mark.parametrize(
    ("name", "length", "steps"),
    [
        ("C04.vllm_offline_spec_metrics.txt", 1.07, 4),
        ("C04.vllm_offline_spec_metrics.fixed.txt", 3.09, 4),
        ("C61.vllm_offline_spec_metrics.txt", 4.59, 5),
    ],
)
def test_published_offline_blocks_give_their_accept_length(
    shared_data: Path, name: str, length: float, steps: int
) -> None:
    (run,) = importers.read(shared_data / "cases" / "data" / name)

    assert run.measurements[0].accept_length == pytest.approx(length, rel=0.01)
    assert run.speculation is not None
    assert run.speculation.num_steps == steps
    assert run.findings == ()


def test_an_offline_block_cut_before_its_last_position_says_so(tmp_path: Path) -> None:
    path = tmp_path / "block.txt"
    text = (DATA / "vllm_offline" / "k4.txt").read_text()
    path.write_text(text[: text.index("acceptance at token 3")])

    (run,) = importers.read(path)

    assert run.missing == "3 of 4 positions are there"


def test_counters_are_summed_over_engines_and_named_as_lifetime() -> None:
    (run,) = importers.read(DATA / "prometheus" / "vllm.prom")

    (cell,) = run.measurements
    assert (cell.verify_steps, cell.accept_length) == (160, 2.5)
    assert [finding.code for finding in run.findings] == ["COUNTERS_SINCE_START"]


def test_the_published_counters_give_accept_length_two_and_a_half(shared_data: Path) -> None:
    (run,) = importers.read(shared_data / "cases" / "data" / "C61.vllm_prometheus_excerpt.prom")

    assert run.measurements[0].accept_length == pytest.approx(2.50, rel=0.01)
    assert run.speculation is not None
    assert run.speculation.num_steps == 4


def test_a_real_sglang_reading_gives_tokens_over_steps(shared_data: Path) -> None:
    (run,) = importers.read(shared_data / "h200-tiny-llama" / "eagle3-d100000-3-1-4" / "metrics.prom")

    assert run.measurements[0].accept_length == pytest.approx(45952 / 14939)
    assert run.engine == "sglang"
