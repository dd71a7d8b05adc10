"""Runs the benchmarks: `python -m tests.benchmarks [--scale 0.1] [NAME...]`; exit 1 when a promise is broken.

Every module `bench_*.py` in this folder with a constant `BENCHMARK` (see `result.Benchmark`) is one. Scale 1 is the
size that the promises speak of; with a smaller one they are shown and not held.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.result import Benchmark

PREFIX = "bench_"


def found() -> dict[str, Benchmark]:
    """Return every benchmark by its name."""
    names = sorted(item.stem for item in Path(__file__).parent.glob(f"{PREFIX}*.py"))
    return {name.removeprefix(PREFIX): importlib.import_module(f"tests.benchmarks.{name}").BENCHMARK for name in names}


def main(arguments: Sequence[str]) -> int:
    """Run the named benchmarks, all by default; return how many promises are broken, at most 1."""
    known = found()
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(known)}; default: all")
    parser.add_argument("--scale", type=float, default=1.0, help="size of the inputs, 1 for the promised one")
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.names) - set(known))
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; known: {', '.join(known)}")
    broken = False
    for name in given.names or known:
        with tempfile.TemporaryDirectory(prefix="tracker-bench-") as folder:
            for result in known[name](Path(folder), given.scale):
                sys.stdout.write(f"{name}: {result.line()}\n")
                sys.stdout.flush()
                broken |= not result.kept and given.scale >= 1
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
