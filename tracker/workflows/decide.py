"""decide: note which option of a memo was taken, so that the next memo can say what came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracker.domain.cleaning import cleaned
from tracker.environment.provenance import user
from tracker.errors import InputError, RunNotFoundError, StoreError, UsageError
from tracker.report.naming import letter
from tracker.store.base import StoredReport
from tracker.workflows.files import write_all
from tracker.workflows.memo_archive import DECISION_JSON, MEMO_JSON
from tracker.workflows.session import Session

SCHEMA_VERSION = 1
_WHICH = "Give the folder, memo.html or memo.json that `tracker report` wrote, or the run id it named."


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideRequest:
    """A decision taken on a memo."""

    memo: str
    """Folder, memo.html or memo.json of the memo, or the id of its run in the store."""
    option: str
    """Key of an option in memo.json, or its letter in the memo."""
    by: str | None = None
    """Who decided; the masked user when None."""
    note: str | None = None
    """Why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideResult:
    """What was kept, and where."""

    decision: Mapping[str, Any]
    """Content of decision.json."""
    path: Path | None
    """decision.json beside the memo; None where the memo was named by its run."""
    run_id: str | None
    """Run of the memo that keeps it too; None where the store has no such run."""
    store_error: StoreError | None = None
    """Why the store does not keep it."""


def decide(request: DecideRequest, session: Session) -> DecideResult:
    """Keep the decision beside the memo and with its run in the store, and return both places.

    Raises:
        InputError: There is no memo at that path, or it cannot be read.
        RunNotFoundError: What was named is neither a path nor the run of a memo.
        UsageError: The memo has no such option; the message lists those it has.
        StoreError: The memo was named by its run, and the store does not answer.
    """
    file = _file_of(request.memo)
    if file is None:
        kept = _by_run(request.memo, session)
        decision = _decision(json.loads(kept.memo_json), request, session)
        session.store().save_decision(kept.run_id, _encoded(decision))
        return DecideResult(decision=decision, path=None, run_id=kept.run_id)
    memo = _read(file)
    decision = _decision(memo, request, session)
    write_all(file.parent, {DECISION_JSON: _encoded(decision)})
    path = file.with_name(DECISION_JSON)
    run_id = _run_of(memo)
    if run_id is None:
        return DecideResult(decision=decision, path=path, run_id=None)
    try:
        session.store().save_decision(run_id, _encoded(decision))
    except StoreError as error:
        return DecideResult(decision=decision, path=path, run_id=None, store_error=error)
    return DecideResult(decision=decision, path=path, run_id=run_id)


def _file_of(memo: str) -> Path | None:
    """Return the memo.json that a path means; None where nothing lies there.

    Raises:
        InputError: Something lies there, and no memo.
    """
    path = Path(memo)
    file = path / MEMO_JSON if path.is_dir() else path.with_name(MEMO_JSON)
    if path.exists() and not file.exists():
        raise InputError("this is no memo: there is no memo.json", where=str(file), hint=_WHICH)
    return file if path.exists() else None


def _by_run(name: str, session: Session) -> StoredReport:
    if "/" in name or name.endswith((".html", ".json")):
        raise InputError("there is no memo here", where=name, hint="`tracker report` prints the paths of its memos.")
    try:
        return session.store().report(name)
    except RunNotFoundError as error:
        raise RunNotFoundError(
            f"{name!r} is neither the path of a memo nor the run that keeps one",
            where=error.where,
            hint=_WHICH,
        ) from error


def _read(file: Path) -> Mapping[str, Any]:
    try:
        memo = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"the memo cannot be read: {error.strerror}", where=str(file), hint=_WHICH) from error
    except ValueError as error:
        raise InputError("this is no memo.json", where=str(file), hint="Write the memo again.") from error
    if not isinstance(memo, Mapping) or "options" not in memo or "generated_at" not in memo:
        raise InputError("this is no memo.json", where=str(file), hint="Name a memo that `tracker report` wrote.")
    return memo


def _run_of(memo: Mapping[str, Any]) -> str | None:
    kept = memo.get("report_run")
    return str(kept["run_id"]) if isinstance(kept, Mapping) and kept.get("run_id") else None


def _decision(memo: Mapping[str, Any], request: DecideRequest, session: Session) -> dict[str, Any]:
    option = _option(memo["options"], request.option)
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": memo.get("experiment"),
        "memo_generated_at": memo["generated_at"],
        "decided_at": session.now.isoformat(),
        "by": cleaned(request.by) if request.by else user(session.environ),
        "note": cleaned(request.note) if request.note else None,
        "option": option["key"],
        "title": option["title"],
        "predicted": {
            key: option.get(key)
            for key in ("configuration", "concurrency", "expected_tok_s", "p_beats_baseline", "cost_gpu_hours")
        },
    }


def _option(options: Sequence[Mapping[str, Any]], wanted: str) -> Mapping[str, Any]:
    """Return the option of a key or letter.

    Raises:
        UsageError: There is none.
    """
    for index, option in enumerate(options):
        if wanted == option["key"] or wanted.upper() == letter(index):
            return option
    known = ", ".join(f"{letter(index)} {option['key']}" for index, option in enumerate(options)) or "none"
    raise UsageError(f"the memo has no option {wanted!r}", hint=f"Its options: {known}.")


def _encoded(decision: Mapping[str, Any]) -> bytes:
    return (json.dumps(decision, ensure_ascii=False, indent=2) + "\n").encode()
