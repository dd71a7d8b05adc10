"""The user's own benchmark inside a sweep."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tracker.domain.redaction import clean_text
from tracker.errors import InputError
from tracker.importers.base import ImportedRun
from tracker.launchers import tail
from tracker.workflows import originals
from tracker.workflows.sweep_fleet import Tell

RESULTS_FOLDER = "results"
_SHOWN_LINES = 5
_ENDING_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """What the user's own benchmark left."""

    run: ImportedRun
    """The run in its result."""
    files: Mapping[str, bytes]
    """Its result, texts removed, and what it printed, to be kept with the server's other files."""


def refuse_missing(template: str, where: str) -> None:
    """Refuse a benchmark that is not on this machine, before a server is started for it.

    Raises:
        InputError: Its program is not found.
    """
    program = shlex.split(template)[0]
    if shutil.which(program) is None:
        raise InputError(
            f"[sweep] command cannot be run: there is no program {program!r} here", where=where,
            hint="Correct its path, or install it.",
        )  # fmt: skip


def run_command(template: str, url: str, name: str, out: Path, tell: Tell, *, timeout_s: float) -> CommandResult:
    """Run a benchmark against one server and return what is in the file or folder that it wrote.

    `{url}`, `{name}` and `{out}` in the template become the server's address, its name and the file to write. What it
    prints goes to a log beside its result.

    Raises:
        InputError: The command cannot be run, fails, takes too long, or leaves nothing that an importer recognises.
    """
    from tracker import importers

    result = (out / RESULTS_FOLDER / f"{name}.jsonl").resolve()
    log = result.with_suffix(".log")
    places = {"{url}": url, "{name}": name, "{out}": str(result)}
    words = shlex.split(template)
    for place, value in places.items():
        words = [word.replace(place, value) for word in words]
    tell(f"{name}: {shlex.join(words)}")
    try:
        result.parent.mkdir(parents=True, exist_ok=True)
        if result.is_dir():
            shutil.rmtree(result)
        result.unlink(missing_ok=True)
        code = _run(words, log, timeout_s)
    except OSError as error:
        raise InputError(
            f"the benchmark cannot be run: {error.strerror or error}", where=words[0], hint="Correct [sweep] command."
        ) from error
    if code is None:
        raise InputError(
            f"the benchmark did not end within {timeout_s:.0f} s and was ended",
            where=str(log),
            hint="Raise [sweep] command_timeout_s.",
        )
    if code != 0:
        for line in [line for line in tail(log).splitlines() if line.strip()][-_SHOWN_LINES:]:
            tell(f"    {line[:200]}")
        raise InputError(f"the benchmark ended with exit code {code}", where=str(log))
    if not result.exists():
        raise InputError("the benchmark wrote no result", where=str(result), hint="Let it write to {out}.")
    runs = importers.read(result)
    if len(runs) != 1:
        raise InputError(f"the benchmark wrote {len(runs)} runs", where=str(result), hint="One server gives one run.")
    files = {item.name.removeprefix("input/").replace("/", "-"): item.content for item in originals.keep(result)}
    return CommandResult(run=runs[0], files={**files, "benchmark.log": clean_text(tail(log)).encode()})


def _run(words: list[str], log: Path, timeout_s: float) -> int | None:
    """Return the exit code; None when it took too long. Whatever happens, nothing of it is left running."""
    with log.open("wb") as stream:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        return process.wait(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_ENDING_S)
