"""A folder of one server."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tracker import importers
from tracker.errors import InputError, UnknownFormatError

SAMPLE = Path(__file__).resolve().parents[1] / "data" / "sglang_folder" / "eagle3-2-1-3"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy = tmp_path / "server-a"
    shutil.copytree(SAMPLE, copy)
    return copy


def test_the_folder_names_the_run_and_describes_the_server(folder: Path) -> None:
    (run,) = importers.read(folder)

    assert run.name == "server-a"
    assert run.argv is not None
    assert run.argv[2] == "sglang.launch_server"
    assert run.server_info is not None
    assert run.server_info["speculative_algorithm"] == "EAGLE3"
    assert run.drafter is not None
    assert (run.drafter.name, run.drafter.path) == ("drafter-1k", "models/drafter-1k")
    assert run.findings == ()


def test_file_names_inside_the_folder_do_not_matter(folder: Path) -> None:
    for index, path in enumerate(sorted(folder.iterdir())):
        path.rename(folder / f"file{9 - index}.dat")

    (run,) = importers.read(folder)

    assert run.argv is not None
    assert run.server_info is not None
    assert run.findings == ()


def test_counters_that_disagree_with_the_requests_are_named_with_both_numbers(folder: Path) -> None:
    metrics = folder / "metrics.prom"
    metrics.write_text(metrics.read_text().replace("154.0", "254.0"))

    (run,) = importers.read(folder)

    (finding,) = run.findings
    assert finding.code == "COUNTERS_DISAGREE"
    assert "154 output tokens" in finding.message
    assert "54" in finding.message


def test_one_metrics_file_alone_cannot_be_compared_and_that_is_said(folder: Path) -> None:
    (folder / "metrics_before.prom").unlink()

    (run,) = importers.read(folder)

    assert [finding.code for finding in run.findings] == ["COUNTERS_NOT_COMPARED"]


def test_two_results_files_in_one_folder_are_refused_with_their_names(folder: Path) -> None:
    shutil.copy(folder / "requests.jsonl", folder / "again.jsonl")

    with pytest.raises(InputError, match=r"several results files: again\.jsonl, requests\.jsonl"):
        importers.read(folder)


def test_a_folder_without_results_is_unknown(folder: Path) -> None:
    (folder / "requests.jsonl").unlink()

    with pytest.raises(UnknownFormatError, match="folder holds nothing"):
        importers.read(folder)


def test_a_cut_server_info_names_the_file(folder: Path) -> None:
    info = folder / "server_info.json"
    info.write_text(info.read_text()[:120])

    with pytest.raises(InputError, match=r"server_info\.json: the file is no whole JSON"):
        importers.read(folder)


def test_cut_metrics_do_not_invent_a_disagreement(folder: Path) -> None:
    metrics = folder / "metrics.prom"
    metrics.write_text(metrics.read_text()[:-5])

    (run,) = importers.read(folder)

    assert run.findings == ()


def _write_log(folder: Path, *, length: float, throughput: float, running: int = 1, lines: int = 60) -> None:
    """Write a server's log of decode lines at one load."""
    text = "".join(
        f"[2026-11-01 10:{index // 60:02}:{index % 60:02}] Decode batch, #running-req: {running}, #token: 100, "
        f"token usage: 0.00, accept len: {length:.2f}, accept rate: 0.50, cuda graph: True, "
        f"gen throughput (token/s): {throughput:.2f}, #queue-req: 0\n"
        for index in range(lines)
    )
    (folder / "server.log").write_text(text)


def _cell(folder: Path) -> tuple[float, float]:
    """Return throughput and accept length of the sample's only load."""
    (run,) = importers.read(folder)
    cell = next(cell for cell in run.measurements if cell.repeat is None and cell.category is None)
    assert cell.output_throughput_tok_s is not None
    assert cell.accept_length is not None
    assert cell.concurrency == 1
    return cell.output_throughput_tok_s, cell.accept_length


