"""check: how a server is or will be launched, against the checkpoints it loads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tracker import checkpoints, engines, lint
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.domain.server import ServerConfig, Speculation
from tracker.errors import CheckpointError, UsageError
from tracker.lint.base import Subject
from tracker.workflows.server_sources import ServerOptions, read_command, read_sources


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
    own_parser: tuple[str, ...] = ()
    """What the installed SGLang's own parser makes of the command, when it was asked."""


def check(
    options: ServerOptions,
    *,
    drafter: str | None = None,
    target: str | None = None,
    deep: bool = False,
    ask_engine: bool = False,
    against: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CheckResult:
    """Return what is wrong with a launch, before or after it.

    Args:
        options: How the server is or will be launched.
        drafter: Draft model: folder or Hub id in the local cache.
        target: Target model, likewise.
        deep: Read the drafter's weights too: NaN, zeros, matrices that were never trained, foreign embeddings.
        against: Launch command of the baseline to compare with, `@FILE` or a script's name; every flag that differs
            beyond speculation is a finding.
        ask_engine: Ask the installed SGLang's own parser what it makes of the command.
        progress: Called with bytes read and bytes in all while weights are read.

    Raises:
        UsageError: Nothing to check was named.
        InputError: A file named cannot be read.
        ServerError: A live server named does not answer.
        CheckpointError: A checkpoint named with an option cannot be described.
    """
    if not options.given and drafter is None and target is None:
        raise UsageError(
            "nothing to check", hint='Give --server-cmd "...", --argv FILE, --server URL or --drafter DIR.'
        )
    facts = read_sources(options)
    server = engines.combine(facts.configs) if facts.configs else None
    speculation = engines.speculation(server) if server else None
    unseen: list[str] = []
    draft_path = drafter or (speculation.draft_model_path if speculation else None)
    draft = _describe(draft_path, "drafter", unseen, named=drafter is not None)
    served = target or facts.model_path or (server.get("model_path") if server else None)
    base = _describe(served if isinstance(served, str) else None, "target", unseen, named=target is not None)
    if deep and draft is not None and draft_path is not None:
        draft = _inspect(draft, draft_path, served if base is not None else None, unseen, progress)
    subject = Subject(
        server=server,
        speculation=speculation,
        drafter=draft,
        target=base,
        cuda_graph=engines.cuda_graph(server) if server else None,
        baseline=read_command(against, option="--against") if against else None,
    )
    return CheckResult(
        findings=lint.run(subject),
        server=server,
        speculation=speculation,
        drafter=draft,
        target=base,
        unseen=tuple(unseen),
        own_parser=_own_parser(server) if ask_engine and server else (),
    )


def _own_parser(server: ServerConfig) -> tuple[str, ...]:
    answer = engines.ask_own_parser(server)
    if answer is None:
        return ("SGLang is not installed here: its own parser was not asked",)
    refused = (
        ()
        if answer.refusal is None
        else (f"SGLang {answer.version or 'of unknown version'} refuses the command: {answer.refusal}",)
    )
    return refused + answer.disagreements or (
        f"SGLang {answer.version or 'of unknown version'} reads the command the same way",
    )


def _inspect(
    draft: Checkpoint,
    path: str,
    served: object,
    unseen: list[str],
    progress: Callable[[int, int], None] | None,
) -> Checkpoint:
    """Return the drafter with what its weights show; weights that cannot be read leave the other checks standing."""
    try:
        seen = checkpoints.inspect_weights(draft, path, progress=progress)
        return checkpoints.compare_embeddings(seen, path, served) if isinstance(served, str) else seen
    except CheckpointError as error:
        unseen.append(f"the drafter's weights were not looked at: {error}")
        return draft


def _describe(path: str | None, what: str, unseen: list[str], *, named: bool) -> Checkpoint | None:
    """Return the checkpoint; one that only the flags name may be elsewhere, which is said and no error."""
    if path is None:
        return None
    try:
        return checkpoints.describe(path)
    except CheckpointError as error:
        if named:
            raise
        unseen.append(f"the {what} was not looked at: {error}")
        return None
