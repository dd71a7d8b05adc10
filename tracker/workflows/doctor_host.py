"""The part of doctor that looks at this machine: packages, engines, GPUs, mail."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Literal

from packaging.requirements import InvalidRequirement, Requirement

from tracker import delivery
from tracker.environment.hardware import VISIBLE_VARIABLE, hardware
from tracker.errors import DeliveryError, TrackerError
from tracker.workflows.post import COMMAND_VARIABLE
from tracker.workflows.session import Session

State = Literal["ok", "warning", "problem"]
ENGINES = ("sglang", "vllm")
DRIVER_TOOL = "nvidia-smi"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing looked at."""

    topic: str
    """What: versions, store, artifacts, schema, clock, spool, mail, engine, torch, gpu."""
    state: State
    """ok; warning: works, but worth a look; problem: something will fail."""
    message: str
    """What was found."""
    fix: str | None = None
    """What to do; None when ok."""


def installed(name: str) -> str | None:
    """Return the version of an installed package; None where it is not there."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def failed(topic: str, error: TrackerError) -> Check:
    """Return an error as a problem."""
    where = f"{error.where}: " if error.where else ""
    fix = error.hint or "Try again; if it stays, the log of the other side says more"
    return Check(topic=topic, state="problem", message=f"{where}{error.message}", fix=fix)


def versions() -> Iterator[Check]:
    """Yield one line with the versions that matter, and one for each package that does not fit."""
    shown = ", ".join(f"{name} {version}" for name in ("tracker", "mlflow") if (version := installed(name)) is not None)
    yield Check(topic="versions", state="ok", message=f"{shown}, Python {platform.python_version()}")
    for text in metadata.requires("tracker") or ():
        try:
            wanted = Requirement(text)
        except InvalidRequirement:
            continue
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
            continue
        found = installed(wanted.name)
        if found is None or not wanted.specifier.contains(found, prereleases=True):
            message = f"tracker needs {wanted.name}{wanted.specifier}; {found or 'none'} is installed"
            fix = f"pip install '{wanted.name}{wanted.specifier}'"
            yield Check(topic="versions", state="problem", message=message, fix=fix)


def engines(environ: Mapping[str, str]) -> Iterator[Check]:
    """Yield what is installed of the engines and torch; missing is worth a warning only beside a GPU."""
    found = {name: version for name in ENGINES if (version := installed(name)) is not None}
    torch = installed("torch")
    has_driver = shutil.which(DRIVER_TOOL, path=environ.get("PATH")) is not None
    if found:
        yield Check(topic="engine", state="ok", message=", ".join(f"{name} {text}" for name, text in found.items()))
    else:
        yield Check(
            topic="engine",
            state="warning" if has_driver else "ok",
            message="neither sglang nor vllm is installed here; only a machine that launches servers needs one",
            fix="pip install 'tracker[sglang]'" if has_driver else None,
        )
    if torch is not None:
        yield Check(topic="torch", state="ok", message=f"torch {torch}")
    else:
        message = "not installed here; only .bin and .pt checkpoints and --deep need it"
        yield Check(topic="torch", state="ok", message=message)


def gpu(environ: Mapping[str, str]) -> Check:
    """Return what the driver says of the GPUs."""
    if shutil.which(DRIVER_TOOL, path=environ.get("PATH")) is None:
        message = f"no {DRIVER_TOOL} here: no NVIDIA driver; servers elsewhere are reached with --server"
        return Check(topic="gpu", state="ok", message=message)
    found = hardware(environ)
    if found is None or not found.gpu_count:
        if found is not None and VISIBLE_VARIABLE in environ:
            message = f"{VISIBLE_VARIABLE}={environ[VISIBLE_VARIABLE]} leaves no GPU to use"
            fix = f"Unset it, or name GPUs that `{DRIVER_TOOL} -L` lists, each once, the first one included"
            return Check(topic="gpu", state="problem", message=message, fix=fix)
        fix = f"Run `{DRIVER_TOOL}` and see what it says"
        return Check(topic="gpu", state="problem", message=f"{DRIVER_TOOL} is here but names no GPU to use", fix=fix)
    listed = environ.get(VISIBLE_VARIABLE, "").rstrip(", ")
    if listed and found.gpu_count < listed.count(",") + 1:
        message = f"{VISIBLE_VARIABLE}={listed} leaves {found.gpu_count} x {found.gpu}: CUDA stops at the first unknown"
        fix = f"Name only GPUs that `{DRIVER_TOOL} -L` lists"
        return Check(topic="gpu", state="warning", message=message, fix=fix)
    return Check(topic="gpu", state="ok", message=f"{found.gpu_count} x {found.gpu}, driver {found.driver}")


def mail(session: Session) -> Check:
    """Return whether memos can be mailed: the server reached and the log-in taken, no mail sent."""
    environ = session.environ
    command = environ.get(COMMAND_VARIABLE, "").split()
    if not command and not environ.get("TRACKER_SMTP_HOST", "").strip():
        return Check(topic="mail", state="ok", message="not set up; memos are written to files only")
    try:
        sender = delivery.sender_from(environ)
        if command:
            if shutil.which(command[0], path=environ.get("PATH")) is None:
                return Check(
                    topic="mail", state="problem", message=f"there is no command {command[0]!r}",
                    fix=f"Install it or correct {COMMAND_VARIABLE}",
                )  # fmt: skip
            return Check(topic="mail", state="ok", message=f"from {sender} with {command[0]}")
        settings = delivery.settings_from(environ)
        delivery.reach(settings)
    except DeliveryError as error:
        return failed("mail", error)
    return Check(topic="mail", state="ok", message=f"from {sender} through {settings.host}:{settings.port}, reached")
