"""SGLang server logs."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from pathlib import Path

import pytest

from tracker import importers
from tracker.errors import InputError

DATA = Path(__file__).resolve().parents[1] / "data" / "sglang_log"


def test_ranks_count_once_and_lines_glued_to_a_progress_bar_count_too() -> None:
    (run,) = importers.read(DATA / "eagle3_tp2.log")

    assert [(cell.concurrency, cell.extra["decode_lines"]) for cell in run.measurements] == [(1, 3.0), (2, 3.0)]


def test_the_first_line_after_idle_counts_for_acceptance_but_not_for_speed() -> None:
    (run,) = importers.read(DATA / "eagle3_tp2.log")

    one = run.measurements[0]
    assert one.accept_length == pytest.approx(2.2)
    assert one.output_throughput_tok_s == pytest.approx(4.4 / (2.0 / 100 + 2.4 / 120))
    assert one.extra["decode_lines_after_idle"] == 1.0


def test_server_arguments_in_the_log_describe_the_speculation() -> None:
    (run,) = importers.read(DATA / "eagle3_tp2.log")

    assert run.speculation is not None
    assert (run.speculation.algorithm, run.speculation.num_steps, run.speculation.num_draft_tokens) == ("EAGLE3", 3, 4)
    assert run.cuda_graph is True
    assert run.drafter is not None
    assert run.drafter.name == "drafter"
    assert run.measurements[0].accept_rate_convention == "accepted_over_proposed"


def test_a_log_without_accept_length_is_not_speculative_and_has_none() -> None:
    (run,) = importers.read(DATA / "old_plain.log")

    assert run.speculation is None
    assert run.measurements[0].accept_length is None
    assert run.measurements[0].output_throughput_tok_s == pytest.approx(50.2, abs=0.01)


def test_a_log_without_decode_lines_says_so(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("[2026-01-01 00:00:00] server_args=ServerArgs(model_path='m')\n")

    with pytest.raises(InputError, match="no decode line"):
        importers.read(path)


def test_many_steps_outside_cuda_graphs_void_the_speed(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    text = (DATA / "eagle3_tp2.log").read_text()
    path.write_text(
        text.replace(
            "cuda graph: True, gen throughput (token/s): 190", "cuda graph: False, gen throughput (token/s): 190"
        )
    )

    (run,) = importers.read(path)

    (finding,) = run.findings
    assert finding.code == "CUDA_GRAPH_MISSED"
    assert finding.voids == ("speed",)


def test_the_published_eagle3_log_gives_steps_per_second_and_accept_length(shared_data: Path) -> None:
    (run,) = importers.read(shared_data / "cases" / "data" / "C36.sglang_decode_eagle3.log")

    (cell,) = run.measurements
    assert cell.accept_length == pytest.approx(1.95, rel=0.01)
    speculative_lines_length = (1.95 + 1.80 + 2.05 + 1.80) / 4
    assert (cell.output_throughput_tok_s or 0) / speculative_lines_length == pytest.approx(91.9, rel=0.01)


def test_the_published_baseline_log_and_the_mixed_ones_are_read(shared_data: Path) -> None:
    folder = shared_data / "cases" / "data"
    (baseline,) = importers.read(folder / "C29.sglang_decode_baseline.log")
    (mixed,) = importers.read(folder / "C60.sglang_formats_real.log")
    (synthetic,) = importers.read(folder / "C60.sglang_formats_SYNTHETIC.log")

    assert baseline.measurements[0].output_throughput_tok_s == pytest.approx(97.56, rel=0.01)
    assert [cell.concurrency for cell in mixed.measurements] == [1, 5, 32]
    assert [(cell.concurrency, cell.accept_length) for cell in synthetic.measurements] == [
        (1, 1.0),
        (2, 3.0),
        (4, 2.31),
        (8, 2.8),
        (33, 2.4),
    ]
    assert [cell.output_throughput_tok_s for cell in synthetic.measurements] == [None] * 5


@pytest.mark.parametrize(
    "server", ["eagle3-d100-3-1-4", "eagle3-d10000-3-1-4", "eagle3-d100000-3-4-16", "baseline-nograph"]
)
def test_a_real_servers_log_agrees_with_its_clients(shared_data: Path, server: str) -> None:
    folder = shared_data / "h200-tiny-llama" / server
    (client,), (log,) = importers.read(folder), importers.read(folder / "server.log")

    asked, logged = client.measurements[0], log.measurements[0]
    assert logged.concurrency == 1
    assert logged.output_throughput_tok_s == pytest.approx(asked.output_throughput_tok_s, rel=0.05)
    assert logged.accept_length == (
        None if asked.accept_length is None else pytest.approx(asked.accept_length, rel=0.02)
    )


LINE = (
    "[2026-06-10 12:00:{second:02d} TP0] Decode batch, #running-req: 4, #token: 812, token usage: 0.00, "
    "accept len: {length:.2f}, accept rate: {rate:.2f}, cuda graph: True, gen throughput (token/s): 400.00, "
    "#queue-req: 0\n"
)
ARGUMENTS = (
    "[2026-06-10 12:00:00] server_args=ServerArgs(model_path='m/target', speculative_algorithm='EAGLE3', "
    "speculative_draft_model_path='m/drafter', speculative_num_steps=3, speculative_eagle_topk=1, "
    "speculative_num_draft_tokens=4, disable_cuda_graph=False, random_seed=1)\n"
)


def _lines(count: int = 12, length: float = 2.5) -> str:
    return "".join(
        LINE.format(second=index, length=length + index % 3 / 10, rate=(length + index % 3 / 10 - 1) / 3)
        for index in range(count)
    )


def _written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_accept_length_of_uncut_blocks_is_not_taken_for_the_servers(tmp_path: Path) -> None:
    text = _lines().replace("cuda graph", "cap len: 3.40, block accept len: 7.77, cuda graph")

    (run,) = importers.read(_written(tmp_path / "dspark.log", text))

    assert run.measurements[0].accept_length == pytest.approx(2.6)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
        lambda text: "".join(f"2026-06-10T12:00:00Z stdout F {line}\n" for line in text.splitlines()),
        lambda text: "".join(f"  50%|## | 2/4\r 100%|####| 4/4\r{line}\n" for line in text.splitlines()),
        lambda text: text.replace("#running-req: 4, ", "").replace("#queue-req: 0", "#running-req: 4"),
        lambda text: "[2026-06-10 11:00:00 TP0] Load weight begin. avail mem=1\n" * 3000 + text,
        lambda text: "".join(line + line.replace("TP0", "TP1") for line in text.splitlines(keepends=True)),
    ],
    ids=["crlf", "byte-order mark", "UTF-16", "containerd", "progress bar", "other order", "long start", "two ranks"],
)
def test_a_log_says_the_same_however_it_was_saved(tmp_path: Path, change: Callable[[str], str | bytes]) -> None:
    (run,) = importers.read(_written(tmp_path / "server.log", change(_lines())))

    (cell,) = run.measurements
    assert cell.concurrency == 4
    assert cell.accept_length == pytest.approx(2.6)
    assert cell.output_throughput_tok_s == pytest.approx(400.0)
    assert cell.accept_rate_convention == "accepted_over_proposed"
    assert cell.extra["decode_lines"] == 12.0


def test_each_server_that_was_started_with_other_arguments_is_a_run(tmp_path: Path) -> None:
    second = ARGUMENTS.replace("'EAGLE3'", "'EAGLE'").replace("12:00", "13:00")
    path = _written(tmp_path / "server.log", ARGUMENTS + _lines() + second + _lines(length=1.0))

    first, other = importers.read(path)

    assert (first.row, other.row) == (0, 1)
    assert [run.speculation and run.speculation.algorithm for run in (first, other)] == ["EAGLE3", "EAGLE"]
    assert [run.measurements[0].accept_length for run in (first, other)] == [pytest.approx(2.6), pytest.approx(1.1)]


def test_one_server_started_again_is_one_run(tmp_path: Path) -> None:
    again = ARGUMENTS.replace("random_seed=1", "random_seed=2")

    (run,) = importers.read(_written(tmp_path / "server.log", ARGUMENTS + _lines() + again + _lines()))

    assert run.measurements[0].extra["decode_lines"] == 24.0


def test_the_arguments_of_a_start_that_decoded_nothing_are_not_those_of_the_run(tmp_path: Path) -> None:
    failed = ARGUMENTS.replace("speculative_num_steps=3", "speculative_num_steps=7") + "CUDA out of memory\n"

    (run,) = importers.read(_written(tmp_path / "server.log", failed + ARGUMENTS + _lines()))

    assert run.speculation is not None
    assert run.speculation.num_steps == 3


def test_a_log_cut_within_a_decode_line_says_so(tmp_path: Path) -> None:
    (run,) = importers.read(_written(tmp_path / "server.log", _lines()[:-30]))

    assert run.missing == "the last line is cut; it was left out"
    assert run.measurements[0].extra["decode_lines"] == 11.0


def test_rates_of_two_definitions_are_not_averaged(shared_data: Path) -> None:
    (run,) = importers.read(shared_data / "cases" / "data" / "C60.sglang_formats_SYNTHETIC.log")

    assert [cell.reported_accept_rate is None for cell in run.measurements] == [True, False, False, False, False]
    assert {cell.accept_rate_convention for cell in run.measurements[1:]} == {"length_over_draft_tokens"}


def test_the_published_log_prints_the_old_rate(shared_data: Path) -> None:
    (run,) = importers.read(shared_data / "cases" / "data" / "C36.sglang_decode_eagle3.log")

    assert run.measurements[0].accept_rate_convention == "length_over_draft_tokens"
