"""A drafter's training: how much data, how many steps, at what cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingCost:
    """GPU-hours of one training, by phase."""

    generation_gpu_hours: float | None = None
    """Generating answers with the target."""
    extraction_gpu_hours: float | None = None
    """Extracting the target's hidden states."""
    training_gpu_hours: float | None = None
    """Optimising the drafter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricPoint:
    """One point of a metric's history."""

    name: str
    """Metric name as the trainer writes it."""
    step: int
    """Optimizer step."""
    value: float
    """Value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """Data and budget behind a drafter checkpoint."""

    samples: int | None = None
    """Training samples, repeats excluded when `unique_samples` says so."""
    tokens: int | None = None
    """Training tokens."""
    unique_samples: int | None = None
    """Distinct samples."""
    samples_seen: int | None = None
    """Samples processed, repeats included: steps x batch."""
    optimizer_steps: int | None = None
    """Optimizer steps."""
    batch_size: int | None = None
    """Samples per optimizer step."""
    epochs: float | None = None
    """Passes over the data."""
    mix: str | None = None
    """Name of the data mix; sizes with different mixes are not one curve."""
    data_name: str | None = None
    """Name of the data set."""
    data_digest: str | None = None
    """SHA-256 of the data set."""
    template_digest: str | None = None
    """SHA-256 of the chat template that the training data were rendered with."""
    thinking: bool | None = None
    """Whether the training answers were generated in the target's thinking mode."""
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    """Learning rate and the like."""
    history: tuple[MetricPoint, ...] = ()
    """Metric history."""
    validation_position_accuracy: tuple[float, ...] | None = None
    """Teacher-forced validation accuracy per draft position; informs, never replaces, served acceptance."""
    gpu: str | None = None
    """GPU type."""
    cost: TrainingCost | None = None
    """GPU-hours by phase."""
    trained_from: str | None = None
    """Run id of the training run, when it is logged."""
