"""Reading a file in a process of its own, so that its processor time and peak memory are its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_PROGRAM = """
import json, resource, sys, time
from pathlib import Path
from tracker import importers
runs = importers.read(Path(sys.argv[1]))
seconds = time.process_time()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
requests = sum(len(run.requests) for run in runs)
lines = sum(cell.extra.get("decode_lines", 0) for run in runs for cell in run.measurements)
sys.stdout.write(json.dumps({"seconds": seconds, "peak_mb": peak / 1024, "requests": requests, "lines": lines}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a file was read."""

    seconds: float
    """Processor seconds of the process, imports and detection included; other work on the machine does not count."""
    peak_mb: float
    """Peak resident memory of the process, MB."""
    requests: int
    """Requests that were read."""
    lines: float
    """Decode lines that were read."""


def read(path: Path) -> Reading:
    """Return how long a processor was busy with a file, and how much memory it took."""
    out = subprocess.run([sys.executable, "-c", _PROGRAM, str(path)], check=True, capture_output=True, text=True)
    return Reading(**json.loads(out.stdout))
