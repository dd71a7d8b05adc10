"""Experiment tracker and decision memos for speculative decoding.

    import tracker
    run_id = tracker.log_run("results.jsonl", server="http://127.0.0.1:30000", drafter="./eagle3-10k", samples=10_000)
    problems = tracker.check(server_cmd="python -m sglang.launch_server ...", drafter="./eagle3-10k").findings
    memos = tracker.report(since="last-week")

The command line is a thin caller of the same functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pandas import DataFrame

    from tracker.workflows.check import CheckResult
    from tracker.workflows.report import Memo

__all__ = ["check", "log_run", "write_reports"]


def log_run(
    source: str | Path | Mapping[str, Any] | DataFrame | Sequence[str | Path], **options: Any
) -> str | list[str]:
    """Log a run and return its id; a source of several runs (a table, a folder of servers) gives a list of ids.

    Args:
        source: A result file, log or folder; several of them; a mapping of values typed by hand; or a DataFrame with
            one run a row.
        options: As on the command line, with underscores: server, server_info, server_log, argv, server_cmd, drafter,
            target, samples, tokens, experiment, name, role, concurrency, tags (mapping), note, training, format,
            keep_text, tracking_uri.

    Raises:
        TrackerError: As on the command line. StoreError when the store did not take it: the run then waits in the
            spool and `tracker sync` sends it.
    """
    from tracker.workflows import python_api

    return python_api.log_run(source, **options)


def check(**options: Any) -> CheckResult:
    """Check flags against checkpoints and return what was found.

    Args:
        options: server, server_info, server_log, argv, server_cmd, drafter, target, deep, against, as on the command
            line.

    Raises:
        TrackerError: As on the command line.
    """
    from tracker.workflows import python_api

    return python_api.check(**options)


def write_reports(**options: Any) -> tuple[Memo, ...]:
    """Write a memo for every campaign with news and return them; `tracker.report(...)` is the same call.

    Args:
        options: since, until, experiment, baseline, out, email_to (list), seed, tz, tracking_uri, as on the command
            line.

    Raises:
        TrackerError: As on the command line.
    """
    from tracker.workflows import python_api

    return python_api.report(**options)


def __getattr__(name: str) -> Any:
    """Load the `report` room when it is first asked for: it is a package and, as `tracker.report(...)`, a call."""
    if name == "report":
        import importlib

        return importlib.import_module("tracker.report")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