def test_a_log_that_agrees_with_the_results_says_nothing(folder: Path) -> None:
    throughput, length = _cell(folder)
    _write_log(folder, length=length, throughput=throughput * 1.1)

    (run,) = importers.read(folder)

    assert run.findings == ()


def test_a_log_that_disagrees_is_named_with_both_numbers(folder: Path) -> None:
    throughput, length = _cell(folder)
    _write_log(folder, length=length + 0.5, throughput=throughput * 2)

    (run,) = importers.read(folder)

    found = {finding.code: finding.message for finding in run.findings}
    assert set(found) == {"THROUGHPUT_SOURCES_DISAGREE", "ACCEPT_LENGTH_SOURCES_DISAGREE"}
    assert f"{throughput:.1f} tok/s" in found["THROUGHPUT_SOURCES_DISAGREE"]
    assert f"{throughput * 2:.1f} tok/s" in found["THROUGHPUT_SOURCES_DISAGREE"]
    assert f"{length:.3f}" in found["ACCEPT_LENGTH_SOURCES_DISAGREE"]
    assert f"{length + 0.5:.2f}" in found["ACCEPT_LENGTH_SOURCES_DISAGREE"]


def test_a_load_that_the_log_knows_from_a_handful_of_lines_is_not_compared(folder: Path) -> None:
    _write_log(folder, length=1.5, throughput=1.0, lines=3)

    (run,) = importers.read(folder)

    assert run.findings == ()


def test_a_log_of_another_load_is_not_compared(folder: Path) -> None:
    _write_log(folder, length=1.5, throughput=1.0, running=8)

    (run,) = importers.read(folder)

    assert run.findings == ()


def test_several_logs_are_not_compared_and_that_is_said(folder: Path) -> None:
    _write_log(folder, length=1.5, throughput=1.0)
    shutil.copy(folder / "server.log", folder / "old.log")

    (run,) = importers.read(folder)

    (finding,) = run.findings
    assert finding.code == "LOG_NOT_COMPARED"
    assert "old.log, server.log" in finding.message


def test_a_log_without_decode_lines_is_not_compared_and_that_is_said(folder: Path) -> None:
    (folder / "server.log").write_text(
        "[2026-11-01 10:00:00] server_args=ServerArgs(model_path='org/target', tp_size=1)\n"
    )

    (run,) = importers.read(folder)

    assert [finding.code for finding in run.findings] == ["LOG_NOT_COMPARED"]


def test_results_and_a_log_are_enough_for_a_folder(folder: Path) -> None:
    throughput, length = _cell(folder)
    for item in folder.iterdir():
        if item.name != "requests.jsonl":
            item.unlink()
    _write_log(folder, length=length, throughput=throughput)
    log = folder / "server.log"
    log.write_text(
        "[2026-11-01 09:59:00] server_args=ServerArgs(model_path='org/target', speculative_algorithm='EAGLE3', "
        "speculative_draft_model_path='org/drafter', speculative_num_steps=2, speculative_eagle_topk=1, "
        "speculative_num_draft_tokens=3)\n" + log.read_text()
    )

    (run,) = importers.read(folder)

    assert importers.detect(folder).name == "sglang_folder"
    assert run.speculation is not None
    assert run.speculation.enabled
    assert run.target is not None
    assert run.target.name == "target"


def test_every_folder_of_the_real_campaign_is_held_against_its_log(shared_data: Path) -> None:
    found = {}
    for item in sorted((shared_data / "h200-tiny-llama").iterdir()):
        if (item / "server.log").is_file():
            (run,) = importers.read(item)
            found[item.name] = [(finding.code, finding.message) for finding in run.findings]

    assert len(found) == 9
    disagreeing = {name: findings for name, findings in found.items() if findings}
    assert list(disagreeing) == ["eagle3-d100000-3-4-16"]
    ((code, message),) = disagreeing["eagle3-d100000-3-4-16"]
    assert code == "THROUGHPUT_SOURCES_DISAGREE"
    assert "2332.1 tok/s at concurrency 8" in message
    assert "3853.1" in message
