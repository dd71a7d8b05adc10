"""Servers as processes: started, explained when they fail, and never left behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.fakes.servers import ENGINE, LAUNCH, free_port
from tracker.errors import ServerError, UsageError
from tracker.launchers import LaunchSpec, Started, Starting, explain, is_free, launchers, reserve_port, wait_all
from tracker.launchers.local import LAUNCHER, LocalServer
from tracker.launchers.template import expand
from tracker.load.control import Control

COMMAND = ("python3", "-m", "x", "--flag", "two words")
QUOTED = """'env '"'"'A=b c'"'"' python3 -m x --flag '"'"'two words'"'"''"""


def _start(
    folder: Path, *, name: str = "a", port: int | None = None, **variables: str
) -> tuple[LocalServer, str, Path]:
    port = port or free_port()
    log = folder / f"{name}.log"
    spec = LaunchSpec(
        name=name,
        argv=(*LAUNCH, "--model-path", "target", "--port", str(port)),
        environment={"PYTHONPATH": str(ENGINE), **variables},
        folder=folder,
        log=log,
    )
    return LAUNCHER.start(spec), f"http://127.0.0.1:{port}", log


def _healthy(url: str) -> bool:
    with Control(url, timeout_s=1) as control:
        return control.healthy()


def _wait(server: LocalServer, url: str, log: Path, timeout_s: float = 20) -> Started:
    starting = {"a": Starting(server=server, log=log, healthy=partial(_healthy, url))}
    return wait_all(starting, timeout_s=timeout_s, on_change=lambda *_: None)["a"]


def _gone(url: str, within_s: float = 10) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if not _healthy(url):
            return True
        time.sleep(0.05)
    return False


def test_a_server_is_up_when_it_answers_and_gone_when_stopped(tmp_path: Path) -> None:
    server, url, log = _start(tmp_path)

    started = _wait(server, url, log)
    server.stop(5)

    assert started.failure is None
    assert "fired up" in log.read_text()
    assert not _healthy(url)
    assert server.exit_code() is not None


def test_stopping_twice_is_harmless(tmp_path: Path) -> None:
    server, url, log = _start(tmp_path)
    _wait(server, url, log)

    server.stop(5)
    server.stop(5)

    assert not _healthy(url)


@pytest.mark.slow
def test_a_server_that_ignores_the_polite_signal_is_killed(tmp_path: Path) -> None:
    server, url, log = _start(tmp_path, FAKE_IGNORE_TERM="1")
    _wait(server, url, log)

    server.stop(0.5)

    assert not _healthy(url)


def test_a_server_ends_when_its_starter_is_killed(tmp_path: Path) -> None:
    port = free_port()
    script = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from tracker.launchers import LaunchSpec
from tracker.launchers.local import LAUNCHER
LAUNCHER.start(LaunchSpec(
    name="a",
    argv={(*LAUNCH, "--port", str(port))!r},
    environment={{"PYTHONPATH": {str(ENGINE)!r}}},
    folder=Path({str(tmp_path)!r}),
    log=Path({str(tmp_path / "a.log")!r}),
))
time.sleep(60)
"""
    starter = subprocess.Popen([sys.executable, "-c", script])
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 20
    while not _healthy(url) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert _healthy(url)

    os.kill(starter.pid, signal.SIGKILL)
    starter.wait()

    assert _gone(url)


WORKER = (
    "import os, pathlib, signal, sys, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "path = pathlib.Path(sys.argv[1])\n"
    "path.with_suffix('.new').write_text(str(os.getpid()))\n"
    "path.with_suffix('.new').rename(path)\n"
    "time.sleep(600)\n"
)
# What mpirun, Ray and a shell's `setsid ... &` do; the worker of the last one has lost its parent.
PARENT = f"""
import os, subprocess, sys, time
worker = (sys.executable, "-c", {WORKER!r})
subprocess.Popen([*worker, "group"])
subprocess.Popen([*worker, "session"], start_new_session=True)
subprocess.run(["sh", "-c", 'setsid "$@" &', "sh", *worker, "daemon"])
while not all(map(os.path.exists, ("group", "session", "daemon"))):
    time.sleep(0.02)
open("server", "w").write(str(os.getpid()))
if sys.argv[1] == "crash":
    os._exit(3)
time.sleep(600)
"""


