"""The models of a sweep: by their files where those are on this machine, else as campaign.toml declares them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tracker import checkpoints
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.training import Training
from tracker.errors import CheckpointError, InputError
from tracker.workflows.campaign_file import FILE_NAME
from tracker.workflows.sweep_plan import Arm, SweepPlan

TRAINING_FILE = "training.json"
_NO_FACTS = frozenset({"name", "path", "revision", "sources", "kind_evidence", "vocabulary_coverage_fraction"})
_SHOWN_FACTS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the checks of a sweep look at for one model, and what they cannot look at."""

    checkpoint: Checkpoint | None
    """The model; None where neither files nor declared facts are there."""
    unseen: str | None = None
    """What was used instead of its files, or how the two differ; None when its files were used and fit."""


def local_folder(models: Path, path: str | None) -> Path | None:
    """Return the folder of a checkpoint on this machine, a cached Hub id's included; None when it is elsewhere."""
    if path is None:
        return None
    folder = models / Path(path).expanduser()
    return folder if folder.is_dir() else checkpoints.cached_folder(path)


def see(plan: SweepPlan, path: str, what: str) -> Seen:
    """Return a model as the checks see it.

    Args:
        plan: The sweep.
        path: The model as the server gets it.
        what: `target` or `drafter`.
    """
    declared = _declared(plan, path, what)
    folder = local_folder(plan.models, path)
    if folder is None:
        return _as_declared(declared, f"the {what} {path} is not on this machine")
    try:
        described = checkpoints.describe(str(folder))
    except CheckpointError as error:
        return _as_declared(declared, f"the {what} was not looked at ({error})")
    return Seen(checkpoint=described, unseen=_difference(described, declared, f"the {what} {path}"))


def drafter_of(arm: Arm, plan: SweepPlan) -> Checkpoint | None:
    """Return a server's drafter under the name that its record will carry; None without one."""
    declared, folder = plan.campaign.drafter(arm.drafter), local_folder(plan.models, arm.drafter)
    if folder is None:
        return None if declared is None else declared.checkpoint
    try:
        described = checkpoints.describe(folder)
    except CheckpointError:
        return None if declared is None else declared.checkpoint
    return described if declared is None else filled(described, declared.checkpoint)


def training_of(arm: Arm, plan: SweepPlan) -> Training | None:
    """Return what a server's drafter was trained on; None where neither its folder nor campaign.toml says.

    Raises:
        InputError: The drafter's training facts cannot be read.
    """
    declared = plan.campaign.drafter(arm.drafter)
    return training_beside(local_folder(plan.models, arm.drafter)) or (None if declared is None else declared.training)


def training_beside(drafter: Path | None) -> Training | None:
    """Return the training facts that lie beside a drafter's weights; None where there are none.

    Raises:
        InputError: The file is there and cannot be read.
    """
    path = None if drafter is None else drafter / TRAINING_FILE
    if path is None or not path.is_file():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=Training)
    except (msgspec.MsgspecError, OSError) as error:
        raise InputError(
            f"the training facts cannot be read: {error}", where=str(path), hint="Correct or remove the file."
        ) from error


def filled(described: Checkpoint, declared: Checkpoint) -> Checkpoint:
    """Return what the files say, with what only campaign.toml knows."""
    missing = {
        item.name: getattr(declared, item.name)
        for item in dataclasses.fields(Checkpoint)
        if getattr(described, item.name) is None and getattr(declared, item.name) is not None
    }
    return dataclasses.replace(described, name=declared.name, **missing)


def _declared(plan: SweepPlan, path: str, what: str) -> Checkpoint | None:
    if what == "target":
        return plan.campaign.target
    found = plan.campaign.drafter(path)
    return None if found is None else found.checkpoint


def _facts(declared: Checkpoint) -> dict[str, object]:
    """Return what a declaration says about what a model is, by the name of each fact."""
    empty = Checkpoint(name="")
    names = (item.name for item in dataclasses.fields(Checkpoint) if item.name not in _NO_FACTS)
    return {name: getattr(declared, name) for name in names if getattr(declared, name) != getattr(empty, name)}


def _as_declared(declared: Checkpoint | None, why: str) -> Seen:
    facts = {} if declared is None else _facts(declared)
    if declared is None or not facts:
        return Seen(checkpoint=declared, unseen=f"{why}, and {FILE_NAME} says nothing of its kind: it was not checked")
    shown = ", ".join(f"{name.replace('_', ' ')} {_text(value)}" for name, value in list(facts.items())[:_SHOWN_FACTS])
    more = f" and {len(facts) - _SHOWN_FACTS} more" if len(facts) > _SHOWN_FACTS else ""
    return Seen(
        checkpoint=_with_kind(declared, facts),
        unseen=f"{why}: it was checked as {FILE_NAME} declares it ({shown}{more}), not by its files",
    )


def _with_kind(declared: Checkpoint, facts: dict[str, object]) -> Checkpoint:
    """Return a declared model with the kind that follows from its facts, and where that is known from."""
    architectures = {} if declared.architecture is None else {"architectures": [declared.architecture]}
    derived = checkpoints.from_facts(declared.name, {**facts, **architectures})
    evidence = tuple(f"{found} ({FILE_NAME})" for found in derived.kind_evidence) or (f"{FILE_NAME} says so",)
    kind = declared.kind or derived.kind
    return dataclasses.replace(declared, kind=kind, kind_evidence=evidence if kind is not None else ())


def _difference(described: Checkpoint, declared: Checkpoint | None, what: str) -> str | None:
    """Return how a declaration contradicts the files, which go before it."""
    pairs = (
        []
        if declared is None
        else [(name, value, getattr(described, name)) for name, value in _facts(declared).items()]
    )
    other = [
        f"{name.replace('_', ' ')} {_text(told)}, its files say {_text(found)}"
        for name, told, found in pairs
        if found is not None and found != told and isinstance(told, str | int | bool | tuple)
    ]
    return f"{what}: {FILE_NAME} declares {'; '.join(other)}; the files were used" if other else None


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
