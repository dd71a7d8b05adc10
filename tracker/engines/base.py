"""What an engine is: its flag vocabulary and its endpoints.

A new engine is one module here with a constant `ENGINE`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tracker.domain.server import ServerConfig, Speculation

if TYPE_CHECKING:
    import httpx  # costs 0.1 s to import; only a live server needs it


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveServer:
    """What a running server says about itself."""

    config: ServerConfig
    """Resolved configuration; secrets already redacted."""
    model_path: str | None = None
    """Target as the server names it."""
    bodies: Mapping[str, bytes] = field(default_factory=dict)
    """Raw answers by file name (`server_info.json`, `metrics.prom`), cleaned, to be kept as attachments."""


class Engine(Protocol):
    """One inference engine."""

    name: str
    """`sglang`, `vllm`, ..."""

    def launch_span(self, argv: Sequence[str]) -> tuple[int, int] | None:
        """Return where the program and where its flags begin in a command line; None when it launches another."""
        ...

    def claims_argv(self, argv: Sequence[str]) -> bool:
        """Return whether this command line launches this engine."""
        ...

    def knows_flag(self, name: str) -> bool:
        """Return whether this engine has a flag of this name, abbreviations included."""
        ...

    def parse_argv(self, argv: Sequence[str]) -> ServerConfig:
        """Return the configuration a command line asks for; unknown flags are kept and named, never dropped."""
        ...

    def claims_info(self, info: Mapping[str, Any]) -> bool:
        """Return whether this body is this engine's own description of itself."""
        ...

    def parse_info(self, info: Mapping[str, Any]) -> ServerConfig:
        """Return the resolved configuration from the engine's own description."""
        ...

    def parse_log(self, text: str) -> ServerConfig | None:
        """Return the configuration a start-up log states; None when it states none of this engine."""
        ...

    def speculation(self, config: ServerConfig) -> Speculation | None:
        """Return the speculative part; None when the configuration says nothing either way."""
        ...

    def cuda_graph(self, config: ServerConfig) -> bool | None:
        """Return whether decoding runs in CUDA graphs; None when the configuration does not say."""
        ...

    def fetch(self, client: httpx.Client, url: str) -> LiveServer | None:
        """Return what a live server says; None when it is another engine's.

        Raises:
            ServerError: The server does not answer, or answers nonsense.
        """
        ...
