"""Checking every server of a sweep before any is started."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tracker import engines, lint
from tracker.domain.finding import Finding
from tracker.domain.redaction import redact_argv
from tracker.domain.server import ServerConfig
from tracker.errors import InputError, UsageError
from tracker.lint.base import Subject
from tracker.workflows import simulated
from tracker.workflows.sweep_argv import split_words
from tracker.workflows.sweep_models import see
from tracker.workflows.sweep_plan import Arm, SweepPlan

PATH_NOT_FOUND = "MODEL_PATH_NOT_FOUND"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One server with what the checks say."""

    arm: Arm
    """The server."""
    config: ServerConfig | None
    """Its flags as understood; None for an engine that is not known."""
    findings: tuple[Finding, ...]
    """What was found."""
    unseen: tuple[str, ...] = ()
    """What could not be looked at, and why."""
    allow: tuple[str, ...] = ()
    """Codes that may fail."""

    @property
    def refused_by(self) -> tuple[Finding, ...]:
        """Return the errors that keep the server from being started."""
        return tuple(item for item in self.findings if item.severity == "error" and item.code not in self.allow)

    @property
    def allowed(self) -> tuple[str, ...]:
        """Return the codes of errors that were found and may be there."""
        codes = (item.code for item in self.findings if item.severity == "error" and item.code in self.allow)
        return tuple(dict.fromkeys(codes))

    @property
    def reason(self) -> str:
        """Return in one sentence why it is refused."""
        codes = tuple(dict.fromkeys(item.code for item in self.refused_by))
        options = " ".join(f"--allow {code}" for code in codes)
        return f"refused before launch by {', '.join(codes)}; start it all the same with {options}"

    @property
    def fix(self) -> str | None:
        """Return what would cure the first error that has a cure; None without one."""
        return next((item.fix for item in self.refused_by if item.fix is not None), None)


def check_all(plan: SweepPlan, *, allow: tuple[str, ...] = ()) -> tuple[Checked, ...]:
    """Return every server with its checks, the baseline first.

    Raises:
        UsageError: A code that is to be allowed is none.
    """
    arms = (*([plan.baseline] if plan.baseline else []), *plan.arms)
    _refuse_unknown([("--allow", allow), *((f"{plan.where}, allow of {arm.name}", arm.allow) for arm in arms)])
    return tuple(check(arm, plan, allow=allow) for arm in arms)


def check(arm: Arm, plan: SweepPlan, *, allow: tuple[str, ...] = ()) -> Checked:
    """Return what the flags and the checkpoints of one server say before it is started."""
    unseen: list[str] = []
    config = config_of(arm.argv, arm.environment)
    if config is None:
        unseen.append(
            "the command launches no engine that is known, so of its flags only those about speculation were checked"
        )
    target = see(plan, plan.target, "target")
    drafter = see(plan, arm.drafter, "drafter") if arm.drafter else None
    unseen += [seen.unseen for seen in (target, drafter) if seen is not None and seen.unseen is not None]
    spoken = config or _as_sglang(arm, plan)
    subject = Subject(
        server=config,
        speculation=None if spoken is None else engines.speculation(spoken),
        target=target.checkpoint,
        drafter=None if drafter is None else drafter.checkpoint,
        workload=plan.bench.workload(),
    )
    paths = [("target", plan.target), *([("drafter", arm.drafter)] if arm.drafter else [])]
    missing = [finding for what, path in paths for finding in _missing(plan, what, path)]
    findings = (*missing, *as_intended(lint.run(subject), arm))
    return Checked(arm=arm, config=config, findings=findings, unseen=tuple(unseen), allow=(*arm.allow, *allow))


def _as_sglang(arm: Arm, plan: SweepPlan) -> ServerConfig | None:
    """Return what a script is given, read as SGLang's flags: where the engine is not known, a sweep speaks SGLang."""
    flags = arm.argv[len(split_words(plan.table.launch)) :]
    return config_of(("python3", "-m", "sglang.launch_server", *flags), None)


def _refuse_unknown(allowed: Iterable[tuple[str, tuple[str, ...]]]) -> None:
    known = (*lint.codes(), PATH_NOT_FOUND)
    for where, codes in allowed:
        unknown = next((code for code in codes if code not in known), None)
        if unknown is not None:
            close = difflib.get_close_matches(unknown, known, n=1)
            raise UsageError(
                f"no check reports {unknown!r}, so nothing would be allowed",
                where=where,
                hint=f"Did you mean {close[0]}?" if close else "Copy the code from `tracker sweep --plan`.",
            )


def as_intended(findings: Iterable[Finding], arm: Arm) -> tuple[Finding, ...]:
    """Return a server's findings; that its acceptance means nothing is no error where that was asked for."""
    return tuple(findings) if arm.simulated_accept_length is None else simulated.meant(findings)


def config_of(argv: tuple[str, ...], environment: object) -> ServerConfig | None:
    """Return the configuration a command line asks for; None when it launches no engine that is known."""
    try:
        config = engines.parse_argv(argv)
    except InputError:
        return None
    variables = engines.relevant_environment(dict(environment)) if isinstance(environment, dict) else {}
    # Prefixes included: what pins or wraps a server is part of how it ran.
    return dataclasses.replace(config, argv=redact_argv(argv), environment={**config.environment, **variables})


def _missing(plan: SweepPlan, what: str, path: str) -> Iterator[Finding]:
    """Yield an error for a path that can only be one of this machine and leads nowhere."""
    if plan.table.launcher != "local" or (plan.models / Path(path).expanduser()).exists():
        return
    parent = Path(path).parent
    is_path = path.startswith(("/", "./", "../", "~")) or path.count("/") > 1
    if not is_path and (parent == Path() or not (plan.models / parent).is_dir()):
        return  # may be a Hub id
    yield Finding(
        code=PATH_NOT_FOUND,
        severity="error",
        message=f"The {what} {path} is not there: the server would end after some time of loading.",
        fix="Correct the path, or name the folder that relative paths start from with --models.",
        confidence="certain",
    )
