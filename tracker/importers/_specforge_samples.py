"""How many samples SpecForge takes per optimizer step, from its settings.

Since 0.2 (`specforge/config/schema.py`): processes are `deployment.trainer.nnodes` x `nproc_per_node`, one batch of
`training.batch_size` each, `training.accumulation_steps` batches a step. Before (`scripts/train_eagle3.py`): groups
of `tp_size` processes take `batch_size` x `tp_size` samples together, there are `dp_size` groups (set by the script
before its arguments are handed to a tracker), and `draft_accumulation_steps` batches make a step. Under sequence
parallelism several processes share a sample, and the versions differ in how they count; then nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracker.domain.finding import Finding
from tracker.importers import _training_run


def per_step(values: Mapping[str, Any]) -> int | None:
    """Return the samples of one optimizer step; None when the settings do not tell."""
    product = 1
    for factor in _factors(values).values():
        if factor is None:
            return None
        product *= factor
    return None if _shares_samples(values) else product


def seen(values: Mapping[str, Any], optimizer_steps: int | None) -> tuple[int | None, tuple[Finding, ...]]:
    """Return how many samples were processed, repeats included, or a finding that says why that is not known."""
    samples = per_step(values)
    if samples is not None and optimizer_steps is not None:
        return samples * optimizer_steps, ()
    fix = None
    if _shares_samples(values):
        why = "processes share samples (sequence parallelism)"
    elif optimizer_steps is None:
        why = "no optimizer step was logged"
    else:
        absent = ", ".join(name for name, factor in _factors(values).items() if factor is None)
        why = f"the settings do not give {absent}"
        fix = f"Add {absent} to the settings file as the training ran with them."
    message = f"How many samples were processed is not known: {why}."
    return None, (Finding(code="SAMPLES_SEEN_UNKNOWN", severity="info", message=message, fix=fix),)


def _factors(values: Mapping[str, Any]) -> dict[str, int | None]:
    """Return what a step's samples are the product of, each with the name of the setting."""
    batch = {"batch_size": _whole(values, "batch_size")}
    if _training_run.setting(values, "dp_size") is not None:
        old = ("dp_size", "tp_size", "draft_accumulation_steps")
        return batch | {name: _whole(values, name) for name in old}
    new = {name: _whole(values, name) for name in ("nnodes", "nproc_per_node")}
    # Written out in full in MLflow; a settings file leaves out what is default, and the default is 1 for both.
    accumulation = _whole(values, "accumulation_steps")
    return batch | new | {"accumulation_steps": 1 if accumulation is None else accumulation}


def _whole(values: Mapping[str, Any], name: str) -> int | None:
    return _training_run.whole(_training_run.setting(values, name))


def _shares_samples(values: Mapping[str, Any]) -> bool:
    sizes = (_whole(values, name) for name in ("sp_ulysses_size", "sp_ring_size"))
    return any(size is not None and size > 1 for size in sizes)
