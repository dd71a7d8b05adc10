"""Why a server did not come up or went away, read from its exit code and the end of its log."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

FailureKind = Literal["out_of_memory", "port_in_use", "no_device", "crash", "hang", "not_found"]
TAIL_BYTES = 64 * 2**10
SHOWN_LINES = 12

# In this order: a port or memory error is the cause, the traceback around it is not.
_SIGNS: tuple[tuple[FailureKind, re.Pattern[str], str], ...] = (
    (
        "out_of_memory",
        re.compile(
            r"out of memory|OutOfMemoryError|CUDA_ERROR_OUT_OF_MEMORY|[Nn]ot enough memory|minimum viable"
            # SGLang, where others hold a part of one of its GPUs; then vLLM: others, the weights, the context.
            r"|Error: The memory capacity is unbalanced|on startup is less than desired GPU memory"
            r"|No available memory for the cache blocks|larger than the available KV cache memory"
        ),
        "out of memory on the device",
    ),
    ("port_in_use", re.compile(r"[Aa]ddress already in use|port \d+ is (?:already )?in use"), "its port was in use"),
    (
        "no_device",
        re.compile(
            r"No CUDA GPUs are available|No accelerator \(|Failed to infer device type|not compiled with CUDA"
            r"|Found no NVIDIA driver"
        ),
        "no GPU was found where it was started (nvidia-smi and CUDA_VISIBLE_DEVICES there tell more)",
    ),
    (
        "not_found",
        re.compile(r"No module named '?(?:sglang|vllm)\b"),
        "the engine is not installed in the Python that launched it",
    ),
    (
        "not_found",
        re.compile(r"No such file or directory: '(?!/dev/shm)|is not a local folder and is not a valid model"),
        "a file or model was not found",
    ),
)
_ERROR_LINE = re.compile(r"^(?:\[[^\]]*\] )*(\w*(?:Error|Exception)\b.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One server that failed."""

    kind: FailureKind
    """What kind of failure."""
    reason: str
    """One sentence."""
    last_lines: tuple[str, ...] = ()
    """The end of its log."""

    def __str__(self) -> str:
        """Return kind and reason."""
        return f"{self.kind}: {self.reason}"


def explain(log: Path, *, exit_code: int | None, waited_s: float | None = None) -> Failure:
    """Return why a server failed.

    Args:
        log: What it printed.
        exit_code: Its exit code, negative for a signal; None when it still runs and does not answer.
        waited_s: How long it was waited for, when it did not answer.
    """
    text = tail(log)
    lines = tuple(line for line in text.splitlines() if line.strip())[-SHOWN_LINES:]
    for kind, sign, words in _SIGNS:
        if sign.search(text):
            return Failure(kind=kind, reason=words, last_lines=lines)
    if exit_code is None:
        waited = "" if waited_s is None else f" within {waited_s:.0f} s"
        return Failure(kind="hang", reason=f"it did not answer{waited}", last_lines=lines)
    if exit_code == -signal.SIGKILL:
        # The kernel's out-of-memory killer leaves no line in the victim's log.
        return Failure(
            kind="out_of_memory", reason="it was killed by the system, most likely for memory", last_lines=lines
        )
    errors = [match[1] for line in lines if (match := _ERROR_LINE.match(line.strip()))]
    detail = f": {errors[-1][:200]}" if errors else ""
    how = f"signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"
    return Failure(kind="crash", reason=f"it ended by itself with {how}{detail}", last_lines=lines)


def tail(log: Path, size_bytes: int = TAIL_BYTES) -> str:
    """Return the end of a log; empty where there is none."""
    try:
        with log.open("rb") as stream:
            stream.seek(0, 2)
            stream.seek(max(0, stream.tell() - size_bytes))
            return stream.read().decode("utf-8", "replace")
    except OSError:
        return ""
