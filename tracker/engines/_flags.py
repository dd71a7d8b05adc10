"""Flags of an engine's command line, and how argparse reads them."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

FlagKind = Literal["str", "int", "float", "bool", "optbool", "ints", "strs", "json", "str?", "int?"]

# Two letters wrong in a flag of fifteen; a word more or less is another flag.
_CLOSE = 0.88
# Each is compared with hundreds; nobody misspells more.
_LOOKED_UP = 50
_NUMBER = re.compile(r"-\d+(?:\.\d+)?")
_HUMAN_INT = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[kKmMgG])")
_UNITS = {"k": 1000, "m": 1000**2, "g": 1000**3, "K": 1024, "M": 1024**2, "G": 1024**3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One spelling of an argument."""

    name: str
    """As typed, dashes included: `--speculative-num-steps`."""
    field: str
    """The server's own name for the argument: `speculative_num_steps`."""
    kind: FlagKind
    """How its value is read."""
    default: Any = None
    """Value when it is not given; None also where the server chooses one."""
    since: str = ""
    """First version known to have it; empty when not known."""
    until: str = ""
    """Last version known to have it; empty when the newest known one does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedFlags:
    """What a command line's words say."""

    values: Mapping[str, Any]
    """By field name; the last one wins, as in argparse. Unknown flags are kept under their own name."""
    unknown: tuple[str, ...]
    """Flags the table does not know, as typed."""
    positionals: tuple[str, ...]
    """Words that belong to no flag."""
    suggestions: Mapping[str, str] = field(default_factory=dict)
    """For unknown flags: the known one they resemble."""


@dataclass(frozen=True, slots=True)
class FlagTable:
    """The flags of one engine."""

    flags: Mapping[str, Flag]
    """By name."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Abbreviations people use that are ambiguous in some version, and what they mean."""
    underscores: bool = False
    """Whether `--a_b` means `--a-b`, as in vLLM's parser."""

    def resolve(self, name: str) -> Flag | None:
        """Return the flag meant by a name as typed: exact, an alias, or an unambiguous abbreviation; else None."""
        if self.underscores and name.startswith("--"):
            name = "--" + name[2:].replace("_", "-")
        exact = self.flags.get(name) or self.flags.get(self.aliases.get(name, ""))
        if exact is not None or not name.startswith("--") or len(name) < 4:
            return exact
        for candidates in (  # the newest version's parser first, then the older ones'
            [flag for flag in self.flags.values() if flag.name.startswith(name) and not flag.until],
            [flag for flag in self.flags.values() if flag.name.startswith(name)],
        ):
            if len({flag.field for flag in candidates}) == 1:
                return candidates[0]
        return None

    def parse(self, words: Sequence[str]) -> ParsedFlags:
        """Return what the words after the program say; nothing is dropped."""
        values: dict[str, Any] = {}
        unknown: list[str] = []
        positionals: list[str] = []
        index = 0
        while index < len(words):
            word = words[index]
            index += 1
            if not word.startswith("-") or word == "-" or _NUMBER.fullmatch(word):
                positionals.append(word)
                continue
            name, equals, attached = word.partition("=")
            flag = self.resolve(name)
            if flag is None:
                unknown.append(name)
            taken = [attached] if equals else _values_after(words, index, _arity(flag))
            index += 0 if equals else len(taken)
            key = flag.field if flag is not None else name.lstrip("-").replace("-", "_")
            values[key] = _read(flag, name, taken)
        nearest = {name: found for name in unknown[:_LOOKED_UP] if (found := self.nearest(name)) is not None}
        return ParsedFlags(values=values, unknown=tuple(unknown), positionals=tuple(positionals), suggestions=nearest)

    def nearest(self, name: str) -> str | None:
        """Return the known flag that a misspelt one resembles, a current one first; None when none is close."""
        current = [flag.name for flag in self.flags.values() if not flag.until]
        for names in (current, list(self.flags)):
            close = difflib.get_close_matches(name, names, n=1, cutoff=_CLOSE)
            if close:
                return close[0]
        return None


def _arity(flag: Flag | None) -> str:
    """Return how many words a flag takes: none, one, optional, many."""
    if flag is None or flag.kind.endswith("?"):
        return "optional"
    if flag.kind in ("bool", "optbool"):
        return "none"
    return "many" if flag.kind in ("ints", "strs") else "one"


def _values_after(words: Sequence[str], start: int, arity: str) -> list[str]:
    if arity == "none":
        return []
    taken: list[str] = []
    for word in words[start:]:
        if word.startswith("-") and word != "-" and not _NUMBER.fullmatch(word):
            break
        taken.append(word)
        if arity != "many":
            break
    return taken


def _read(flag: Flag | None, name: str, taken: Sequence[str]) -> Any:
    """Return a flag's value in its own type; text that does not fit the type stays text."""
    if flag is None:
        return _guess(taken[0]) if taken else True
    if flag.kind in ("bool", "optbool"):
        if taken:
            return taken[0].lower() not in ("false", "0", "no")
        return not (flag.kind == "optbool" and name.startswith("--no-"))
    if not taken:
        return True if flag.kind.endswith("?") else None
    if flag.kind in ("ints", "strs"):
        return [_convert(flag.kind[:-1], text) for text in taken]
    return _convert(flag.kind.rstrip("?"), taken[0])


def _convert(kind: str, text: str) -> Any:
    readers: dict[str, Callable[[str], Any]] = {"int": _read_int, "float": float, "json": json.loads}
    try:
        return readers[kind](text) if kind in readers else text
    except (ValueError, OverflowError, RecursionError):
        return text


def _read_int(text: str) -> int:
    human = _HUMAN_INT.fullmatch(text)
    return int(float(human["number"]) * _UNITS[human["unit"]]) if human else int(text)


def _guess(text: str) -> Any:
    """Return an unknown flag's value as a number or a JSON object where it reads as one, else as text."""
    for kind in ("int", "float"):
        value = _convert(kind, text)
        if not isinstance(value, str):
            return value
    return _convert("json", text) if text[:1] in "{[" else text
