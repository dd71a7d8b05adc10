"""What was measured: counts first, ratios derived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

RateConvention = Literal[
    "accepted_over_proposed", "length_over_draft_tokens", "drafts_over_steps_times_num_steps", "unknown"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """A ratio as a tool printed it, where no counts are at hand."""

    value: float
    """The number as given, in the unit of the field that holds it."""
    half_width: float | None = None
    """Half a unit of the last printed digit (`2.1` -> 0.05); None when the number came unrounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Summary of a latency over requests, in milliseconds."""

    mean_ms: float | None = None
    """Arithmetic mean."""
    median_ms: float | None = None
    """50th percentile."""
    p90_ms: float | None = None
    """90th percentile."""
    p99_ms: float | None = None
    """99th percentile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One measured cell: a concurrency, a repeat, and a category (None = all prompts pooled)."""

    concurrency: int | None = None
    """Streams in flight at once; None when not recorded."""
    repeat: int | None = None
    """Repeat index; None = all repeats pooled."""
    category: str | None = None
    """Prompt category; None = all categories pooled."""
    requests_completed: int | None = None
    """Answered requests."""
    requests_failed: int | None = None
    """Requests that ended in an error."""
    prompts: int | None = None
    """Distinct prompts behind this cell."""
    input_tokens: int | None = None
    """Prompt tokens."""
    output_tokens: int | None = None
    """Generated tokens, counted by the server."""
    wall_s: float | None = None
    """Wall time of the whole cell."""
    busy_s: float | None = None
    """Sum over requests of the server's end-to-end latency; over verify steps it gives the step time at this load."""
    verify_steps: int | None = None
    """Target forward passes that verified drafts (SGLang `spec_verify_ct`)."""
    accepted_drafts: int | None = None
    """Draft tokens accepted, bonus excluded (SGLang `spec_num_correct_drafts`)."""
    proposed_drafts: int | None = None
    """Draft tokens proposed (SGLang `spec_num_proposed_drafts`)."""
    accepted_histogram: tuple[int, ...] | None = None
    """Verify steps by number of accepted drafts; index 0 = none accepted."""
    cached_input_tokens: int | None = None
    """Prompt tokens served from the prefix cache."""
    reported_throughput_tok_s: Reported | None = None
    """Output throughput as printed, when counts are missing."""
    reported_accept_length: Reported | None = None
    """Accept length as printed, bonus included."""
    reported_accept_rate: Reported | None = None
    """Accept rate as printed; see `accept_rate_convention`."""
    accept_rate_convention: RateConvention | None = None
    """What the printed accept rate means."""
    ttft_ms: Latency | None = None
    """Time to first token."""
    tpot_ms: Latency | None = None
    """Time per output token after the first."""
    itl_ms: Latency | None = None
    """Inter-token latency as the tool defines it (often per chunk)."""
    e2e_latency_ms: Latency | None = None
    """End-to-end latency of a request."""
    extra: Mapping[str, float] = field(default_factory=dict)
    """Further numbers of the source under their original names."""

    @property
    def output_throughput_tok_s(self) -> float | None:
        """Output tokens per second of the whole deployment: counts if there are counts, else as reported."""
        if self.output_tokens is not None and self.wall_s:
            return self.output_tokens / self.wall_s
        return None if self.reported_throughput_tok_s is None else self.reported_throughput_tok_s.value

    @property
    def accept_length(self) -> float | None:
        """Tokens per verify step, bonus included: 1 + accepted / steps from counts, else as reported."""
        if self.verify_steps and self.accepted_drafts is not None:
            return 1 + self.accepted_drafts / self.verify_steps
        return None if self.reported_accept_length is None else self.reported_accept_length.value

    @property
    def accept_rate(self) -> float | None:
        """Accepted over proposed drafts, from counts only; a printed rate keeps its own convention."""
        if self.proposed_drafts and self.accepted_drafts is not None:
            return self.accepted_drafts / self.proposed_drafts
        return None

    @property
    def position_rates(self) -> tuple[float, ...] | None:
        """Unconditional acceptance per draft position, tail sums of the histogram over its total."""
        if not self.accepted_histogram or not sum(self.accepted_histogram):
            return None
        total = sum(self.accepted_histogram)
        return tuple(sum(self.accepted_histogram[i:]) / total for i in range(1, len(self.accepted_histogram)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRow:
    """One answered or failed request; texts are never kept, only a key."""

    prompt_key: str | None = None
    """Digest of the prompt, or a weaker key when the prompt is not at hand; equal keys mean the same prompt."""
    category: str | None = None
    """Prompt category."""
    concurrency: int | None = None
    """Streams in flight when it was sent."""
    repeat: int = 0
    """Repeat index."""
    input_tokens: int | None = None
    """Prompt tokens."""
    output_tokens: int | None = None
    """Generated tokens."""
    cached_input_tokens: int | None = None
    """Prompt tokens served from the prefix cache."""
    latency_s: float | None = None
    """End-to-end latency: the server's where it gives one, else the client's."""
    ttft_s: float | None = None
    """Time to first token."""
    verify_steps: int | None = None
    """SGLang `spec_verify_ct`."""
    accepted_drafts: int | None = None
    """SGLang `spec_num_correct_drafts`."""
    proposed_drafts: int | None = None
    """SGLang `spec_num_proposed_drafts`."""
    accepted_histogram: tuple[int, ...] | None = None
    """SGLang `spec_correct_drafts_histogram`."""
    finish_reason: str | None = None
    """`stop`, `length`, `abort`, ..."""
    error: str | None = None
    """Why it failed; None when it did not."""
