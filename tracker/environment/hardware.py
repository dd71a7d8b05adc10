"""The GPUs of this machine, as the driver names them."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping

from tracker.domain.redaction import mask_host
from tracker.domain.workload import Hardware

_QUERY = ("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
# A driver that hangs must not keep a finished benchmark from being logged.
TIMEOUT_S = 10.0


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
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    count = len(names) if visible is None else min(len(names), sum(1 for part in visible.split(",") if part.strip()))
    return Hardware(
        gpu=" + ".join(dict.fromkeys(names)),
        gpu_count=count,
        driver=rows[0][2].strip() or None,
        host=mask_host(platform.node()) if platform.node() else None,
    )
