"""The functions of `import tracker`: keyword options to requests."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from tracker.errors import UsageError
from tracker.workflows.check import CheckResult
from tracker.workflows.check import check as check_server
from tracker.workflows.log_run import LogRequest
from tracker.workflows.log_run import log_run as log_request
from tracker.workflows.report import Memo, ReportRequest, write_reports
from tracker.workflows.server_sources import ServerOptions
from tracker.workflows.session import Session

_SERVER_OPTIONS = {
    "server": "url",
    "server_info": "info_file",
    "server_log": "log_file",
    "argv": "argv_file",
    "server_cmd": "command",
}
_PATH_OPTIONS = frozenset({"server_info", "server_log", "argv", "training", "out"})


def log_run(source: Any, *, tracking_uri: str | None = None, **options: Any) -> str | list[str]:
    """Log what `source` holds; see `tracker.log_run`."""
    _refuse_unknown(
        options, {*_SERVER_OPTIONS, *LogRequest.__dataclass_fields__} - {"inputs", "rows", "server_options"}
    )
    given = {key: value for key, value in options.items() if key not in _SERVER_OPTIONS}
    request = LogRequest(server=_server(options), **_source(source), **_paths(given))
    result = log_request(request, _session(tracking_uri))
    failed = result.store_error or result.unread
    if failed is not None:
        raise failed
    ids = [outcome.run_id for outcome in result.outcomes if outcome.run_id is not None]
    return ids[0] if len(result.outcomes) == 1 and ids else ids


def check(**options: Any) -> CheckResult:
    """Check flags and checkpoints; see `tracker.check`."""
    _refuse_unknown(options, {*_SERVER_OPTIONS, "drafter", "target", "deep", "against"})
    given = {key: options[key] for key in ("drafter", "target", "deep", "against") if key in options}
    return check_server(_server(options), **given)


def report(*, tracking_uri: str | None = None, tz: str | None = None, **options: Any) -> tuple[Memo, ...]:
    """Write memos; see `tracker.report`."""
    _refuse_unknown(options, set(ReportRequest.__dataclass_fields__) - {"zone"})
    if "email_to" in options:
        options["email_to"] = tuple(options["email_to"])
    zone = ZoneInfo(tz) if tz else datetime.now(UTC).astimezone().tzinfo or UTC
    result = write_reports(ReportRequest(zone=zone, **_paths(options)), _session(tracking_uri))
    failed = next((memo.mail_error for memo in result.memos if memo.mail_error is not None), None)
    if failed is not None:
        raise failed
    return result.memos


def _session(tracking_uri: str | None) -> Session:
    return Session(now=datetime.now(UTC), environ=dict(os.environ), cwd=Path.cwd(), tracking_uri=tracking_uri)


def _source(source: Any) -> dict[str, Any]:
    if isinstance(source, str | Path):
        return {"inputs": (Path(source),)}
    if isinstance(source, Mapping):
        return {"rows": (source,)}
    if hasattr(source, "to_dict") and hasattr(source, "columns"):
        return {"rows": tuple(source.to_dict("records"))}
    if isinstance(source, Sequence) and all(isinstance(item, str | Path) for item in source):
        return {"inputs": tuple(Path(item) for item in source)}
    raise UsageError(
        f"cannot log a {type(source).__name__}",
        hint="Give a path, a list of paths, a mapping of values or a DataFrame.",
    )


def _server(options: Mapping[str, Any]) -> ServerOptions:
    given = {_SERVER_OPTIONS[key]: value for key, value in _paths(options).items() if key in _SERVER_OPTIONS}
    return ServerOptions(**given)


def _paths(options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: Path(value) if key in _PATH_OPTIONS and isinstance(value, str) else value for key, value in options.items()
    }


def _refuse_unknown(options: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(set(options) - known)
    if unknown:
        raise UsageError(f"unknown option {unknown[0]!r}", hint=f"Known: {', '.join(sorted(known))}.")