def _with_workers(folder: Path, how: str, *, launcher: str = "local") -> LocalServer:
    """Start a server with workers in other groups, and return it once all are there."""
    spec = LaunchSpec(
        name="a", argv=(sys.executable, "-c", PARENT, how), folder=folder, log=folder / "a.log", grace_s=0.3,
        template="env {argv}",
    )  # fmt: skip
    server = launchers()[launcher].start(spec)
    assert isinstance(server, LocalServer)
    _until(lambda: (folder / "server").exists())
    return server


def _until(condition: Callable[[], bool], within_s: float = 20) -> bool:
    deadline = time.monotonic() + within_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def _alive(folder: Path, *names: str) -> set[str]:
    alive = set()
    for name in names or ("server", "group", "session", "daemon"):
        with contextlib.suppress(OSError):
            state = Path(f"/proc/{(folder / name).read_text()}/stat").read_bytes().rpartition(b")")[2].split()[0]
            if state != b"Z":
                alive.add(name)
    return alive


def _end_workers(folder: Path) -> None:
    for name in _alive(folder):
        os.kill(int((folder / name).read_text()), signal.SIGKILL)


@pytest.mark.parametrize("how", ["stop", "crash", "abandon"])
def test_workers_in_groups_of_their_own_end_with_their_server(tmp_path: Path, how: str) -> None:
    server = _with_workers(tmp_path, how)
    try:
        if how == "stop":
            server.stop(0.3)
        if how == "abandon":  # what the end of the starter's process does
            os.close(server._pipe)
            server._pipe = -1

        assert _until(lambda: server.exit_code() is not None)
        assert _until(lambda: not _alive(tmp_path), within_s=2)
        assert server.exit_code() == (3 if how == "crash" else -signal.SIGTERM)
    finally:
        server.stop(0.1)
        _end_workers(tmp_path)


def test_what_a_template_leaves_in_the_background_stays_as_later_servers_may_use_it(tmp_path: Path) -> None:
    server = _with_workers(tmp_path, "stop", launcher="template")
    try:
        server.stop(0.3)

        assert _alive(tmp_path) == {"session", "daemon"}
    finally:
        _end_workers(tmp_path)


def test_a_server_does_not_outlive_its_guard(tmp_path: Path) -> None:
    server = _with_workers(tmp_path, "guard")
    try:
        server._process.kill()

        assert _until(lambda: "server" not in _alive(tmp_path))
    finally:
        server.stop(0.1)
        _end_workers(tmp_path)


def test_orphans_that_end_by_themselves_are_let_go(tmp_path: Path) -> None:
    script = "import subprocess, sys, time; subprocess.run(['sh', '-c', 'sleep 0 & echo $! > gone']); time.sleep(600)"
    spec = LaunchSpec(name="a", argv=(sys.executable, "-c", script), folder=tmp_path, log=tmp_path / "a.log")
    server = LAUNCHER.start(spec)
    try:
        assert _until(lambda: (tmp_path / "gone").exists() and bool((tmp_path / "gone").read_text()))
        assert _until(lambda: not Path(f"/proc/{(tmp_path / 'gone').read_text().strip()}").exists())
    finally:
        server.stop(0.1)


@pytest.mark.parametrize(
    ("how", "kind", "words"),
    [
        ("oom", "out_of_memory", "out of memory on the device"),
        ("port", "port_in_use", "its port was in use"),
        ("crash", "crash", "the model has another architecture"),
        ("hang", "hang", "did not answer within"),
    ],
)
def test_a_server_that_does_not_come_up_is_explained_with_its_last_lines(
    tmp_path: Path, how: str, kind: str, words: str
) -> None:
    server, url, log = _start(tmp_path, FAKE_FAIL_START=how)

    started = _wait(server, url, log, timeout_s=2 if how == "hang" else 20)
    server.stop(1)

    assert started.failure is not None
    assert started.failure.kind == kind
    assert words in started.failure.reason
    assert started.failure.last_lines


