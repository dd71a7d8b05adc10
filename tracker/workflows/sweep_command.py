"""The user's own benchmark inside a sweep."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from tracker.errors import InputError
from tracker.importers.base import ImportedRun
from tracker.workflows.sweep_fleet import Tell

RESULTS_FOLDER = "results"


def run_command(template: str, url: str, name: str, out: Path, tell: Tell) -> ImportedRun:
    """Run a benchmark against one server and return the run in the file that it wrote.

    `{url}`, `{name}` and `{out}` in the template become the server's address, its name and the file to write.

    Raises:
        InputError: The command cannot be run, fails, or leaves no file that an importer recognises.
    """
    from tracker import importers

    result = (out / RESULTS_FOLDER / f"{name}.jsonl").resolve()
    words = [
        word.replace("{url}", url).replace("{name}", name).replace("{out}", str(result))
        for word in shlex.split(template)
    ]
    tell(f"{name}: {shlex.join(words)}")
    try:
        result.parent.mkdir(parents=True, exist_ok=True)
        result.unlink(missing_ok=True)
        code = subprocess.run(words, stdin=subprocess.DEVNULL, check=False).returncode
    except OSError as error:
        raise InputError(
            f"the benchmark cannot be run: {error.strerror or error}", where=words[0], hint="Correct [sweep] command."
        ) from error
    if code != 0:
        raise InputError(f"the benchmark ended with exit code {code}", where=words[0])
    if not result.is_file():
        raise InputError("the benchmark wrote no result", where=str(result), hint="Let it write to {out}.")
    runs = importers.read(result)
    if len(runs) != 1:
        raise InputError(f"the benchmark wrote {len(runs)} runs", where=str(result), hint="One server gives one run.")
    return runs[0]
