"""check: how a server is or will be launched, against the checkpoints it loads."""

from __future__ import annotations

from dataclasses import dataclass

from tracker import checkpoints, engines, lint
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.domain.server import ServerConfig, Speculation
from tracker.errors import CheckpointError, UsageError
from tracker.lint.base import Subject
from tracker.workflows.server_sources import ServerOptions, read_sources


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What the check saw and found."""

    findings: tuple[Finding, ...]
    """Errors first."""
    server: ServerConfig | None
    """The configuration as understood."""
    speculation: Speculation | None
    """Its speculative part."""
    drafter: Checkpoint | None
    """The draft model as described."""
    target: Checkpoint | None
    """The target as described."""
    unseen: tuple[str, ...] = ()
    """What could not be looked at, and why."""


def check(options: ServerOptions, *, drafter: str | None = None, target: str | None = None) -> CheckResult:
    """Return what is wrong with a launch, before or after it.

    Raises:
        UsageError: Nothing to check was named.
        InputError: A file named cannot be read.
        ServerError: A live server named does not answer.
        CheckpointError: A checkpoint named with an option cannot be described.
    """
    if not options.given and drafter is None:
        raise UsageError(
            "nothing to check", hint='Give --server-cmd "...", --argv FILE, --server URL or --drafter DIR.'
        )
    facts = read_sources(options)
    server = engines.combine(facts.configs) if facts.configs else None
    speculation = engines.speculation(server) if server else None
    unseen: list[str] = []
    draft = _describe(drafter, speculation.draft_model_path if speculation else None, "drafter", unseen)
    served = facts.model_path or (server.get("model_path") if server else None)
    base = _describe(target, served if isinstance(served, str) else None, "target", unseen)
    subject = Subject(server=server, speculation=speculation, drafter=draft, target=base)
    return CheckResult(
        findings=lint.run(subject),
        server=server,
        speculation=speculation,
        drafter=draft,
        target=base,
        unseen=tuple(unseen),
    )


def _describe(named: str | None, from_flags: str | None, what: str, unseen: list[str]) -> Checkpoint | None:
    if named is not None:
        return checkpoints.describe(named)
    if from_flags is None:
        return None
    try:
        return checkpoints.describe(from_flags)
    except CheckpointError as error:
        unseen.append(f"the {what} was not looked at: {error}")
        return None