def test_one_server_that_fails_does_not_hold_up_the_other(tmp_path: Path) -> None:
    good, url, log = _start(tmp_path, name="good")
    bad, bad_url, bad_log = _start(tmp_path, name="bad", FAKE_FAIL_START="crash")
    seen: list[str] = []

    ended = wait_all(
        {
            "good": Starting(server=good, log=log, healthy=partial(_healthy, url)),
            "bad": Starting(server=bad, log=bad_log, healthy=partial(_healthy, bad_url)),
        },
        timeout_s=20,
        on_change=lambda name, _: seen.append(name),
    )
    good.stop(2)
    bad.stop(2)

    assert ended["good"].failure is None
    assert ended["bad"].failure is not None
    assert sorted(seen) == ["bad", "good"]


@pytest.mark.parametrize(
    "after_s", [0.03, *(pytest.param(delay, marks=pytest.mark.slow) for delay in (0.0, 0.06, 0.1, 0.2))]
)
def test_a_server_stopped_while_it_starts_is_not_left_behind(tmp_path: Path, after_s: float) -> None:
    server, url, _log = _start(tmp_path, FAKE_IGNORE_TERM="1")
    time.sleep(after_s)

    server.stop(0.2)
    time.sleep(1.0)

    assert not _healthy(url)
    assert server.exit_code() is not None


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("RuntimeError: No accelerator (CUDA, XPU, HPU, NPU, MUSA, MPS) or platform plugin is available.", "no_device"),
        ("RuntimeError: No CUDA GPUs are available", "no_device"),
        ("/usr/bin/python3: No module named sglang", "not_found"),
        ("(ModuleNotFoundError: No module named 'sglang')", "not_found"),
        ("ValueError: No available memory for the cache blocks. Try increasing ...", "out_of_memory"),
        (
            "ValueError: Free memory on device cuda:0 (2.02/63.59 GiB) on startup is less than desired "
            "GPU memory utilization (0.92, 58.51 GiB).",
            "out_of_memory",
        ),
        (
            "ValueError: To serve at least one request with the model's max seq len (700160), (6.11 GiB KV cache is "
            "needed, which is larger than the available KV cache memory (5.17 GiB).",
            "out_of_memory",
        ),
        ("RuntimeError: The memory capacity is unbalanced. Some GPUs may be occupied.", "out_of_memory"),
        # What SGLang only warns of where its check is turned off.
        ("W0101 The memory capacity is unbalanced. min_per_gpu_memory=1\nValueError: else", "crash"),
    ],
)
def test_what_a_machine_lacks_is_named(tmp_path: Path, line: str, kind: str) -> None:
    log = tmp_path / "a.log"
    log.write_text(f"Traceback (most recent call last):\n{line}\n")

    assert explain(log, exit_code=1).kind == kind


