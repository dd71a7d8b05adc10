"""How a server ran: its flags as typed and as resolved, and what they say about speculation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

SourceKind = Literal["server_info", "log", "argv", "command_line", "typed", "campaign", "result_file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagDifference:
    """One argument on which two sources, or the typed and the resolved value, disagree."""

    name: str
    """The argument's name, e.g. `max_running_requests`."""
    first: str
    """Value in the first source, as text."""
    first_source: SourceKind
    """Where the first value came from."""
    second: str
    """Value in the second source, as text."""
    second_source: SourceKind
    """Where the second value came from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartupLog:
    """What a server's log says beyond its arguments."""

    is_whole: bool
    """Whether the log reaches from the arguments to the line that says the server is ready."""
    loaded_architectures: tuple[str, ...] = ()
    """Models loaded, target first, as SGLang's `Load weight end. ... type=` names them."""
    captured_layers: tuple[int, ...] | None = None
    """Target layers captured for the drafter, where the engine says so; None when no line does."""
    decode_lines: int = 0
    """Decode lines with an accept length, each over SGLang's decode log interval of 40 steps by default."""
    accept_length_mean: float | None = None
    """Plain mean of those lines' accept lengths, bonus token included; a symptom, not a measurement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """One server as it ran. Secrets are redacted before an instance is made."""

    engine: str | None = None
    """`sglang`, `vllm`, `llama.cpp`, or None when not known."""
    version: str | None = None
    """The engine's own version string."""
    argv: tuple[str, ...] | None = None
    """The command as launched, program first."""
    typed: Mapping[str, Any] = field(default_factory=dict)
    """Arguments parsed from argv or a command line, by field name (`speculative_num_steps`)."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Arguments as the server reports them, resolved, by field name."""
    differences: tuple[FlagDifference, ...] = ()
    """Typed against resolved, and source against source."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """NCCL_*, SGLANG_*, VLLM_*, CUDA_VISIBLE_DEVICES."""
    sources: tuple[SourceKind, ...] = ()
    """Where the facts came from, most trusted first."""
    unknown_flags: tuple[str, ...] = ()
    """Flags that our table does not know; kept in `typed` all the same."""
    flag_suggestions: Mapping[str, str] = field(default_factory=dict)
    """For unknown flags that look like a misspelling: the known flag they resemble."""
    startup: StartupLog | None = None
    """What the log says beyond the arguments; None without a log."""

    def get(self, name: str) -> Any:
        """Return argument `name` as resolved, else as typed, else None."""
        value = self.arguments.get(name)
        return self.typed.get(name) if value is None else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculation:
    """The speculative part of a configuration; `enabled` False is a plain server."""

    enabled: bool
    """Whether the server speculates at all."""
    algorithm: str | None = None
    """`EAGLE`, `EAGLE3`, `NEXTN`, `STANDALONE`, `NGRAM`, ... upper case, as given."""
    num_steps: int | None = None
    """Draft steps per verify step (SGLang `speculative_num_steps`)."""
    eagle_topk: int | None = None
    """Branches per draft step; 1 is a chain (SGLang `speculative_eagle_topk`)."""
    num_draft_tokens: int | None = None
    """Tokens verified per step, the slot of the current token included (SGLang `speculative_num_draft_tokens`)."""
    draft_model_path: str | None = None
    """Draft model as given to the server."""
    accept_threshold_single: float | None = None
    """Below 1.0 the output is no longer lossless."""
    accept_threshold_acc: float | None = None
    """Below 1.0 the output is no longer lossless."""
    simulated_accept_length: float | None = None
    """Set when acceptance was forced (SGLANG_SIMULATE_ACC_LEN, vLLM synthetic rejection): step time only."""

    @property
    def max_accept_length(self) -> int | None:
        """Most tokens one verify step can yield, bonus included: num_steps + 1; None when num_steps is unknown."""
        return None if self.num_steps is None else self.num_steps + 1

    @property
    def proposed_per_step(self) -> int | None:
        """Draft tokens proposed per verify step: num_draft_tokens - 1, else num_steps for a chain; None if unknown."""
        if self.num_draft_tokens is not None:
            return self.num_draft_tokens - 1
        return self.num_steps if self.eagle_topk == 1 else None
