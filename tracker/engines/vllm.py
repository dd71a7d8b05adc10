"""vLLM: its command line with JSON `--speculative-config`, its start-up log, and its live endpoints.

vLLM counts drafted tokens (K); in the common terms of a record that is num_steps = K and num_draft_tokens = K + 1,
because SGLang's count includes the slot of the current token (vllm PR 16035).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from tracker.domain.redaction import redact_argv, redact_mapping
from tracker.domain.server import ServerConfig, Speculation
from tracker.engines._environment import relevant_environment
from tracker.engines._literals import read_fields, read_literal
from tracker.engines._startup import read_startup
from tracker.engines._vllm_flags import vllm_flags
from tracker.engines._vllm_live import fetch_vllm

if TYPE_CHECKING:
    import httpx

    from tracker.engines.base import LiveServer

_MODULE = "vllm.entrypoints.openai.api_server"
_IMAGE = re.compile(r"(?:^|/)vllm-openai(?::|@|$)")  # its entry point is the API server
_LOG_ARGUMENTS = re.compile(r"(?:non-default args:\s*(?=\{)|(?<![\w.])args:\s*Namespace(?=\())")
_LOG_VERSION = re.compile(r"(?:vLLM API server version|LLM engine \(v)\s*(\d[\w.+]*)")
_ENGINE_FIELDS = ("speculative_config", "model", "dtype", "max_seq_len", "tensor_parallel_size", "kv_cache_dtype")


class VLLM:
    """Engine `vllm`."""

    name = "vllm"

    def launch_span(self, argv: Sequence[str]) -> tuple[int, int] | None:
        """Return the span of `vllm serve`, `python -m vllm.entrypoints.openai.api_server`, or the server's image."""
        for index, word in enumerate(argv):
            previous = argv[index - 1] if index else ""
            if word == "serve" and PurePosixPath(previous).name == "vllm":
                return index - 1, index + 1
            if word == _MODULE and previous == "-m":
                return max(index - 2, 0), index + 1
        for index, word in enumerate(argv):
            if _IMAGE.search(word) and "run" in argv[:index]:
                return index, index + 1
        return None

    def claims_argv(self, argv: Sequence[str]) -> bool:
        """Return whether the command launches vLLM."""
        return self.launch_span(argv) is not None

    def knows_flag(self, name: str) -> bool:
        """Return whether the flag is in our table."""
        return vllm_flags().resolve(name) is not None

    def parse_argv(self, argv: Sequence[str]) -> ServerConfig:
        """Return what a command line asks for; dotted flags (`--speculative-config.method eagle3`) are gathered."""
        words = redact_argv(argv)
        span = self.launch_span(words)
        parsed = vllm_flags().parse(words[span[1] if span else 0 :])
        values, dotted = _gather(parsed.values)
        if parsed.positionals and "model" not in values:
            values["model"] = parsed.positionals[0]
        unknown = tuple(name for name in parsed.unknown if name not in dotted)
        return ServerConfig(
            engine=self.name,
            argv=words,
            typed=values,
            sources=("argv",),
            unknown_flags=unknown,
            flag_suggestions={name: parsed.suggestions[name] for name in unknown if name in parsed.suggestions},
        )

    def claims_info(self, info: Mapping[str, Any]) -> bool:
        """Return whether this is the `/server_info` body of a vLLM server in development mode."""
        return "vllm_config" in info

    def parse_info(self, info: Mapping[str, Any]) -> ServerConfig:
        """Return the configuration; vLLM gives it as JSON or as its repr, depending on `config_format`."""
        cleaned = redact_mapping(info)
        config = cleaned["vllm_config"]
        if isinstance(config, str):
            config = _fields(config)
        arguments = dict(config) if isinstance(config, Mapping) else {}
        variables = cleaned.get("vllm_env")
        version = arguments.get("version") or cleaned.get("version")
        return ServerConfig(
            engine=self.name,
            version=version if isinstance(version, str) else None,
            arguments=arguments,
            environment=relevant_environment(variables) if isinstance(variables, Mapping) else {},
            sources=("server_info",),
        )

    def parse_log(self, text: str) -> ServerConfig | None:
        """Return the last start's arguments: `non-default args: {...}`, `args: Namespace(...)`, engine line."""
        typed: dict[str, Any] = {}
        started = 0
        for match in _LOG_ARGUMENTS.finditer(text):
            started = match.start()
            line = _line(text, match.end())
            typed = read_fields(line, 0, "=" if line[:1] == "(" else ":") or typed
        versions = _LOG_VERSION.findall(text)
        engine_line = [match.end() for match in re.finditer(r"LLM engine \([^)]*\) with config: ", text)]
        resolved = _fields(_line(text, engine_line[-1])) if engine_line else {}
        arguments = {name: resolved[name] for name in _ENGINE_FIELDS if name in resolved}
        if not typed and not versions and not arguments:
            return None
        return ServerConfig(
            engine=self.name,
            version=versions[-1].rstrip(".") if versions else None,
            typed=redact_mapping(typed),
            arguments=redact_mapping(arguments),
            sources=("log",),
            startup=read_startup(text[started:]),
        )

    def speculation(self, config: ServerConfig) -> Speculation | None:
        """Return the speculative part in common terms; a whole command line without one is a plain server."""
        settings = speculative_settings(config)
        if settings is None:
            says_all = config.argv is not None and not config.argv[0].startswith("-")
            if says_all and "speculator" in str(config.get("model")).lower():
                return None  # a model that brings its drafter along: only its files can tell
            return Speculation(enabled=False) if says_all or "speculative_config" in config.arguments else None
        steps = _whole(settings.get("num_speculative_tokens"))
        model = settings.get("model")
        synthetic = settings.get("synthetic_acceptance_length")
        forced = settings.get("rejection_sample_method") == "synthetic" and isinstance(synthetic, (int, float))
        return Speculation(
            enabled=True,
            algorithm=_algorithm(settings),
            num_steps=steps,
            eagle_topk=1 if steps is not None else None,
            num_draft_tokens=None if steps is None else steps + 1,
            draft_model_path=model if isinstance(model, str) else None,
            simulated_accept_length=float(synthetic) if forced and synthetic is not None else None,
        )

    def cuda_graph(self, config: ServerConfig) -> bool | None:
        """Return whether decoding runs in CUDA graphs; `--enforce-eager`, `-O0`, `cudagraph_mode` NONE turn it off."""
        compilation = config.get("compilation_config")
        mode = compilation.get("cudagraph_mode") if isinstance(compilation, Mapping) else None
        if config.get("enforce_eager") is True or config.get("optimization_level") == 0 or mode in ("NONE", 0):
            return False
        return True if config.argv is not None and not config.argv[0].startswith("-") else None

    def fetch(self, client: httpx.Client, url: str) -> LiveServer | None:
        """Return what a live vLLM server says."""
        return fetch_vllm(self, client, url)


