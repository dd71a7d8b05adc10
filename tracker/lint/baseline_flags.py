"""A baseline that differs in more than speculation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracker.domain.finding import Finding
from tracker.domain.server import ServerConfig
from tracker.lint.base import Subject

# They say where a server listens and what it writes, not how fast it is.
_IRRELEVANT = frozenset(
    {
        "port", "host", "api_key", "admin_api_key", "served_model_name", "nccl_port", "log_level", "log_level_http",
        "log_requests", "random_seed", "enable_metrics", "decode_log_interval", "dist_init_addr", "watchdog_timeout",
        "disable_log_stats", "disable_log_requests", "launch_command", "startup_time", "metrics", "alias",
    }
)  # fmt: skip
# llama.cpp's names for what SGLang and vLLM call speculative_*.
_SPECULATIVE = ("speculative_", "spec_", "draft_")
_SHOWN = 6


class BaselineFlags:
    """The server to compare with was launched with other flags beyond speculation.

    Then the speed-up is of all differences together. The usual ones: `--max-running-requests`, which SGLang sets to 48
    under speculation only; CUDA graph sizes; memory fraction; tensor parallelism; torch compile in one arm. Flags that
    only say where a server listens or what it logs are left out.

    Sources: sgl-project/sglang issue 4543 (torch compile in the baseline only); SGLang 0.4.5 to 0.5.23
    (max_running_requests); the list of pitfalls in public benchmark threads.
    """

    codes = ("BASELINE_FLAGS_DIFFER",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding with all flags that differ."""
        if subject.server is None or subject.baseline is None:
            return
        apart = list(_differences(subject.server, subject.baseline))
        if apart:
            more = f" and {len(apart) - _SHOWN} more" if len(apart) > _SHOWN else ""
            yield Finding(
                code=self.codes[0],
                severity="warning",
                message=f"Beyond speculation the baseline differs in {'; '.join(apart[:_SHOWN])}{more}.",
                fix="Launch both with the same flags but for --speculative-*, and measure the baseline again.",
                confidence="high",
            )


def _differences(server: ServerConfig, baseline: ServerConfig) -> Iterator[str]:
    for name in ("engine", "version"):
        one, other = getattr(server, name), getattr(baseline, name)
        if one is not None and other is not None and one != other:
            yield f"{name} ({one}, baseline {other})"
    resolved = bool(server.arguments) and bool(baseline.arguments)
    ours, theirs = (_known(config, resolved=resolved) for config in (server, baseline))
    names = ours.keys() & theirs.keys() if resolved else ours.keys() | theirs.keys()
    for name in sorted(names):
        one, other = ours.get(name), theirs.get(name)
        if not _same(one, other):
            yield f"{name} ({_shown(one)}, baseline {_shown(other)})"
    for name in sorted(server.environment.keys() | baseline.environment.keys()):
        one, other = server.environment.get(name), baseline.environment.get(name)
        if one != other and not name.startswith(("SGLANG_ENABLE_SPEC", "SGLANG_SIMULATE")):
            yield f"{name} ({_shown(one)}, baseline {_shown(other)})"


def _known(config: ServerConfig, *, resolved: bool) -> Mapping[str, Any]:
    values = config.arguments if resolved else {**config.arguments, **config.typed}
    return {
        name: value for name, value in values.items() if name not in _IRRELEVANT and not name.startswith(_SPECULATIVE)
    }


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) or str(one).lower() == str(other).lower()


def _shown(value: Any) -> str:
    text = "not given" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


RULE = BaselineFlags()
