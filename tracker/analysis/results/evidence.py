"""Evidence: rows, break-even, verdicts and causes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from tracker.domain.estimate import Estimate
from tracker.domain.finding import Finding
from tracker.domain.record import Role

LoadStatus = Literal["faster", "slower", "undecided"]
VerdictStatus = Literal["faster", "slower", "undecided", "mixed"]
Level = Literal["equivalent", "different", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The reporting window, resolved."""

    since: datetime
    """Start, UTC."""
    until: datetime
    """End, UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Flags that decide the step time: a server's configuration without its drafter."""

    label: str
    """Short human label, e.g. `EAGLE3 3-1-4, CUDA graph`; unique inside a campaign."""
    speculative: bool
    """False for a plain server."""
    algorithm: str | None = None
    """Speculative algorithm."""
    num_steps: int | None = None
    """Draft steps."""
    eagle_topk: int | None = None
    """Branches per step."""
    num_draft_tokens: int | None = None
    """Tokens verified per step."""
    cuda_graph: bool | None = None
    """Decode in CUDA graphs."""
    other_flags: Mapping[str, str] = field(default_factory=dict)
    """Further flags that differ inside the campaign and touch speed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadPart:
    """One independent source of an interval; parts add as squares."""

    name: str
    """E.g. `noise between runs`."""
    sd: float
    """Relative standard deviation."""
    df: float
    """Degrees of freedom behind it; infinite when assumed or exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """Accept length at which a configuration is as fast as the baseline: step_time_spec / step_time_base."""

    value: float
    """Break-even accept length."""
    low: float
    """80 %: rounding, prompts, repeats, spread between runs, baseline drift."""
    high: float
    """80 %, upper."""
    rounding_low: float | None
    """From the rounding of printed figures alone; None when counts were at hand."""
    rounding_high: float | None
    """From rounding alone, upper."""
    parts: tuple[SpreadPart, ...] = ()
    """What the interval is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One run at one concurrency: a row of the evidence table."""

    run_id: str
    """Store id."""
    name: str
    """Run name."""
    role: Role | None
    """baseline or candidate."""
    configuration: Configuration
    """Flags without the drafter."""
    concurrency: int | None
    """Streams."""
    drafter: str | None = None
    """Drafter name."""
    samples: int | None = None
    """Training samples of the drafter."""
    throughput_tok_s: Estimate = Estimate()
    """Output tokens per second of the deployment."""
    accept_length: Estimate = Estimate()
    """Bonus included; interval from prompts and repeats."""
    accept_length_rounding: tuple[float, float] | None = None
    """Range left open by rounding: printed length, intersected with length implied by the printed rate."""
    accept_rate: float | None = None
    """Accepted over proposed drafts."""
    step_time_ms: Estimate = Estimate()
    """Milliseconds per verify step (per token for a plain server)."""
    step_time_rounding_ms: tuple[float, float] | None = None
    """Range left open by rounding."""
    speedup: Estimate = Estimate()
    """Against the baseline of the same concurrency, on the prompts in common."""
    break_even: BreakEven | None = None
    """From this row and the baseline alone."""
    needs_fraction: float | None = None
    """How much the accept length must grow to break even: break_even / accept_length - 1."""
    reachable: bool | None = None
    """Whether break-even is at most num_steps + 1; None when num_steps is unknown."""
    reachable_note: str | None = None
    """E.g. `unreachable if it ran with 2 steps`."""
    record_id: str = ""
    """Identity of the run in every store: decides ties, which the store's own ids must not."""
    prompts: int | None = None
    """Distinct prompts."""
    requests: int | None = None
    """Answered requests."""
    wall_s: float | None = None
    """Wall time of the measured passes together."""
    is_news: bool = True
    """Logged inside the window; older runs are evidence only."""
    measured_at: datetime | None = None
    """When it was measured."""
    deployed: bool = False
    """Whether this is what runs in production now."""
    step_time_only: bool = False
    """Simulated acceptance: serves step time only."""
    excluded_reason: str | None = None
    """Why the row leaves every fit; it stays in the table."""
    output_tokens: int | None = None
    """Generated tokens behind the row, where they were counted."""
    verify_steps: int | None = None
    """Verify steps behind it."""
    accepted_drafts: int | None = None
    """Accepted draft tokens behind it."""
    busy_s: float | None = None
    """Sum of the server's latencies over requests."""
    prefill_s: float | None = None
    """Mean seconds to the first token of a request, where they were measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillCorrection:
    """Break-even without the prompt's share, and what end-to-end targets need with it."""

    break_even: float
    """Step time over step time, decoding only: what an accept length must reach for equal speed end to end."""
    baseline_prefill_fraction: float
    """Share of a baseline request's time until its first token."""
    required: Mapping[str, float | None] = field(default_factory=dict)
    """Accept length for end-to-end speed-ups, keys as in `ConfigurationCost.required`; None where prefill alone takes
    longer."""
    end_to_end: float | None = None
    """Accept length at which whole requests take as long as the baseline's, whatever prefill takes on either side;
    `break_even` where it takes equally long. None where prefill alone takes longer."""
    prefill_fraction: float = 0.0
    """Share of a baseline request's time that prefill takes with speculation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationCost:
    """Break-even of one configuration at one concurrency, pooled over drafters."""

    configuration: Configuration
    """Flags without the drafter."""
    concurrency: int | None
    """Streams."""
    break_even: BreakEven
    """Pooled."""
    step_time_ms: Estimate
    """Pooled step time."""
    baseline_step_time_ms: Estimate
    """Step time of the baseline it is compared with."""
    run_ids: tuple[str, ...]
    """Runs behind it, the baseline's last."""
    between_run_fraction: float | None
    """Relative standard deviation of step time over runs of this configuration; None below two runs."""
    best_accept_length: Estimate
    """Best accept length measured on it."""
    reachable: bool | None
    """Break-even at most num_steps + 1."""
    reachable_note: str | None = None
    """Words beside `reachable`."""
    required: Mapping[str, float] = field(default_factory=dict)
    """Accept length for target speed-ups, keys `1.1`, `1.3`, `1.5`."""
    required_reachable: Mapping[str, bool | None] = field(default_factory=dict)
    """Whether each of them is at most num_steps + 1; None when num_steps is unknown."""
    prefill: PrefillCorrection | None = None
    """None where the time to the first token is not known on both sides."""
    attribution_run_id: str | None = None
    """Fastest plain run with the same other flags: what speculation alone changed; None when there is none."""
    attribution_ratio: float | None = None
    """Step time over that run's, where it can be computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainBar:
    """What a drafter must yield with a chain of one length at one load, measured or predicted; no drafter needed."""

    concurrency: int | None
    """Streams."""
    num_steps: int
    """Draft steps; draft tokens are one more."""
    like: Configuration
    """Measured configuration whose other flags it shares; itself where it was measured."""
    measured: bool
    """Whether its step time was measured rather than predicted."""
    break_even: BreakEven
    """Accept length of equal speed, 80 %: what is not known of the measured steps, and the model's error."""
    reachable: bool
    """Break-even at most num_steps + 1."""
    acceptance: float | None
    """First-position acceptance of a drafter, decaying as usual, that just breaks even; None where out of reach."""
    required: Mapping[str, float]
    """Accept length for target speed-ups, keys as in `ConfigurationCost.required`."""
    baseline_tok_s: float | None
    """Output tok/s of the plain server at this load."""
    basis: str
    """What the break-even rests on."""
    run_ids: tuple[str, ...] = ()
    """Runs behind it, the baseline's last."""

    def tok_s(self, accept_length: float) -> float | None:
        """Return the output tok/s that an accept length would give; None without the plain server's speed."""
        return None if self.baseline_tok_s is None else self.baseline_tok_s * accept_length / self.break_even.value


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadVerdict:
    """The verdict at one concurrency."""

    concurrency: int | None
    """Streams."""
    status: LoadStatus
    """On the measured prompts."""
    best_run_id: str | None
    """Fastest usable candidate."""
    baseline_run_id: str | None
    """Baseline to beat; None when there is none."""
    speedup: Estimate
    """Best candidate over baseline."""
    smallest_detectable: float | None
    """Smallest relative effect these data could have shown, e.g. 0.09."""
    reason: str | None = None
    """Why undecided, or what the interval rests on."""
    prompts_in_common: int | None = None
    """Prompts that both runs answered; None when not known per request."""
    smallest_detectable_note: str | None = None
    """What `smallest_detectable` means, in a sentence with the number; to be shown wherever the number is."""
    equivalence: Level | None = None
    """Two one-sided 95 % tests against `equivalence_margin`; a difference may be real and still equivalent."""
    equivalence_margin: float | None = None
    """Differences below it are called equivalent, e.g. 0.02."""
    equivalence_note: str | None = None
    """The same in a sentence."""
    parts: tuple[SpreadPart, ...] = ()
    """What the interval of `speedup` is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict of a campaign."""

    status: VerdictStatus
    """mixed when loads differ."""
    scope: str
    """What it holds for, e.g. `these 5 prompts, 1 stream, 8 x RTX PRO 6000`."""
    decision_concurrency: int | None
    """The load that matters."""
    by_concurrency: tuple[LoadVerdict, ...]
    """One verdict a load."""
    population_speedup: Estimate = Estimate()
    """At the decision load, for prompts like these rather than these prompts: the separate, wider statement."""
    population_note: str | None = None
    """What the number of prompts can and cannot show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RootCause:
    """A misconfiguration that explains void results."""

    finding: Finding
    """What the lint found."""
    run_ids: tuple[str, ...]
    """Affected runs."""
    fixed: bool
    """Whether a later healthy run uses the corrected flag with the same drafter."""
    fixed_run_id: str | None
    """That run."""
    accept_length_before: Estimate
    """With the wrong flag."""
    accept_length_after: Estimate
    """With the right one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One sentence about the data or an assumption."""

    topic: str
    """E.g. `baseline`, `noise between runs`, `not recorded`."""
    message: str
    """The sentence."""
    run_ids: tuple[str, ...] = ()
    """Runs it concerns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedClaim:
    """A number stated before, against the data."""

    message: str
    """E.g. `The earlier estimate of 2.5 lies between ...`."""
    run_ids: tuple[str, ...] = ()
    """Runs it was checked with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFinding:
    """One finding together with the runs that share it."""

    finding: Finding
    """The finding."""
    run_ids: tuple[str, ...]
    """Runs."""
