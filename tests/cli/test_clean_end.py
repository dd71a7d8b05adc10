"""Ctrl-C at any moment, a disk that is full, files of somebody else: a clean end, no traceback."""

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
# Root may read everything, unless it gives that up.
_UNPRIVILEGED = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search") if os.geteuid() == 0 else ()


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


@pytest.mark.parametrize(
    "arguments",
    [
        ("log-run", "locked"),
        ("log-run", "locked.csv"),
        ("log-run", "there.csv", "--server-log", "locked.csv"),
        ("sweep", "locked"),
        ("sync", "locked"),
        ("campaign", "import", "locked"),
        ("bench", "http://127.0.0.1:9", "--chat-template", "locked"),
        ("decide", "locked", "--option", "A"),
        ("check", "--drafter", "locked"),
    ],
)
def test_what_may_not_be_read_is_named_and_is_no_usage_error(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "there.csv").write_text("name,output_throughput_tok_s\na,1\n")
    (tmp_path / "locked.csv").write_text("name,output_throughput_tok_s\na,1\n")
    (tmp_path / "locked.csv").chmod(0)
    (tmp_path / "locked").mkdir(mode=0)

    done = subprocess.run(
        [*_UNPRIVILEGED, sys.executable, "-c", START, *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TRACKER_DATA_DIR": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1, done.stderr
    assert "where: locked" in done.stderr
    assert "next:" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("no_color", "coloured"), [("1", False), ("", True)])
def test_colours_are_left_out_where_no_color_is_set(tmp_path: Path, no_color: str, coloured: bool) -> None:
    ours, terminal = os.openpty()
    subprocess.run(
        [sys.executable, "-c", START, "check", "--server-cmd", "vllm serve x --speculative-config x"],
        env={**os.environ, "NO_COLOR": no_color, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
        stderr=terminal,
        check=False,
    )
    os.close(terminal)
    told = os.read(ours, 65536)
    os.close(ours)

    assert b"SPEC_CONFIG_NOT_JSON" in told
    assert (b"\x1b[" in told) is coloured


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_web_interface_ends_its_server_when_it_is_told_to_end(cli: Cli, number: signal.Signals) -> None:
    cli("log-run", "--metric", "output_throughput_tok_s=90")
    process = subprocess.Popen(
        [sys.executable, "-c", START, "ui", "--port", "5986"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(3)
    process.send_signal(number)
    # The server holds these pipes too: they end when it has.
    process.communicate(timeout=30)

    assert process.returncode == 0


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
