"""Ctrl-C at any moment, and a disk that is full: a clean end, no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

START = "from tracker.cli._start import main; main()"
ROOT = Path(__file__).parents[2]


def test_ctrl_c_while_the_command_line_is_loaded_ends_it_quietly(tmp_path: Path) -> None:
    # Stands in for the first tenths of a second: whatever main imports is interrupted.
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = subprocess.run(
        [sys.executable, "-c", START, "runs"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Stopped.\n")


def test_the_script_begins_where_ctrl_c_is_heard() -> None:
    assert 'tracker = "tracker.cli._start:main"' in (ROOT / "pyproject.toml").read_text()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_under_the_output_is_said_in_a_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", START, "check", "--explain"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == 1
    assert "the disk is full" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("after_s", [1.0, 3.0, 6.0])
def test_ctrl_c_ends_the_web_interface_without_a_traceback_of_its_server(cli: Cli, after_s: float) -> None:
    cli("log-run", "--metric", "output_throughput_tok_s=90")
    process = subprocess.Popen(
        [sys.executable, "-c", START, "ui", "--port", "5987"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(after_s)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=30)

    assert process.returncode in (0, 130)
    assert "Traceback" not in told
