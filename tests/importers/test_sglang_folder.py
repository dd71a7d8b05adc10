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
