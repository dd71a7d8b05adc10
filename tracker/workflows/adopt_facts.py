"""What a training tells of a benchmark's drafter that the benchmark's own record does not."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from tracker.domain.record import RunRecord, StoredRun
from tracker.domain.training import Training
from tracker.store.amending import TRAINING_FIELDS

TRAINED_FROM = "training.trained_from"
MADE_BY = "its drafter was made by the training "
"""Beginning of the reason of a correction that connects a benchmark; the training's name follows."""
NOT_MADE_BY = "its drafter was not made by the training "
"""Beginning of the reason of one that disconnects it for good; the training's run id follows."""


def missing_facts(known: Training | None, told: Training | None) -> Mapping[str, Any]:
    """Return what a training tells and a benchmark's record does not, by the name an amendment gives it."""
    known = known or Training()
    names = [key.removeprefix("training.") for key in TRAINING_FIELDS if key != TRAINED_FROM]
    facts = {} if told is None else {name: getattr(told, name) for name in names}
    return {
        f"training.{name}": value for name, value in facts.items() if value is not None and getattr(known, name) is None
    }


def with_missing_facts(known: Training | None, told: StoredRun) -> Training:
    """Return a benchmark's training facts with what a training's run tells beside them."""
    facts = missing_facts(known, told.record.training)
    changes = {key.removeprefix("training."): value for key, value in facts.items()}
    return dataclasses.replace(known or Training(), **changes, trained_from=told.run_id)


def without_refused(benchmark: RunRecord, trainings: Sequence[StoredRun]) -> Sequence[StoredRun]:
    """Return the trainings without those that somebody said did not make this benchmark's drafter."""
    reasons = [amendment.reason or "" for amendment in benchmark.amendments]
    refused = {reason.removeprefix(NOT_MADE_BY) for reason in reasons if reason.startswith(NOT_MADE_BY)}
    return [run for run in trainings if run.run_id not in refused]
