"""amend: correct what was said about a run; never what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tracker.domain.cleaning import cleaned
from tracker.domain.record import Amendment, Role, StoredRun, Validity
from tracker.environment.provenance import user
from tracker.errors import UsageError
from tracker.workflows.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class AmendRequest:
    """A correction; None leaves a field as it is."""

    run: str
    """Run id, prefix or name."""
    validity: Validity | None = None
    """New validity."""
    reason: str | None = None
    """Why."""
    supersedes: str | None = None
    """Run that this one replaces: id, prefix or name."""
    samples: int | None = None
    """Training samples."""
    tokens: int | None = None
    """Training tokens."""
    role: Role | None = None
    """New role."""
    name: str | None = None
    """New name."""
    note: str | None = None
    """New note."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Tags to set; an empty value removes one."""


def amend_run(request: AmendRequest, session: Session) -> StoredRun:
    """Apply the correction and return the run as it is now.

    Raises:
        UsageError: Nothing to change, a run called suspect or invalid without a reason, or one that replaces itself.
        RunNotFoundError: No such run.
        StoreError: The store is unreachable.
    """
    if request.validity in ("suspect", "invalid") and not request.reason:
        raise UsageError(
            f"a run called {request.validity} needs a reason",
            hint="Add --reason TEXT; readers of the memo will see it.",
        )
    store = session.store()
    run = store.load(request.run)
    replaced = store.load(request.supersedes) if request.supersedes else None
    if replaced is not None and replaced.run_id == run.run_id:
        raise UsageError("a run cannot replace itself", hint="Name with --supersedes the run that it replaces.")
    changes: dict[str, Any] = {
        "validity": request.validity,
        "supersedes": replaced.record.record_id if replaced else None,
        "training.samples": request.samples,
        "training.tokens": request.tokens,
        "role": request.role,
        "name": request.name,
        "note": request.note,
    }
    given = {key: value for key, value in changes.items() if value is not None}
    given |= {f"tags.{key}": value or None for key, value in request.tags.items()}
    if not given:
        raise UsageError("nothing to change", hint="Name at least one option, e.g. --validity suspect --reason TEXT.")
    author = user(session.environ)
    amendment = Amendment(at=session.now, by=author, changes=cleaned(given), reason=cleaned(request.reason))
    return store.amend(run.run_id, amendment)
