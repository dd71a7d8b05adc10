"""Rotary positions that differ between drafter and target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.lint._subject import mapping
from tracker.lint.base import Subject


class Rope:
    """The drafter's rotary base or scaling is not the target's.

    A drafter may be trained with its own, so this is only worth a look. It is often lost by accident: transformers 5
    moved the values to `rope_parameters`, converters drop `rope_scaling`, and then acceptance falls with the context
    length.

    Sources: SpecForge issues 265 and 219, pull requests 270, 287 and 742; speculators pull request 574.
    """

    codes = ("ROPE_DIFFERS",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the difference as information; silent where one of the two does not say."""
        drafter, target = subject.drafter, subject.target
        if drafter is None or target is None or drafter.kind in ("model", "mtp", None):
            return
        own, other = _base(drafter), _base(target)
        scaled, target_scaled = _scaling(drafter), _scaling(target)
        lost = target_scaled is not None and scaled is None and own is not None
        if (own is None or other is None or own == other) and not lost:
            return
        what = (
            f"rope_theta {own:g}, the target {other:g}"
            if own != other and own and other
            else "no rope_scaling, the target has"
        )
        yield Finding(
            code=self.codes[0],
            severity="info",
            message=f"{drafter.name} has {what}{'' if own != other and own and other else f' {target_scaled}'}.",
            fix="If the drafter was not trained that way, restore the target's values in its config.json.",
            confidence="low",
        )


def _base(checkpoint: Checkpoint) -> float | None:
    value: Any = checkpoint.config.get("rope_theta")
    value = mapping(checkpoint.config.get("rope_parameters")).get("rope_theta") if value is None else value
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _scaling(checkpoint: Checkpoint) -> str | None:
    """Return the kind of rope scaling; None for none."""
    for key in ("rope_scaling", "rope_parameters"):
        values = mapping(checkpoint.config.get(key))
        kind = values.get("rope_type", values.get("type"))
        if isinstance(kind, str) and kind != "default":
            return kind
    return None


RULE = Rope()
