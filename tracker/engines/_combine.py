"""Several sources on one server, brought together and held against each other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from tracker.domain.server import FlagDifference, ServerConfig, SourceKind
from tracker.engines._sglang_flags import OLDER_FIELDS, OLDER_VALUES

# Most trusted first: what a running server says, its log, what launched it, what somebody wrote down.
TRUST: tuple[SourceKind, ...] = ("server_info", "result_file", "log", "argv", "command_line", "typed", "campaign")
# A whole command line: a flag that it lacks was not given.
_WHOLE: frozenset[SourceKind] = frozenset({"argv", "command_line"})
# Set anew at every start or refer to the machine, not to the configuration.
_VOLATILE = frozenset({"random_seed", "startup_time", "internal_states"})
NOT_GIVEN = "(not given)"

Source = tuple[SourceKind, ServerConfig]


def combine_sources(configs: Sequence[Source]) -> ServerConfig:
    """Return one configuration: for each argument the most trusted source's value, and every disagreement."""
    ranked = sorted(configs, key=lambda source: TRUST.index(source[0]))
    arguments: dict[str, Any] = {}
    typed: dict[str, Any] = {}
    environment: dict[str, str] = {}
    for _, config in reversed(ranked):
        arguments |= config.arguments
        typed |= config.typed
        environment |= config.environment
    found = [difference for pair in combinations(ranked, 2) for difference in _between(*pair)]
    own = [difference for kind, config in ranked for difference in (*config.differences, *_inside(kind, config))]
    return ServerConfig(
        engine=next((config.engine for _, config in ranked if config.engine), None),
        version=next((config.version for _, config in ranked if config.version), None),
        argv=next((config.argv for _, config in ranked if config.argv), None),
        typed=typed,
        arguments=arguments,
        differences=tuple(dict.fromkeys([*own, *found])),
        environment=dict(sorted(environment.items())),
        sources=tuple(dict.fromkeys(kind for kind, _ in ranked)),
        unknown_flags=tuple(dict.fromkeys(flag for _, config in ranked for flag in config.unknown_flags)),
        flag_suggestions={name: known for _, config in ranked for name, known in config.flag_suggestions.items()},
        startup=next((config.startup for _, config in ranked if config.startup is not None), None),
    )


def _inside(kind: SourceKind, config: ServerConfig) -> Iterator[FlagDifference]:
    """Yield typed against resolved inside one source, e.g. `launch_command` against the arguments it came with."""
    yield from _compare(config.typed, "typed" if kind == "typed" else "argv", config.arguments, kind)


def _between(first: Source, second: Source) -> Iterator[FlagDifference]:
    """Yield every disagreement of two sources; the less interpreted value (typed) comes first."""
    (kind_a, a), (kind_b, b) = first, second
    yield from _compare(a.arguments, kind_a, b.arguments, kind_b)
    yield from _compare(a.typed, kind_a, b.arguments, kind_b)
    yield from _compare(b.typed, kind_b, a.arguments, kind_a)
    yield from _compare(a.typed, kind_a, b.typed, kind_b)
    if kind_a in _WHOLE and kind_b in _WHOLE:
        for name in sorted(a.typed.keys() ^ b.typed.keys()):
            yield FlagDifference(
                name=name,
                first=_show(a.typed[name]) if name in a.typed else NOT_GIVEN,
                first_source=kind_a,
                second=_show(b.typed[name]) if name in b.typed else NOT_GIVEN,
                second_source=kind_b,
            )
    for whole, kind, server, told_by in ((a, kind_a, b, kind_b), (b, kind_b, a, kind_a)):
        yield from _speculates_unasked(whole, kind, server, told_by)
    for name in sorted(a.environment.keys() & b.environment.keys()):
        if a.environment[name] != b.environment[name]:
            yield FlagDifference(
                name=name,
                first=a.environment[name],
                first_source=kind_a,
                second=b.environment[name],
                second_source=kind_b,
            )
    for name in ("engine", "version"):
        one, other = getattr(a, name), getattr(b, name)
        if one and other and one != other:
            yield FlagDifference(name=name, first=one, first_source=kind_a, second=other, second_source=kind_b)


def _speculates_unasked(
    command: ServerConfig, kind: SourceKind, server: ServerConfig, told_by: SourceKind
) -> Iterator[FlagDifference]:
    """Yield the algorithm of a server whose whole command line asks for none: it was launched by another one.

    Other arguments that a command line lacks have the server's own defaults; this one has none (SGLang 0.5.17,
    server_args.py).
    """
    algorithm = server.arguments.get("speculative_algorithm")
    if kind in _WHOLE and command.typed and algorithm and "speculative_algorithm" not in command.typed:
        yield FlagDifference(
            name="speculative_algorithm",
            first=NOT_GIVEN,
            first_source=kind,
            second=_show(algorithm),
            second_source=told_by,
        )


def _compare(
    first: Mapping[str, Any], first_source: SourceKind, second: Mapping[str, Any], second_source: SourceKind
) -> Iterator[FlagDifference]:
    for name in sorted(first):
        other = name if name in second else _other_name(name, second)
        if other is None or name in _VOLATILE or same_value(first[name], second[other]):
            continue
        yield FlagDifference(
            name=name,
            first=_show(first[name]),
            first_source=first_source,
            second=_show(second[other]),
            second_source=second_source,
        )


def _other_name(name: str, values: Mapping[str, Any]) -> str | None:
    """Return the name under which another version has the same argument, if `values` has it."""
    older = OLDER_FIELDS.get(name)
    if older in values:
        return older
    return next((new for new, old in OLDER_FIELDS.items() if old == name and new in values), None)


def same_value(one: Any, other: Any) -> bool:
    """Return whether two values mean the same: 3 and 3.0, `eagle3` and `EAGLE3`, a list and a tuple."""
    if one is None or other is None:
        return one is other  # unset against set is worth knowing
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return all(same_value(one[key], other[key]) for key in one.keys() & other.keys())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(same_value(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, str) and isinstance(other, str):
        return OLDER_VALUES.get(one, one).lower() == OLDER_VALUES.get(other, other).lower()
    return bool(one == other) or str(one) == str(other)


def _show(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError):
        return str(value)