def speculative_settings(config: ServerConfig) -> Mapping[str, Any] | None:
    """Return `speculative_config` as a mapping, whichever way it was given; None when there is none."""
    value = config.get("speculative_config")
    if isinstance(value, Mapping):
        drafted = value.get("num_speculative_tokens", value.get("num_spec_tokens"))  # the repr has its own name
        return {**value, "num_speculative_tokens": drafted}
    old = {  # flags before 0.9
        "model": config.get("speculative_model"),
        "num_speculative_tokens": config.get("num_speculative_tokens"),
    }
    return {key: item for key, item in old.items() if item is not None} or None


def _algorithm(settings: Mapping[str, Any]) -> str | None:
    """Return the method in upper case; vLLM infers one from the draft model where none is given."""
    method = settings.get("method")
    if isinstance(method, str) and method:
        return method.upper()
    model = settings.get("model")
    if model in ("ngram", "[ngram]"):
        return "NGRAM"
    return None


def _gather(values: Mapping[str, Any]) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the values with `speculative_config.method` and its like folded into one mapping, and the flags folded."""
    flat: dict[str, Any] = {}
    folded: set[str] = set()
    for key, value in values.items():
        head, dot, tail = key.partition(".")
        if not dot:
            flat[key] = value
            continue
        holder = flat.setdefault(head, {})
        if isinstance(holder, dict):
            holder[tail] = value
            folded |= {f"--{key}", f"--{head.replace('_', '-')}.{tail}"}
    return flat, frozenset(folded)


def _fields(text: str) -> dict[str, Any]:
    """Return the `name=value` pairs of a repr without its outer bracket."""
    return read_fields(f"({text})", 0, "=")


def _line(text: str, start: int) -> str:
    end = text.find("\n", start)
    return text[start : end if end >= 0 else len(text)]


def _whole(value: Any) -> int | None:
    value = read_literal(value) if isinstance(value, str) else value
    return value if isinstance(value, int) and not isinstance(value, bool) else None


ENGINE = VLLM()
