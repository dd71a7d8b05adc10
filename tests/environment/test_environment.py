"""Provenance of a record, taken from real git repositories and a made-up environment."""

from __future__ import annotations

import stat
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tracker.domain.provenance import InputFile, Provenance
from tracker.domain.workload import Hardware
from tracker.environment import provenance
from tracker.environment.hardware import hardware, parse_gpus, visible_count

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def _collect(cwd: Path, **environ: str) -> Provenance:
    return provenance.collect(now=NOW, environ=environ, cwd=cwd, importer="table", inputs=())


def test_commit_and_dirty_flag_follow_the_working_tree(tmp_path: Path) -> None:
    _git(tmp_path, "init", "--quiet")
    empty = provenance.git_state(tmp_path)
    (tmp_path / "a").write_text("1")
    _git(tmp_path, "add", "a")
    _git(tmp_path, "commit", "--quiet", "-m", "first")
    clean = provenance.git_state(tmp_path)
    (tmp_path / "a").write_text("2")
    dirty = provenance.git_state(tmp_path)

    assert empty == provenance.GitState()
    assert clean == provenance.GitState(commit=_git(tmp_path, "rev-parse", "HEAD").strip(), dirty=False)
    assert dirty.dirty is True


def test_outside_a_repository_or_without_the_folder_there_is_no_commit(tmp_path: Path) -> None:
    assert provenance.git_state(tmp_path) == provenance.GitState()
    assert provenance.git_state(tmp_path / "gone") == provenance.GitState()


def test_users_and_hosts_are_masked_and_only_identifiers_of_the_job_are_kept(tmp_path: Path) -> None:
    found = _collect(
        tmp_path,
        USER="alice",
        SLURM_JOB_ID="4711",
        SLURM_JOB_NAME="bench by alice@corp.example",
        SLURM_JOB_USER="alice",
        SLURM_SUBMIT_DIR="/home/alice/x",
        GITHUB_RUN_ID="99",
        GITHUB_TOKEN="ghp_S3CRET",
        CI_JOB_TOKEN="S3CRET",
    )

    assert "alice" not in repr(found)
    assert "S3CRET" not in repr(found)
    assert found.scheduler == {"GITHUB_RUN_ID": "99", "SLURM_JOB_ID": "4711", "SLURM_JOB_NAME": "bench by [e-mail]"}
    assert found.logged_by is not None
    assert found.logged_by.startswith("user-")
    assert found.logged_by == provenance.user({"LOGNAME": "alice"})


def test_the_command_that_was_run_around_loses_its_secrets_and_homes(tmp_path: Path) -> None:
    source = InputFile(name="a.csv", sha256="00", size_bytes=1)
    found = provenance.collect(
        now=NOW,
        environ={},
        cwd=tmp_path,
        importer=None,
        inputs=[source],
        command=["bench", "--api-key", "S3CRET", "--out", "/home/alice/x"],
        command_exit_code=3,
        measured_at=NOW,
    )

    assert found.command == ("bench", "--api-key", "[redacted]", "--out", "~/x")
    assert found.command_exit_code == 3
    assert found.inputs == (source,)
    assert found.measured_at == NOW


def test_versions_are_those_installed(tmp_path: Path) -> None:
    found = _collect(tmp_path)

    assert found.packages["mlflow"].startswith("3.")
    assert found.tracker_version == found.packages["tracker"]
    assert "Python 3." in (found.platform or "")


@pytest.mark.parametrize(
    ("listing", "visible", "expected"),
    [
        ("NVIDIA H200, 580.1\nNVIDIA H200, 580.1\n", None, ("NVIDIA H200", 2)),
        ("NVIDIA H200, 580.1\nNVIDIA H200, 580.1\n", "1", ("NVIDIA H200", 1)),
        ("NVIDIA H200, 580.1\nNVIDIA A100, 580.1\n", None, ("NVIDIA H200 + NVIDIA A100", 2)),
        ("NVIDIA H200, 580.1\n", "", ("NVIDIA H200", 0)),
        ("NVIDIA H200, 580.1\n", "7", ("NVIDIA H200", 0)),
    ],
)
def test_gpus_are_counted_as_the_server_sees_them(listing: str, visible: str | None, expected: tuple[str, int]) -> None:
    found = parse_gpus(listing, {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible})

    assert found is not None
    assert (found.gpu, found.gpu_count) == expected
    assert found.driver == "580.1"


@pytest.mark.parametrize(
    ("setting", "count"),
    [
        ("0", 1), ("1", 1), ("7", 0), ("0,1", 2), ("1,0", 2), ("0,7", 1), ("7,0", 0), ("0,0", 0), ("0,1,0", 0),
        ("-1", 0), ("0,-1", 1), ("0,-1,1", 1), ("", 0), (" ", 0), (" 0 , 1 ", 2), ("0 1", 1), ("0,,1", 1), (",0", 0),
        ("0,", 1), ("x", 0), ("0x1", 1), ("01", 1), ("+0", 1), ("none", 0), ("all", 0), ("0,1,7", 2), ("0,7,0", 1),
        ("GPU-9bbc1b8f-cd8e-7836-fcc3-ca00c9d3b171", 1), ("GPU-9BBC1B8F", 1), ("gpu-9bbc1b8f", 0), ("GPU-", 0),
        ("GPU-9bbc1b8f,1", 1), ("0,GPU-ce7e4719", 1), ("GPU-ce7e4719,GPU-9bbc1b8f", 2), ("GPU-9bbc1b8f,GPU-9bbc", 0),
    ],
)  # fmt: skip
def test_gpus_are_counted_as_cuda_showed_them_on_two_h200(setting: str, count: int) -> None:
    assert visible_count(setting, present=2) == count


def test_an_answer_without_gpus_is_no_hardware() -> None:
    assert parse_gpus("No devices were found\n", {}) is None


def _fake_smi(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_the_driver_is_asked_when_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_smi(tmp_path, "echo 'NVIDIA H200, 580.1'", monkeypatch)

    found = hardware()

    assert isinstance(found, Hardware)
    assert found.gpu == "NVIDIA H200"


def test_a_driver_that_fails_or_is_absent_gives_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_smi(tmp_path, "exit 9", monkeypatch)
    assert hardware() is None

    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert hardware() is None
