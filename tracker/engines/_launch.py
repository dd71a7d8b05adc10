"""The command that launches a server, found among wrappers, prefixes and other commands."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from tracker.domain.server import ServerConfig
from tracker.engines._environment import relevant_environment
from tracker.engines._shell import Command, split_commands
from tracker.engines.base import Engine

_SHELLS = frozenset({"bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/usr/bin/bash"})


def find_launches(engines: Sequence[Engine], commands: Sequence[Command], *, depth: int = 0) -> Iterator[ServerConfig]:
    """Yield the servers that the commands launch; a command inside `bash -c '...'` is looked into."""
    for command in commands:
        inner = _inner_script(command.words)
        if inner is not None and depth < 3:
            nested = [
                Command(words=item.words, environment={**command.environment, **item.environment})
                for item in split_commands(inner)
            ]
            yield from find_launches(engines, nested, depth=depth + 1)
            continue
        for engine in engines:
            span = engine.launch_span(command.words)
            if span is not None:
                config = engine.parse_argv(command.words[span[0] :])
                environment = {**command.environment, **_settings(command.words[: span[0]])}
                yield dataclasses.replace(
                    config, environment=relevant_environment(environment), sources=("command_line",)
                )
                break


def _inner_script(words: Sequence[str]) -> str | None:
    for index, word in enumerate(words[:-2]):
        if word in _SHELLS and words[index + 1].startswith("-") and words[index + 1].endswith("c"):
            return words[index + 2]
    return None


def _settings(words: Sequence[str]) -> dict[str, str]:
    """Return the variables set by `env A=1`, `docker run -e A=1` and their like before the program."""
    pairs = (word.removeprefix("--env=").removeprefix("-e").partition("=") for word in words if "=" in word)
    return {name: value for name, _, value in pairs if name.isidentifier()}


def parse_bare(engines: Sequence[Engine], words: Sequence[str]) -> ServerConfig | None:
    """Return the configuration of flags without a program, read as the engine that knows most of them; None if none."""
    names = [word.partition("=")[0] for word in words if word.startswith("--")]
    scores = [(sum(engine.knows_flag(name) for name in names), engine) for engine in engines]
    known, engine = max(scores, key=lambda scored: scored[0])
    return engine.parse_argv(words) if known else None
