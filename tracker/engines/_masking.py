"""A configuration as it may be stored."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tracker.domain.redaction import mask_value
from tracker.domain.server import ServerConfig


def mask_config(config: ServerConfig) -> ServerConfig:
    """Return a copy with home folders, hosts and addresses masked in arguments, environment and differences."""
    differences = tuple(
        dataclasses.replace(item, first=mask_value(item.first, item.name), second=mask_value(item.second, item.name))
        for item in config.differences
    )
    return dataclasses.replace(
        config,
        argv=None if config.argv is None else _mask_argv(config.argv),
        typed=mask_value(config.typed),
        arguments=mask_value(config.arguments),
        environment=mask_value(config.environment),
        differences=differences,
    )


def _mask_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the words masked; the value of an address flag is masked by the flag's name."""
    words: list[str] = []
    flag = ""
    for word in argv:
        name, equals, value = word.partition("=")
        if word.startswith("--") and equals:
            words.append(f"{name}={mask_value(value, _field(name))}")
        else:
            words.append(mask_value(word, flag))
        flag = _field(name) if word.startswith("--") and not equals else ""
    return tuple(words)


def _field(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_")
