"""vLLM engine logs, its offline block and its counters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tracker import importers
from tracker.errors import InputError
from tracker.importers.base import ImportedRun

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


PREFIX = "(APIServer pid=1001) "
ARGUMENTS = PREFIX + "INFO 05-08 16:20:00 [utils.py:233] non-default args: {'model': 'm', 'seed': 1}\n"


def _load(second: int, throughput: float, running: int, engine: str = "Engine 000:") -> str:
    return (
        f"{PREFIX}INFO 05-08 16:25:{second:02d} [loggers.py:271] {engine} Avg prompt throughput: 2.5 tokens/s, Avg "
        f"generation throughput: {throughput} tokens/s, Running: {running} reqs, Waiting: 0 reqs, GPU KV cache usage: "
        "7.4%, Prefix cache hit rate: 0.0%\n"
    )


def _spec(second: int, accepted: int, drafted: int) -> str:
    return (
        f"{PREFIX}INFO 05-08 16:25:{second:02d} [metrics.py:101] SpecDecoding metrics: Mean acceptance length: "
        f"{1 + 3 * accepted / drafted:.2f}, Accepted throughput: 48.90 tokens/s, Drafted throughput: 157.19 tokens/s, "
        f"Accepted: {accepted} tokens, Drafted: {drafted} tokens, Per-position acceptance rate: 0.800, 0.600, 0.400, "
        f"Avg Draft acceptance rate: {100 * accepted / drafted:.1f}%\n"
    )


def _lines() -> str:
    return "".join(_load(10 * index, 740.0 + index, 4) + _spec(10 * index, 1800, 3000) for index in range(6))


def _read(tmp_path: Path, text: str | bytes) -> tuple[ImportedRun, ...]:
    path = tmp_path / "vllm.log"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return importers.read(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.encode("utf-16"),
        lambda text: text.replace(PREFIX, "\x1b[1;36m(APIServer pid=1)\x1b[0;0m "),
        lambda text: (
            (PREFIX + "INFO 05-08 16:20:00 [model.py:1] Resolved architecture: LlamaForCausalLM\n") * 1500 + text
        ),
        lambda text: text.replace("Engine 000:", "2 Engines Aggregated:"),
        lambda text: _load(0, 0.0, 0) + _load(10, 70.0, 4) + text,
        lambda text: (
            text
            + _spec(59, 1, 3)
            .replace("Accepted: 1 tokens, Drafted: 3 tokens", "Accepted: 0 tokens, Drafted: 0 tokens")
            .replace("0.800, 0.600, 0.400", "")
            .replace("length: 2.00", "length: nan")
        ),
    ],
    ids=["crlf", "UTF-16", "colours", "long start", "aggregated", "idle before", "nothing drafted"],
)
def test_a_log_says_the_same_however_it_was_saved(tmp_path: Path, change: Callable[[str], str | bytes]) -> None:
    (run,) = _read(tmp_path, change(_lines()))

    (cell,) = run.measurements
    assert cell.concurrency == 4
    assert cell.output_throughput_tok_s == pytest.approx(742.5)
    assert cell.verify_steps == 6000
    assert cell.accept_length == pytest.approx(2.8)


def test_engines_that_log_at_one_moment_add_up(tmp_path: Path) -> None:
    text = "".join(_load(index, 740.0, 4) + _load(index, 700.0, 3, "Engine 001:") for index in range(5))

    (run,) = _read(tmp_path, text)

    (cell,) = run.measurements
    assert (cell.concurrency, cell.output_throughput_tok_s) == (7, 1440.0)


def test_engines_that_log_at_moments_of_their_own_are_not_taken_for_the_server(tmp_path: Path) -> None:
    text = "".join(_load(2 * index, 740.0, 4) + _load(2 * index + 1, 700.0, 3, "Engine 001:") for index in range(5))

    (run,) = _read(tmp_path, text + _spec(30, 1800, 3000))

    (cell,) = run.measurements
    assert cell.output_throughput_tok_s is None
    assert [finding.code for finding in run.findings] == ["THROUGHPUT_PER_RANK"]


def test_each_server_that_was_started_with_other_arguments_is_a_run(tmp_path: Path) -> None:
    other = ARGUMENTS.replace("'seed': 1", "'seed': 2")

    runs = _read(tmp_path, ARGUMENTS + _lines() + other + _lines())

    assert [(run.row, run.measurements[0].verify_steps) for run in runs] == [(0, 6000), (1, 6000)]


def test_a_cut_last_line_is_named(tmp_path: Path) -> None:
    (run,) = _read(tmp_path, _lines()[:-60])

    assert run.missing == "the last line is cut; it was left out"
    assert run.measurements[0].verify_steps == 5000


def test_lines_of_two_layouts_are_not_put_together_in_silence(shared_data: Path) -> None:
    (run,) = importers.read(shared_data / "cases" / "data" / "C61.vllm_formats_real.log")

    (finding,) = run.findings
    assert finding.code == "LOG_LINES_MIXED"
    assert "8 that count an interval" in finding.message


def test_a_start_without_metrics_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no whole metrics line"):
        _read(tmp_path, PREFIX + "INFO 05-08 16:20:00 [api_server.py:1896] vLLM API server version 0.11.0\n")


COUNTERS = (
    'vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} 100.0\n'
    'vllm:spec_decode_num_drafts_total{engine="1",model_name="m"} 100.0\n'
    'vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 150.0\n'
    'vllm:spec_decode_num_accepted_tokens_total{engine="1",model_name="m"} 150.0\n'
)


def test_a_reading_that_was_filtered_by_name_is_one_and_adds_up_over_engines(tmp_path: Path) -> None:
    path = tmp_path / "metrics.prom"
    path.write_text(COUNTERS)

    (run,) = importers.read(path)

    assert (run.engine, run.measurements[0].verify_steps, run.measurements[0].accept_length) == ("vllm", 200, 2.5)
    assert run.missing is None


def test_a_reading_with_a_cut_last_line_says_so(tmp_path: Path) -> None:
    path = tmp_path / "metrics.prom"
    path.write_text(COUNTERS[:-3])

    (run,) = importers.read(path)

    assert run.missing == "the last line is cut; it was left out"
    assert run.measurements[0].accepted_drafts == 150
