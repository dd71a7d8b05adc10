"""A 1 GB SGLang server log, of decode lines alone (the worst case) and mixed as a server writes it, beside grep."""

from __future__ import annotations

import random
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks import reading
from tests.benchmarks.result import Benchmark, Result

SIZE_MB = 1024
PROMISED_MB_PER_S = 100.0
PROMISED_PEAK_MB = 300.0
_BLOCK_LINES = 20_000


def _decode(chance: random.Random, second: int) -> str:
    return (
        f"[2026-11-01 10:{second // 60 % 60:02d}:{second % 60:02d} TP0] Decode batch, "
        f"#running-req: {chance.choice((1, 8, 8, 8, 32))}, #token: {chance.randint(100, 99_999)}, "
        f"token usage: 0.{chance.randint(0, 99):02d}, accept len: {chance.uniform(1, 4):.2f}, "
        f"accept rate: {chance.uniform(0, 1):.2f}, cuda graph: True, "
        f"gen throughput (token/s): {chance.uniform(50, 2000):.2f}, #queue-req: 0\n"
    )


def _other(chance: random.Random, second: int) -> str:
    stamp = f"[2026-11-01 10:{second // 60 % 60:02d}:{second % 60:02d}"
    if second % 2:
        return f'{stamp}] INFO:     10.0.0.1:{chance.randint(1000, 60_000)} - "POST /generate HTTP/1.1" 200 OK\n'
    return (
        f"{stamp} TP0] Prefill batch, #new-seq: 1, #new-token: {chance.randint(10, 4000)}, #cached-token: 0, "
        "token usage: 0.01, #running-req: 7, #queue-req: 0\n"
    )


def _write(path: Path, *, size_mb: float, mixed: bool) -> None:
    chance = random.Random(1)
    lines = []
    for second in range(_BLOCK_LINES):
        lines.append(_decode(chance, second))
        if mixed:
            lines += [_other(chance, second), _other(chance, second + 1)]
    block = "".join(lines).encode()
    with path.open("wb") as out:
        while out.tell() < size_mb * 2**20:
            out.write(block)


def _grep(path: Path) -> tuple[float, int]:
    """Return the processor seconds of grep, and what it counts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    program = shutil.which("grep") or "grep"
    out = subprocess.run([program, "-c", "Decode batch", str(path)], check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, int(out.stdout)


def _run(folder: Path, scale: float) -> Iterator[Result]:
    """Yield speed and memory for both kinds of log."""
    for kind, mixed in (("decode lines alone", False), ("mixed lines", True)):
        path = folder / "server.log"
        _write(path, size_mb=SIZE_MB * scale, mixed=mixed)
        size_mb = path.stat().st_size / 1e6
        _grep(path)
        seconds, lines = _grep(path)
        read = reading.read(path)
        if read.lines != lines:
            raise RuntimeError(f"grep counts {lines} decode lines, the importer {read.lines:.0f}")
        yield Result(
            what=f"SGLang log of {size_mb:.0f} MB, {kind}",
            value=size_mb / read.seconds,
            unit="MB/s",
            beside="grep -c",
            beside_value=size_mb / seconds,
            at_least=PROMISED_MB_PER_S,
        )
        yield Result(what=f"peak memory, {kind}", value=read.peak_mb, unit="MB", at_most=PROMISED_PEAK_MB)


BENCHMARK: Benchmark = _run
