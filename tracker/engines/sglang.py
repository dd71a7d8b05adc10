"""SGLang: its command line, its own descriptions of itself, and its live endpoints.

Read in the wheels 0.4.5 to 0.5.23; `/server_info` since 0.5.8, `/get_server_info` before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from tracker.domain.redaction import redact_argv, redact_mapping
from tracker.domain.server import ServerConfig, Speculation
from tracker.engines._environment import relevant_environment
from tracker.engines._literals import read_fields
from tracker.engines._sglang_flags import sglang_flags
from tracker.engines._sglang_live import fetch_sglang
from tracker.engines._startup import read_startup
from tracker.errors import InputError

if TYPE_CHECKING:
    import httpx

    from tracker.engines.base import LiveServer

# Parts of /server_info that are state or provenance, not arguments.
_NOT_ARGUMENTS = frozenset(
    {"internal_states", "version", "startup_time", "launch_command", "frontend", "kv_events", "status"}
)
# Live facts of the first rank that have no argument of their own.
_RANK_FACTS = ("effective_max_running_requests_per_dp", "decode_cuda_graph_bs")
# Arguments that POST /set_internal_state changes while the server runs.
_LIVE_ARGUMENTS = ("speculative_accept_threshold_single", "speculative_accept_threshold_acc")
_LOG_ARGUMENTS = re.compile(r"server_args=(?:ServerArgs(?=\()|(?=\{))")


class SGLang:
    """Engine `sglang`."""

    name = "sglang"

    def launch_span(self, argv: Sequence[str]) -> tuple[int, int] | None:
        """Return the span of `python -m sglang.launch_server`, `sglang serve` or `.../launch_server.py`."""
        for index, word in enumerate(argv):
            previous = argv[index - 1] if index else ""
            if word == "sglang.launch_server" and previous == "-m":
                return max(index - 2, 0), index + 1
            if word == "serve" and PurePosixPath(previous).name == "sglang":
                return index - 1, index + 1
            if word.endswith("sglang/launch_server.py"):
                return (index - 1 if "python" in previous else index), index + 1
        return None

    def claims_argv(self, argv: Sequence[str]) -> bool:
        """Return whether the command launches SGLang."""
        return self.launch_span(argv) is not None

    def knows_flag(self, name: str) -> bool:
        """Return whether some version has the flag."""
        return sglang_flags().resolve(name) is not None

    def parse_argv(self, argv: Sequence[str]) -> ServerConfig:
        """Return what a command line asks for; words before the program are left out of the flags only."""
        words = redact_argv(argv)
        span = self.launch_span(words)
        parsed = sglang_flags().parse(words[span[1] if span else 0 :])
        values = dict(parsed.values)
        if parsed.positionals and "model_path" not in values:
            values["model_path"] = parsed.positionals[0]
        return ServerConfig(
            engine=self.name,
            argv=words,
            typed=values,
            sources=("argv",),
            unknown_flags=parsed.unknown,
            flag_suggestions=parsed.suggestions,
        )

    def claims_info(self, info: Mapping[str, Any]) -> bool:
        """Return whether this is a `/server_info` body or a dump of ServerArgs."""
        return "model_path" in info and any(
            key in info for key in ("internal_states", "mem_fraction_static", "speculative_algorithm", "tp_size")
        )

    def parse_info(self, info: Mapping[str, Any]) -> ServerConfig:
        """Return the resolved arguments; values changed at run time win, `launch_command` becomes argv."""
        cleaned = redact_mapping(info)
        listed = cleaned.get("internal_states")
        states = [state for state in listed if isinstance(state, Mapping)] if isinstance(listed, list) else []
        first = states[0] if states else {}
        arguments = {key: value for key, value in cleaned.items() if key not in _NOT_ARGUMENTS}
        arguments |= {key: first[key] for key in (*_RANK_FACTS, *_LIVE_ARGUMENTS) if first.get(key) is not None}
        launched = self._launched(info.get("launch_command"))
        variables = first.get("env_vars")
        return ServerConfig(
            engine=self.name,
            version=_text(cleaned.get("version")),
            argv=launched.argv if launched else None,
            typed=launched.typed if launched else {},
            unknown_flags=launched.unknown_flags if launched else (),
            flag_suggestions=launched.flag_suggestions if launched else {},
            arguments=arguments,
            environment=relevant_environment(variables) if isinstance(variables, Mapping) else {},
            sources=("server_info",),
        )

    def parse_log(self, text: str) -> ServerConfig | None:
        """Return the arguments of the last `server_args=` line, in both spellings: `ServerArgs(...)` and a dict."""
        for match in reversed(list(_LOG_ARGUMENTS.finditer(text))):
            end = text.find("\n", match.end())
            line = text[match.end() : end if end >= 0 else len(text)]
            arguments = read_fields(line, 0, "=" if line[:1] == "(" else ":")
            if arguments:
                return ServerConfig(
                    engine=self.name,
                    arguments=redact_mapping(arguments),
                    sources=("log",),
                    startup=read_startup(text[match.start() :]),
                )
        return None

    def speculation(self, config: ServerConfig) -> Speculation | None:
        """Return the speculative part; a full description without an algorithm is a plain server."""
        algorithm = _algorithm(config)
        simulated = _number(config.environment.get("SGLANG_SIMULATE_ACC_LEN"))
        if algorithm is None:
            return Speculation(enabled=False) if _says_all(config, "speculative_algorithm") else None
        return Speculation(
            enabled=True,
            algorithm=algorithm,
            num_steps=_whole(config.get("speculative_num_steps")),
            eagle_topk=_whole(config.get("speculative_eagle_topk")),
            num_draft_tokens=_whole(config.get("speculative_num_draft_tokens")),
            draft_model_path=_text(config.get("speculative_draft_model_path")),
            accept_threshold_single=_number(config.get("speculative_accept_threshold_single")),
            accept_threshold_acc=_number(config.get("speculative_accept_threshold_acc")),
            simulated_accept_length=simulated if simulated is not None and simulated > 0 else None,
        )

    def cuda_graph(self, config: ServerConfig) -> bool | None:
        """Return whether decode batches are captured; the old flag, its successors and the resolved value are read."""
        decode = _decode_graph(config.get("cuda_graph_config"))
        if decode is not None:
            return decode != "disabled"
        if config.get("disable_cuda_graph") is True or config.get("disable_decode_cuda_graph") is True:
            return False
        if config.get("cuda_graph_backend_decode") == "disabled" or config.get("device") == "cpu":
            return False
        return True if _says_all(config, "disable_cuda_graph") else None

    def fetch(self, client: httpx.Client, url: str) -> LiveServer | None:
        """Return what a live SGLang server says."""
        return fetch_sglang(self, client, url)

    def _launched(self, command: Any) -> ServerConfig | None:
        """Return the typed arguments of `launch_command`, a text or a list depending on the version."""
        from tracker.engines._shell import split_commands

        if isinstance(command, str) and command.strip():
            try:
                commands = split_commands(command, where="launch_command")
            except InputError:
                return None
            return self.parse_argv(commands[0].words) if commands else None
        if isinstance(command, (list, tuple)) and all(isinstance(word, str) for word in command) and command:
            return self.parse_argv(command)
        return None


def _algorithm(config: ServerConfig) -> str | None:
    """Return the algorithm as given: `NEXTN` stays, although the server resolves it to `EAGLE`."""
    typed, resolved = (
        _text(config.typed.get("speculative_algorithm")),
        _text(config.arguments.get("speculative_algorithm")),
    )
    if typed and typed.upper() == "NEXTN" and (resolved is None or resolved.upper() == "EAGLE"):
        return "NEXTN"
    chosen = resolved or typed
    return chosen.upper() if chosen and chosen.lower() not in ("none", "null") else None


def _says_all(config: ServerConfig, name: str) -> bool:
    """Return whether an absent argument means its default: a whole command line, or a description that lists it."""
    whole_command = config.argv is not None and not config.argv[0].startswith("-")
    return whole_command or name in config.arguments


def _decode_graph(graph_config: Any) -> str | None:
    """Return the decode backend of `cuda_graph_config` (0.5.15+), else None."""
    decode = graph_config.get("decode") if isinstance(graph_config, Mapping) else None
    backend = decode.get("backend") if isinstance(decode, Mapping) else None
    return backend if isinstance(backend, str) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: Any) -> float | None:
    try:
        return None if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None


ENGINE = SGLang()
