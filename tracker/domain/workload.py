"""What was asked of the server, and on which hardware."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Prompts, sampling and load of a benchmark."""

    prompt_set: str | None = None
    """Name of the prompt set or data set."""
    prompt_set_digest: str | None = None
    """SHA-256 over the prompts' keys, sorted: equal digests mean equal prompts."""
    prompts: int | None = None
    """Number of distinct prompts."""
    categories: tuple[str, ...] = ()
    """Prompt categories."""
    temperature: float | None = None
    """Sampling temperature."""
    top_p: float | None = None
    """Nucleus sampling parameter."""
    ignore_eos: bool | None = None
    """Whether generation ran to the length limit regardless of end-of-sequence."""
    input_tokens_mean: float | None = None
    """Mean prompt length in tokens."""
    output_tokens_mean: float | None = None
    """Mean answer length in tokens."""
    max_output_tokens: int | None = None
    """Length limit of an answer in tokens."""
    concurrencies: tuple[int, ...] = ()
    """Streams in flight at once, closed loop."""
    request_rate_per_s: float | None = None
    """Arrivals per second, open loop; None for a closed loop."""
    template_digest: str | None = None
    """SHA-256 of the chat template."""
    thinking: bool | None = None
    """Whether the target's thinking mode was on."""
    seed: int | None = None
    """Seed of the workload."""
    warmup_requests: int | None = None
    """Requests sent before the measured part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """The machine the server ran on."""

    gpu: str | None = None
    """GPU name as the driver gives it."""
    gpu_count: int | None = None
    """GPUs that the server used."""
    driver: str | None = None
    """Driver version."""
    host: str | None = None
    """Masked host name: a class of machine, not an address."""
