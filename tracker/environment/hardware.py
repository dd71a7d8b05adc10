"""The GPUs of this machine, as the driver names them."""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Mapping

from tracker.domain.redaction import mask_host
from tracker.domain.workload import Hardware

_QUERY = ("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
# A driver that hangs must not keep a finished benchmark from being logged.
TIMEOUT_S = 10.0
VISIBLE_VARIABLE = "CUDA_VISIBLE_DEVICES"
_INDEX = re.compile(r"[+]?\d+")
_UUID = re.compile(r"(GPU|MIG)-[0-9A-Fa-f]")


def hardware(environ: Mapping[str, str] | None = None) -> Hardware | None:
    """Return the GPUs here; None where there is no NVIDIA driver.

    Args:
        environ: Process environment; where CUDA_VISIBLE_DEVICES limits the GPUs, only that many are counted.
    """
    try:
        done = subprocess.run(_QUERY, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode != 0 else parse_gpus(done.stdout, environ or {})


def parse_gpus(listing: str, environ: Mapping[str, str]) -> Hardware | None:
    """Return the hardware from nvidia-smi's `name, driver` lines; names joined where they differ."""
    rows = [line.rpartition(",") for line in listing.splitlines() if "," in line]
    names = [name.strip() for name, _, _ in rows]
    if not names:
        return None
    visible = environ.get(VISIBLE_VARIABLE)
    count = len(names) if visible is None else visible_count(visible, present=len(names))
    return Hardware(
        gpu=" + ".join(dict.fromkeys(names)),
        gpu_count=count,
        driver=rows[0][2].strip() or None,
        host=mask_host(platform.node()) if platform.node() else None,
    )


def visible_count(setting: str, *, present: int) -> int:
    """Return how many GPUs CUDA shows under a value of CUDA_VISIBLE_DEVICES, as seen with driver 580.

    It stops at the first entry that names no GPU here: `0,7` on one GPU is GPU 0 alone, `7,0` none. The first entry
    says whether all are numbers or UUIDs, a number ends where its digits end, and a GPU named twice leaves none.

    Args:
        setting: The variable's value.
        present: GPUs that the driver names; their UUIDs are not asked, and each given counts as one of them.
    """
    shown: list[str] = []
    of_first = None
    for entry in (part.strip() for part in setting.split(",")):
        number = _INDEX.match(entry)
        kind = "number" if number else "uuid" if _UUID.match(entry) else None
        of_first = of_first or kind
        if kind is None or kind != of_first or (number and int(number[0]) >= present):
            break
        # The beginning of a UUID is enough for CUDA.
        name = f"{int(number[0])}," if number else entry.lower()
        if any(name.startswith(other) or other.startswith(name) for other in shown):
            return 0
        shown.append(name)
    return min(present, len(shown))
