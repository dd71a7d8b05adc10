"""What `tracker amend` may change, and the changed record."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from tracker.domain.record import Amendment, Role, RunRecord, Validity
from tracker.domain.training import Training
from tracker.errors import InputError

FIELDS: Mapping[str, Any] = {
    "validity": Validity,
    "validity_reason": str | None,
    "role": Role | None,
    "name": str,
    "note": str | None,
    "supersedes": str | None,
}
TRAINING_FIELDS: Mapping[str, Any] = {
    "training.samples": int | None,
    "training.tokens": int | None,
    "training.unique_samples": int | None,
    "training.samples_seen": int | None,
    "training.optimizer_steps": int | None,
    "training.batch_size": int | None,
    "training.epochs": float | None,
    "training.mix": str | None,
    "training.data_name": str | None,
    "training.data_digest": str | None,
    "training.validation_position_accuracy": tuple[float, ...] | None,
    "training.trained_from": str | None,
}
"""What a training that is logged or adopted later tells of the drafter of an earlier benchmark."""
TAG_PREFIX = "tags."
ALLOWED = ", ".join((*FIELDS, *TRAINING_FIELDS, f"{TAG_PREFIX}<key>"))


def apply_amendment(record: RunRecord, amendment: Amendment) -> RunRecord:
    """Return the record with the changes applied and the amendment added to its history.

    A tag set to None is removed. A `validity` that comes without a `validity_reason` takes the amendment's reason.

    Raises:
        InputError: A field that cannot be amended, or a value that it cannot hold.
    """
    if not amendment.changes:
        raise InputError("the amendment changes nothing", where=record.name, hint=f"These can be changed: {ALLOWED}")
    changes: dict[str, Any] = {}
    training: dict[str, Any] = {}
    tags = dict(record.tags)
    for key, value in amendment.changes.items():
        if key in FIELDS:
            changes[key] = _checked(key, value, FIELDS[key])
        elif key in TRAINING_FIELDS:
            training[key.removeprefix("training.")] = _checked_fact(key, value)
        elif key.startswith(TAG_PREFIX) and key != TAG_PREFIX:
            tags[key.removeprefix(TAG_PREFIX)] = _checked(key, value, str | None)
        else:
            raise InputError(f"{key} cannot be amended", where=record.name, hint=f"These can be changed: {ALLOWED}")
    if "validity" in changes and "validity_reason" not in changes:
        changes["validity_reason"] = None if changes["validity"] == "ok" else amendment.reason
    if training:
        changes["training"] = dataclasses.replace(record.training or Training(), **training)
    return record.replace(
        **changes,
        tags={key: value for key, value in tags.items() if value is not None},
        amendments=(*record.amendments, amendment),
    )


def _checked(key: str, value: Any, kind: Any) -> Any:
    try:
        checked = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        choices = [str(choice) for choice in get_args(kind) if isinstance(choice, str)]
        hint = f"Use one of {', '.join(choices)}" if choices else "Give a text"
        raise InputError(f"{value!r} is no value for it", where=key, hint=hint) from error
    if key == "name" and not checked:
        raise InputError("a run needs a name", where=key, hint="Give a text")
    return checked


def _checked_fact(key: str, value: Any) -> Any:
    kind = TRAINING_FIELDS[key]
    if kind != int | None:
        return _checked(key, value, kind)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise InputError(f"{value!r} is no count", where=key, hint="Give a whole number, 0 or more")
