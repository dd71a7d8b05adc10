"""Inference engines: flag vocabulary, live servers, logs.

Everything but `fetch` is pure. Secrets are gone from whatever is returned; home folders and addresses stay, because the
paths must still be found: call `for_record` before a configuration is stored.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

from tracker.domain.redaction import redact_text
from tracker.domain.server import ServerConfig, SourceKind, Speculation
from tracker.engines import _own_parser
from tracker.engines._combine import combine_sources
from tracker.engines._environment import relevant_environment
from tracker.engines._launch import find_launches, parse_bare
from tracker.engines._masking import mask_config
from tracker.engines._own_parser import ParserAnswer
from tracker.engines._shell import Command, split_commands
from tracker.engines.base import Engine, LiveServer
from tracker.errors import InputError, ServerError, UsageError
from tracker.plugins import discover

__all__ = [
    "Engine",
    "LiveServer",
    "ParserAnswer",
    "ask_own_parser",
    "combine",
    "cuda_graph",
    "engines",
    "fetch",
    "for_record",
    "parse_argv",
    "parse_command",
    "parse_info",
    "parse_log",
    "relevant_environment",
    "speculation",
]

_KNOWN = "SGLang (`python -m sglang.launch_server`, `sglang serve`), vLLM (`vllm serve`), llama.cpp (`llama-server`)"


@cache
def engines() -> tuple[Engine, ...]:
    """Return all engines: SGLang first, because its description is the fullest."""
    found = discover("tracker.engines", "ENGINE")
    return tuple(cast(Engine, found[name]) for name in sorted(found, key=lambda name: (name != "sglang", name)))


def parse_command(text: str, *, where: str = "command line") -> ServerConfig:
    """Return what a shell command line, or a script that launches one server, asks for.

    Quotes, continuations, comments, variables of the script, environment prefixes and wrappers (docker, nohup, srun,
    `bash -c`) are understood; nothing is run. A bare list of flags is taken as well.

    Raises:
        InputError: It launches no known server, or more than one.
    """
    launches = list(find_launches(engines(), split_commands(text, where=where)))
    if len(launches) > 1:
        raise InputError(
            f"launches {len(launches)} servers", where=where, hint="Give the one command that ran the server measured."
        )
    if launches:
        return launches[0]
    bare = [command for command in split_commands(text, where=where) if command.words[0].startswith("-")]
    if len(bare) == 1:
        return dataclasses.replace(_bare(bare[0].words, where), sources=("command_line",))
    raise InputError("launches no server that is known", where=where, hint=f"Known: {_KNOWN}.")


def parse_argv(argv: Sequence[str], *, where: str = "argv") -> ServerConfig:
    """Return what a command line, given as a list of words, asks for.

    Raises:
        InputError: It launches no known server.
    """
    if not argv:
        raise InputError("is empty", where=where, hint="Give the words of the command that launched the server.")
    for launch in find_launches(engines(), (Command(words=tuple(argv)),)):
        return dataclasses.replace(launch, sources=("argv",))
    if argv[0].startswith("-"):
        return _bare(argv, where)
    raise InputError("launches no server that is known", where=where, hint=f"Known: {_KNOWN}.")


def parse_info(info: Mapping[str, Any], *, where: str = "server_info") -> ServerConfig:
    """Return the resolved configuration from a server's own description.

    Raises:
        InputError: No known engine describes itself so.
    """
    for engine in engines():
        if engine.claims_info(info):
            return engine.parse_info(info)
    keys = ", ".join(sorted(str(key) for key in info)[:5]) or "nothing"
    raise InputError(
        f"is no description of a known server (it holds {keys})",
        where=where,
        hint="Save what GET /server_info of the server answers.",
    )


def parse_log(text: str, *, where: str = "server log") -> ServerConfig:
    """Return the configuration that a server's start-up log states.

    Raises:
        InputError: The log has no line with the arguments.
    """
    for engine in engines():
        config = engine.parse_log(text)
        if config is not None:
            return config
    raise InputError(
        "has no line with the server's arguments",
        where=where,
        hint="Keep the first lines of the log: SGLang writes `server_args=...`, vLLM `non-default args: ...`.",
    )


def combine(configs: Sequence[tuple[SourceKind, ServerConfig]]) -> ServerConfig:
    """Return one configuration from several sources, with every difference between any two of them.

    Raises:
        UsageError: No source is given.
    """
    if not configs:
        raise UsageError(
            "no description of the server was given", hint="Give --server, --server-info, --argv or alike."
        )
    return combine_sources(configs)


def speculation(config: ServerConfig) -> Speculation | None:
    """Return the speculative part of a configuration; None when it says nothing either way."""
    engine = _engine_of(config)
    return None if engine is None else engine.speculation(config)


def cuda_graph(config: ServerConfig) -> bool | None:
    """Return whether decoding runs in CUDA graphs; None when the configuration does not say."""
    engine = _engine_of(config)
    return None if engine is None else engine.cuda_graph(config)


def for_record(config: ServerConfig) -> ServerConfig:
    """Return the configuration as it may be stored: home folders, hosts and addresses masked."""
    return mask_config(config)


def ask_own_parser(
    config: ServerConfig, *, python: str = sys.executable, timeout_s: float = 120.0
) -> ParserAnswer | None:
    """Return what the installed SGLang's own parser makes of the command; None where there is no SGLang or no command.

    Raises:
        ServerError: The parser's process takes too long or cannot be started.
    """
    engine = _engine_of(config)
    if engine is None or engine.name != "sglang" or not config.argv:
        return None
    span = engine.launch_span(config.argv)
    flags = config.argv[span[1] if span else 0 :]
    return _own_parser.ask_own_parser(config, flags, python=python, timeout_s=timeout_s)


def fetch(url: str, *, timeout_s: float = 5.0, api_key: str | None = None) -> LiveServer:
    """Return what a live server says about itself.

    Args:
        url: Address with or without scheme; a trailing `/v1` is taken off.
        timeout_s: Limit for connecting and for each read; an answer that drips is cut off at three times this.
        api_key: Sent as a bearer token to a server that asks for one.

    Raises:
        ServerError: Nothing answers there, or it is no inference server that is known.
    """
    import httpx

    base = _base_url(url)
    local = httpx.Timeout(timeout_s)
    loopback = "://127." in base or "://localhost" in base or "://[::1]" in base
    # A proxy set for the outside world must not stand between us and a server on this machine.
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else None
    with httpx.Client(timeout=local, follow_redirects=False, trust_env=not loopback, headers=headers) as client:
        for engine in engines():
            server = engine.fetch(client, base)
            if server is not None:
                return server
    raise ServerError(
        "answers, but is no inference server that is known",
        where=redact_text(base),
        hint="Expected /server_info (SGLang), /version (vLLM) or /props (llama.cpp) below this address.",
    )


def _bare(words: Sequence[str], where: str) -> ServerConfig:
    config = parse_bare(engines(), words)
    if config is None:
        raise InputError("holds no flag of a known server", where=where, hint=f"Known: {_KNOWN}.")
    return config


def _engine_of(config: ServerConfig) -> Engine | None:
    """Return the configuration's engine; one without a name is SGLang's where its fields are SGLang's."""
    for engine in engines():
        if engine.name == config.engine:
            return engine
    known = {*config.typed, *config.arguments}
    return engines()[0] if config.engine is None and "speculative_algorithm" in known else None


def _base_url(url: str) -> str:
    base = url.strip().rstrip("/")
    base = base if "://" in base else f"http://{base}"
    return base.removesuffix("/v1").rstrip("/")
