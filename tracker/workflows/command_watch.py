"""Running a benchmark or training command while keeping what it prints."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO

from tracker.domain.record import Attachment
from tracker.domain.redaction import clean_text, redact_argv
from tracker.errors import InputError

# Output beyond this is dropped from the middle: the head names the run, the tail holds its result.
KEEP_BYTES = 16 * 2**20
NOT_FOUND_EXIT = 127


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A command that ran."""

    command: tuple[str, ...]
    """As given, redacted."""
    exit_code: int
    """Its exit code; negative for a signal."""
    started_at: datetime
    """UTC."""
    attachments: tuple[Attachment, ...]
    """What it printed, redacted."""


def run(command: Sequence[str], environ: Mapping[str, str]) -> Watched:
    """Run a command to its end, passing its output on to stderr, and return what it printed.

    Its output goes to stderr because stdout carries the run ids. Ctrl-C reaches the command too; what it printed
    until then is kept.

    Raises:
        InputError: The program does not exist or may not be run.
    """
    started = datetime.now(UTC)
    try:
        process = subprocess.Popen(
            list(command), env=dict(environ), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0
        )
    except OSError as error:
        raise InputError(
            f"cannot run the command: {error.strerror}", where=command[0], hint="Check its name and PATH."
        ) from error
    kept = bytearray()
    reader = threading.Thread(target=_pass_on, args=(process.stdout, kept), daemon=True)
    reader.start()
    code = _wait(process)
    reader.join()
    if process.stdout is not None:
        process.stdout.close()
    output = clean_text(_head_and_tail(bytes(kept)).decode("utf-8", errors="replace"))
    return Watched(
        command=tuple(redact_argv(command)),
        exit_code=code,
        started_at=started,
        attachments=(Attachment(name="command/output.log", content=output.encode()),),
    )


def _wait(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait()
    except KeyboardInterrupt:
        # The terminal sent the signal to the command as well: let it end in its own way.
        return process.wait()


def _pass_on(stream: IO[bytes] | None, kept: bytearray) -> None:
    if stream is None:
        return
    while chunk := stream.read(65_536):
        sys.stderr.buffer.write(chunk)
        sys.stderr.buffer.flush()
        kept += chunk
        if len(kept) > 4 * KEEP_BYTES:
            kept[:] = _head_and_tail(bytes(kept))


def _head_and_tail(output: bytes) -> bytes:
    if len(output) <= KEEP_BYTES:
        return output
    half = KEEP_BYTES // 2
    return output[:half] + b"\n[... output dropped here ...]\n" + output[-half:]
