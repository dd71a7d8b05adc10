"""Shell text split into simple commands: quotes, continuations, comments, variables, redirections."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from tracker.errors import InputError

_CONTINUATION = re.compile(r"\\[ \t]*\r?\n")
# Quoted strings first, so that `#` and `>` inside them stay.
_PIECES = re.compile(
    r"""(?P<kept>'[^']*'|"(?:[^"\\]|\\.)*"|\\.)|(?P<comment>(?<!\S)\#[^\n]*)"""
    r"""|(?P<redirect>(?<!\S)(?:\d|&)?>{1,2}(?:&\d|[ \t]*[^\s;|&]+))""",
    re.DOTALL,
)
_SEPARATORS = ";|&\n"
MAX_WORD = 1_000_000
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)(?::?-(?P<default>[^}]*))?\})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One simple command of a script."""

    words: tuple[str, ...]
    """Program and arguments, variables of the script filled in."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables in force: exported before, or set in front of the command."""


def split_commands(text: str, *, where: str = "command line") -> tuple[Command, ...]:
    """Return the simple commands of a shell line or script, in order.

    Loops and conditions are not run: their words are kept, which is enough to find the command inside.

    Raises:
        InputError: A quote is never closed.
    """
    flat = _PIECES.sub(lambda match: match["kept"] or "", _CONTINUATION.sub(" ", text))
    lexer = shlex.shlex(flat, posix=True, punctuation_chars=_SEPARATORS)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError as error:
        raise InputError(
            f"the shell text cannot be split into words ({error})",
            where=where,
            hint="Check the quotes; or give the words as a JSON list in a file with --argv FILE.",
        ) from error
    return tuple(_commands(tokens))


def _commands(tokens: list[str]) -> list[Command]:
    variables: dict[str, str] = {}
    commands: list[Command] = []
    words: list[str] = []
    for token in [*tokens, "\n"]:
        if not token or token.strip(_SEPARATORS):
            words.append(token)
            continue
        if words:
            command = _simple(words, variables)
            if command is not None:
                commands.append(command)
        words = []
    return commands


def _simple(words: list[str], variables: dict[str, str]) -> Command | None:
    """Return a command with its variables; None for one that only sets variables, which are kept in `variables`."""
    expanded = [part for word in words for part in _expand(word, variables)]
    if expanded[:1] in (["export"], ["set"], ["declare"], ["local"], ["readonly"]):
        expanded = [word for word in expanded[1:] if _ASSIGNMENT.fullmatch(word)]
    own: dict[str, str] = {}
    while expanded and (assignment := _ASSIGNMENT.fullmatch(expanded[0])):
        own[assignment["name"]] = assignment["value"]
        expanded = expanded[1:]
    if not expanded:
        variables.update(own)
        return None
    return Command(words=tuple(expanded), environment={**variables, **own})


def _expand(word: str, variables: Mapping[str, str]) -> list[str]:
    """Return a word with the script's own variables filled in; a variable of the outer world stays as written."""
    whole = _VARIABLE.fullmatch(word)

    def value(match: re.Match[str]) -> str:
        return variables.get(match["plain"] or match["braced"], match["default"] or match[0])

    if sum(len(value(match)) for match in _VARIABLE.finditer(word)) > MAX_WORD:
        raise InputError(
            f"a word grows beyond {MAX_WORD} characters when its variables are filled in",
            where="command line",
            hint="Give the words of the command as a JSON list in a file with --argv FILE.",
        )
    text = _VARIABLE.sub(value, word)
    if whole is None or text == word:
        return [text]
    try:
        parts = shlex.split(text)
    except ValueError:
        return [text]
    # Whether the variable was quoted is lost here: one that holds flags was meant to be split, a path with a space not.
    return parts if not parts or any(part.startswith("-") for part in parts) else [text]