def test_a_process_that_the_system_killed_points_at_memory(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("Loading weights\n")

    failure = explain(log, exit_code=-signal.SIGKILL)

    assert failure.kind == "out_of_memory"
    assert "killed by the system" in failure.reason


def test_a_command_that_does_not_exist_is_explained(tmp_path: Path) -> None:
    spec = LaunchSpec(name="a", argv=("no-such-program",), folder=tmp_path, log=tmp_path / "a.log")
    server = LAUNCHER.start(spec)

    started = _wait(server, f"http://127.0.0.1:{free_port()}", spec.log)
    server.stop(1)

    assert started.failure is not None
    assert started.failure.kind == "not_found"


def test_a_log_that_cannot_be_written_is_an_error_with_advice(tmp_path: Path) -> None:
    spec = LaunchSpec(name="a", argv=("true",), folder=tmp_path, log=tmp_path / "none" / "a.log")

    with pytest.raises(ServerError, match="cannot be started") as caught:
        LAUNCHER.start(spec)

    assert caught.value.hint


def test_a_port_in_use_is_passed_over() -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        assert not is_free(port)
        reserved = reserve_port(port, stride=2)
        assert reserved.number > port
        reserved.release()


def test_a_port_is_given_once_although_nobody_listens_on_it_yet() -> None:
    start = free_port()
    first, second = reserve_port(start), reserve_port(start)
    try:
        assert second.number >= first.number + 100
        assert is_free(first.number)  # the server itself is not in the way
    finally:
        first.release()
    again = reserve_port(start)
    for item in (second, again):
        item.release()

    assert again.number == first.number


@pytest.mark.parametrize("start", [65_535, 65_500])
def test_the_last_ports_can_be_reserved_too(start: int) -> None:
    reserved = reserve_port(start)
    reserved.release()

    assert reserved.number == start


def test_launchers_are_found_by_name() -> None:
    assert set(launchers()) == {"local", "slurm", "template"}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("ssh -tt gpu1 {command}", ("ssh", "-tt", "gpu1", "env 'A=b c' python3 -m x --flag 'two words'")),
        ("ssh gpu1 bash -lc {quoted}", ("ssh", "gpu1", "bash", "-lc", QUOTED)),
        ('bash -c "exec {command}"', ("bash", "-c", "exec env 'A=b c' python3 -m x --flag 'two words'")),
        ("docker run image {argv}", ("docker", "run", "image", "env", "A=b c", *COMMAND)),
        ("srun --job-name={name} {argv}", ("srun", "--job-name=a", "env", "A=b c", *COMMAND)),
    ],
)
def test_a_template_wraps_the_servers_command(tmp_path: Path, template: str, expected: tuple[str, ...]) -> None:
    spec = LaunchSpec(
        name="a",
        argv=("python3", "-m", "x", "--flag", "two words"),
        environment={"A": "b c"},
        folder=tmp_path,
        log=tmp_path / "a.log",
        template=template,
    )

    assert expand(spec) == expected


@pytest.mark.parametrize(
    "template", [None, "", "ssh gpu1", "ssh 'gpu1", "bash -c 'exec {argv}'", "/usr/bin/ssh gpu1 {argv}"]
)
def test_a_template_that_would_lose_the_command_or_its_quotes_is_refused(tmp_path: Path, template: str | None) -> None:
    spec = LaunchSpec(name="a", argv=("x",), folder=tmp_path, log=tmp_path / "a.log", template=template)

    with pytest.raises(UsageError):
        expand(spec)


@pytest.mark.parametrize(
    ("template", "script"),
    [
        # What sshd does with the words it is given, what docker and srun do, and a shell in between.
        ("{tool} gpu1 {{command}}", 'shift; exec sh -c "$*"'),
        ("{tool} gpu1 bash -c {{quoted}}", 'shift; exec sh -c "$*"'),
        ("{tool} --rm image {{argv}}", 'shift 2; exec "$@"'),
        ("bash -c '{tool} --rm image {{command}}'", 'shift 2; exec "$@"'),
    ],
)
def test_words_and_variables_reach_the_server_whole_through_every_kind_of_template(
    tmp_path: Path, template: str, script: str
) -> None:
    tool = tmp_path / "tool"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    hard = ("a b", "it's", '"quoted"', "$HOME", "{command}", "*", "", '{"method": "eagle3"}')
    program = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ['TOLD']]))"
    spec = LaunchSpec(
        name="a",
        argv=(sys.executable, "-c", program, *hard),
        environment={"TOLD": "it's $HOME"},
        folder=tmp_path,
        log=tmp_path / "a.log",
        template=template.format(tool=tool),
    )

    server = launchers()["template"].start(spec)
    deadline = time.monotonic() + 20
    while server.exit_code() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    server.stop(1)

    assert json.loads(spec.log.read_text()) == [list(hard), "it's $HOME"]
