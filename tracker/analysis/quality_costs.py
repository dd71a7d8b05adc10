"""Notes on what a figure of the step or of acceptance leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tracker.analysis.results import AcceptanceProfile, ConfigurationCost, Diagnosis, Note, StepChange
from tracker.analysis.words import percent, streams

# A shift of break-even worth a sentence.
_SHIFT_FRACTION = 0.02


def cost_notes(costs: Sequence[ConfigurationCost], acceptance: AcceptanceProfile) -> tuple[Note, ...]:
    """Return notes on prefill inside break-even and on trainers' metrics."""
    return (*_prefill(costs), *_training(acceptance))


def history_notes(changes: Sequence[StepChange], told_apart: Sequence[Diagnosis]) -> tuple[Note, ...]:
    """Return notes on jumps over time and on slow runs told apart."""
    return (*_changes(changes), *_told_apart(told_apart))


def _changes(changes: Sequence[StepChange]) -> Iterable[Note]:
    for change in changes:
        topic = "step change" if change.alarm else "known step change"
        yield Note(topic=topic, message=change.message, run_ids=(change.run_ids_before[-1], change.run_ids_after[0]))


def _told_apart(told_apart: Sequence[Diagnosis]) -> Iterable[Note]:
    for item in told_apart:
        ids = (item.run_id,) if item.against_run_id is None else (item.run_id, item.against_run_id)
        yield Note(topic=f"{item.kind} problem", message=item.message, run_ids=ids)


def _prefill(costs: Sequence[ConfigurationCost]) -> Iterable[Note]:
    for cost in costs:
        found = cost.prefill
        if found is None or abs(found.break_even / cost.break_even.value - 1) < _SHIFT_FRACTION:
            continue
        share = percent(found.baseline_prefill_fraction)
        yield Note(
            topic="prefill",
            message=(
                f"{cost.configuration.label} at {streams(cost.concurrency)}: {share} of a baseline request passes "
                f"before its first token. Decoding alone breaks even at {found.break_even:.2f} instead of "
                f"{cost.break_even.value:.2f}, which is the bar for another drafter."
            ),
            run_ids=cost.run_ids,
        )


def _training(acceptance: AcceptanceProfile) -> Iterable[Note]:
    if acceptance.training_note is not None and acceptance.run_id is not None:
        yield Note(topic="training metric", message=acceptance.training_note, run_ids=(acceptance.run_id,))
