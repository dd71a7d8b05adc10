"""Who logs a run, where, when, and with which code."""

from __future__ import annotations

import getpass
import platform as system
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata
from pathlib import Path

from tracker.domain.provenance import InputFile, Provenance
from tracker.domain.redaction import clean_text, is_secret_name, mask_host, mask_user, mask_value, redact_argv

# git on a network file system can hang; a record must not.
GIT_TIMEOUT_S = 5.0
PACKAGES = (
    "sglang",
    "vllm",
    "torch",
    "transformers",
    "flashinfer",
    "flashinfer-python",
    "sgl-kernel",
    "sglang-kernel",
    "triton",
    "mlflow",
    "tracker",
)
_SCHEDULER_PREFIXES = ("SLURM_", "LSB_", "PBS_")
# Identifiers only: what leads back to the job, not its whole environment.
_SCHEDULER_ENDINGS = (
    "JOB_ID",
    "JOBID",
    "JOB_NAME",
    "ARRAY_TASK_ID",
    "ARRAY_JOB_ID",
    "NNODES",
    "JOB_PARTITION",
    "CLUSTER_NAME",
)
_CI_NAMES = frozenset(
    {
        "GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_SHA", "GITHUB_REPOSITORY", "GITHUB_WORKFLOW", "CI_JOB_ID",
        "CI_PIPELINE_ID", "CI_COMMIT_SHA", "CI_PROJECT_PATH", "BUILD_ID", "BUILD_NUMBER", "JOB_NAME",
        "BUILDKITE_BUILD_ID", "BUILDKITE_JOB_ID", "CIRCLE_WORKFLOW_ID", "CIRCLE_BUILD_NUM", "KUBERNETES_JOB_NAME",
        "RAY_JOB_ID",
    }
)  # fmt: skip
_USER_VARIABLES = ("TRACKER_USER", "LOGNAME", "USER", "USERNAME")


@dataclass(frozen=True, slots=True, kw_only=True)
class GitState:
    """The working tree that a command was called in."""

    commit: str | None = None
    """Commit; None outside a repository, in one without commits, and without git."""
    dirty: bool | None = None
    """Whether it had uncommitted changes."""


def collect(
    *,
    now: datetime,
    environ: Mapping[str, str],
    cwd: Path,
    importer: str | None,
    inputs: Sequence[InputFile],
    command: Sequence[str] | None = None,
    command_exit_code: int | None = None,
    measured_at: datetime | None = None,
) -> Provenance:
    """Return the provenance of a record; users and hosts are masked, secrets redacted.

    Args:
        now: When the record is made, with a zone.
        environ: The process environment.
        cwd: Folder whose git state is recorded.
        importer: Importer that read the input.
        inputs: Files read.
        command: Command that was run around.
        command_exit_code: Its exit code.
        measured_at: When the benchmark or training ran.
    """
    git = git_state(cwd)
    versions = package_versions()
    return Provenance(
        measured_at=measured_at,
        logged_at=now,
        logged_by=user(environ),
        tracker_version=versions.get("tracker", "unknown"),
        importer=importer,
        inputs=tuple(inputs),
        command=None if command is None else tuple(mask_value(list(redact_argv(command)))),
        command_exit_code=command_exit_code,
        git_commit=git.commit,
        git_dirty=git.dirty,
        packages=versions,
        platform=f"{system.system()} {system.machine()}, Python {system.python_version()}",
        host=mask_host(system.node()) if system.node() else None,
        scheduler=scheduler_ids(environ),
    )


def user(environ: Mapping[str, str]) -> str | None:
    """Return a masked name of who runs this; None when the system does not know."""
    named = next((environ[name] for name in _USER_VARIABLES if environ.get(name)), None)
    if named is None:
        try:
            named = getpass.getuser()
        except (OSError, KeyError, ImportError):  # a user id without a name, as in many containers
            return None
    return mask_user(named)


def scheduler_ids(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the identifiers of the batch job or CI run, sorted by name."""
    return {
        name: clean_text(value)
        for name, value in sorted(environ.items())
        if value and not is_secret_name(name) and _is_identifier(name)
    }


def package_versions() -> dict[str, str]:
    """Return the installed versions of the packages that change results; absent ones are left out."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def git_state(cwd: Path) -> GitState:
    """Return commit and dirty flag of the working tree around `cwd`."""
    commit = _git(cwd, "rev-parse", "--verify", "--quiet", "HEAD")
    if not commit:
        return GitState()
    changes = _git(cwd, "status", "--porcelain")
    return GitState(commit=commit.strip(), dirty=None if changes is None else bool(changes.strip()))


def _is_identifier(name: str) -> bool:
    scheduled = name.startswith(_SCHEDULER_PREFIXES) and name.endswith(_SCHEDULER_ENDINGS)
    return scheduled or name in _CI_NAMES


def _git(cwd: Path, *arguments: str) -> str | None:
    """Return what git prints; None when it is absent, fails, or takes too long."""
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", *arguments],
            cwd=cwd,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=GIT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
