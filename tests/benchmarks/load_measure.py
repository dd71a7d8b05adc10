"""Runs one client against a fresh mock server and measures the CPU time of its whole process tree."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.load_server import Done

SERVER = Path(__file__).with_name("load_server.py")
_SAMPLE_S = 0.05
_TIMEOUT_S = 400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one run of a client cost."""

    load_cpu_s: float
    """CPU seconds, user and system, from the first request after the warm-up to the last chunk."""
    whole_cpu_s: float
    """CPU seconds of the whole process, start-up and report included."""
    answers: int
    """Answers in the load."""
    chunks: int
    """Tokens in the load, one a chunk where it is streamed."""
    load_s: float
    """Wall seconds of the load."""

    @property
    def us_per_chunk(self) -> float:
        """CPU microseconds in the load per chunk."""
        return 1e6 * self.load_cpu_s / self.chunks

    @property
    def us_per_answer(self) -> float:
        """CPU microseconds in the load per answer."""
        return 1e6 * self.load_cpu_s / self.answers


class ClientFailedError(Exception):
    """A client that ended with an error or sent something else than asked for; its output is the message."""


@contextlib.contextmanager
def mock_server(folder: Path, *, chunks: int, delay_ms: float) -> Iterator[str]:
    """Run the mock server and yield its address; the counts are in `folder`/done."""
    folder.mkdir(parents=True)
    process = subprocess.Popen([sys.executable, str(SERVER), str(folder), str(chunks), str(delay_ms)])
    try:
        deadline = time.monotonic() + 20
        while not (folder / "port").exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise ClientFailedError("the mock server did not come up")
            time.sleep(0.02)
        yield f"http://127.0.0.1:{(folder / 'port').read_text()}"
    finally:
        process.kill()
        process.wait()


def run(
    command: Sequence[str],
    folder: Path,
    *,
    warmup: int,
    requests: int,
    chunks: int,
    environment: Mapping[str, str],
) -> Cost:
    """Return what this command cost that sends `warmup` and then `requests` requests to the server of `folder`.

    Raises:
        ClientFailedError: It failed, hung, or sent another number of requests.
    """
    done = Done(folder / "done")
    with (folder / "client.log").open("wb") as log:
        process = subprocess.Popen(
            list(command), stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=folder, start_new_session=True,
            env={**os.environ, **environment},
        )  # fmt: skip
        watch = _Watch(process.pid)
        whole_s = _wait(process)
        samples = watch.end()
    shown = (folder / "client.log").read_text(errors="replace")[-2000:]
    if process.returncode != 0:
        raise ClientFailedError(f"exit {process.returncode}: {shown}")
    seen, answered, _, end_s = done.read()
    if seen != warmup + requests or answered != seen:
        raise ClientFailedError(f"{seen} requests came, {answered} were answered, {warmup + requests} wanted: {shown}")
    begin_s = done.start_s(warmup)
    return Cost(
        load_cpu_s=_at(samples, end_s) - _at(samples, begin_s),
        whole_cpu_s=whole_s,
        answers=requests,
        chunks=requests * chunks,
        load_s=end_s - begin_s,
    )


def _wait(process: subprocess.Popen[bytes]) -> float:
    """Return the CPU seconds of the process and all its ended children; kills what hangs."""
    killer = threading.Timer(_TIMEOUT_S, process.kill)
    killer.start()
    _, status, usage = os.wait4(process.pid, 0)
    killer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


class _Watch:
    """Samples the CPU clocks of a process and its descendants."""

    def __init__(self, pid: int) -> None:
        self._pid, self._ended = pid, threading.Event()
        self._samples: list[tuple[float, float]] = [(time.monotonic(), 0.0)]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> list[tuple[float, float]]:
        self._ended.set()
        self._thread.join()
        return self._samples

    def _run(self) -> None:
        used: dict[int, float] = {}
        while not self._ended.wait(_SAMPLE_S):
            for pid in _descendants(self._pid):
                # The CPU clock of another process, as clock_getcpuclockid(3) makes it: all threads, in nanoseconds.
                with contextlib.suppress(OSError):
                    used[pid] = time.clock_gettime((~pid << 3) | 2)
            self._samples.append((time.monotonic(), sum(used.values())))


def _descendants(pid: int) -> Iterator[int]:
    yield pid
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield from _descendants(int(child))


def _at(samples: Sequence[tuple[float, float]], when_s: float) -> float:
    """Return the CPU seconds used by then, in a straight line between samples."""
    before = samples[0]
    for sample in samples:
        if sample[0] >= when_s:
            share = (when_s - before[0]) / max(sample[0] - before[0], 1e-9)
            return before[1] + share * (sample[1] - before[1])
        before = sample
    return before[1]
