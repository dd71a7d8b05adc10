"""llama.cpp's server: its command line and its live `/props`.

Flags as in tools/server/README.md of b10068; `--draft-max` and its like are the names before `--spec-draft-n-max`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from tracker.domain.redaction import clean_bytes, redact_argv, redact_mapping
from tracker.domain.server import ServerConfig, Speculation
from tracker.engines._flags import Flag, FlagKind, FlagTable
from tracker.engines._http import get
from tracker.engines.base import LiveServer

if TYPE_CHECKING:
    import httpx

_PROGRAMS = frozenset({"llama-server", "llama-server.exe"})
# field -> kind and spellings
_FLAGS: dict[str, tuple[FlagKind, str]] = {
    "model": ("str", "-m --model"),
    "hf_repo": ("str", "-hf -hfr --hf-repo"),
    "draft_model": ("str", "-md --model-draft --spec-draft-model"),
    "spec_type": ("str", "--spec-type"),
    "draft_n_max": ("int", "--draft-max --draft --draft-n --spec-draft-n-max"),
    "draft_n_min": ("int", "--draft-min --draft-n-min --spec-draft-n-min"),
    "draft_p_min": ("float", "--draft-p-min --spec-draft-p-min"),
    "draft_p_split": ("float", "--draft-p-split --spec-draft-p-split"),
    "gpu_layers": ("str", "-ngl --gpu-layers --n-gpu-layers"),
    "draft_gpu_layers": ("str", "-ngld --gpu-layers-draft --n-gpu-layers-draft"),
    "context_length": ("int", "-c --ctx-size"),
    "draft_context_length": ("int", "-cd --ctx-size-draft"),
    "parallel": ("int", "-np --parallel"),
    "batch_size": ("int", "-b --batch-size"),
    "ubatch_size": ("int", "-ub --ubatch-size"),
    "flash_attn": ("str?", "-fa --flash-attn"),
    "cache_type_k": ("str", "-ctk --cache-type-k"),
    "cache_type_v": ("str", "-ctv --cache-type-v"),
    "host": ("str", "--host"),
    "port": ("int", "--port"),
    "api_key": ("str", "--api-key"),
    "threads": ("int", "-t --threads"),
    "device": ("str", "-dev --device"),
    "draft_device": ("str", "-devd --device-draft"),
    "jinja": ("bool", "--jinja"),
    "metrics": ("bool", "--metrics"),
    "no_mmap": ("bool", "--no-mmap"),
    "alias": ("str", "-a --alias"),
    "temperature": ("float", "--temp --temperature"),
}


@cache
def _table() -> FlagTable:
    flags = {
        name: Flag(name=name, field=field, kind=kind)
        for field, (kind, names) in _FLAGS.items()
        for name in names.split()
    }
    return FlagTable(flags)


class LlamaCpp:
    """Engine `llama.cpp`."""

    name = "llama.cpp"

    def launch_span(self, argv: Sequence[str]) -> tuple[int, int] | None:
        """Return the span of the program's name, on any system."""
        for index, word in enumerate(argv):
            if {PurePosixPath(word).name, PureWindowsPath(word).name} & _PROGRAMS:
                return index, index + 1
        return None

    def claims_argv(self, argv: Sequence[str]) -> bool:
        """Return whether the command launches llama.cpp's server."""
        return self.launch_span(argv) is not None

    def knows_flag(self, name: str) -> bool:
        """Return whether the flag is in our table."""
        return _table().resolve(name) is not None

    def parse_argv(self, argv: Sequence[str]) -> ServerConfig:
        """Return what a command line asks for."""
        words = redact_argv(argv)
        span = self.launch_span(words)
        parsed = _table().parse(words[span[1] if span else 0 :])
        return ServerConfig(
            engine=self.name,
            argv=words,
            typed=parsed.values,
            sources=("argv",),
            unknown_flags=parsed.unknown,
            flag_suggestions=parsed.suggestions,
        )

    def claims_info(self, info: Mapping[str, Any]) -> bool:
        """Return whether this is a `/props` body."""
        return "default_generation_settings" in info

    def parse_info(self, info: Mapping[str, Any]) -> ServerConfig:
        """Return what `/props` says; it does not name the draft model."""
        cleaned = redact_mapping(info)
        settings = cleaned.get("default_generation_settings")
        arguments = {"model": cleaned.get("model_path"), "parallel": cleaned.get("total_slots")}
        if isinstance(settings, Mapping):
            arguments["context_length"] = settings.get("n_ctx")
        build = cleaned.get("build_info")
        return ServerConfig(
            engine=self.name,
            version=build if isinstance(build, str) else None,
            arguments=arguments,
            sources=("server_info",),
        )

    def parse_log(self, text: str) -> ServerConfig | None:
        """Return None: the log does not state the arguments in one place."""
        del text
        return None

    def speculation(self, config: ServerConfig) -> Speculation | None:
        """Return the speculative part; `--spec-draft-n-max` is the number of drafted tokens."""
        draft, kind = config.get("draft_model"), config.get("spec_type")
        if draft is None and kind in (None, "none"):
            return (
                Speculation(enabled=False) if config.argv is not None and not config.argv[0].startswith("-") else None
            )
        steps = config.get("draft_n_max")
        steps = steps if isinstance(steps, int) else None
        return Speculation(
            enabled=True,
            algorithm=kind.upper() if isinstance(kind, str) else "DRAFT-SIMPLE",
            num_steps=steps,
            eagle_topk=1,
            num_draft_tokens=None if steps is None else steps + 1,
            draft_model_path=draft if isinstance(draft, str) else None,
        )

    def cuda_graph(self, config: ServerConfig) -> bool | None:
        """Return None: a build option and the backend decide, not a flag."""
        del config
        return None

    def fetch(self, client: httpx.Client, url: str) -> LiveServer | None:
        """Return what a live llama.cpp server says in `/props`."""
        props = get(client, url + "/props")
        if props is None or not self.claims_info(described := props.json_object()):
            return None
        metrics = get(client, url + "/metrics")
        bodies = {"props.json": clean_bytes(props.body)}
        if metrics is not None:
            bodies["metrics.prom"] = clean_bytes(metrics.body)
        path = described.get("model_path")
        return LiveServer(
            config=self.parse_info(described), model_path=path if isinstance(path, str) else None, bodies=bodies
        )


ENGINE = LlamaCpp()
