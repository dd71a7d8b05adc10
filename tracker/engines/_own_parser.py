"""SGLang's own argument parser, asked in a process of its own, where SGLang is installed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracker.domain.redaction import redact_text
from tracker.domain.server import ServerConfig
from tracker.engines._combine import same_value
from tracker.errors import ServerError

_MARK = "tracker-parsed:"
_VERSION_MARK = "tracker-version:"
# Importing sglang brings torch along; its parser looks at nothing but the words. A renamed flag and its old name are
# two actions with one destination, of which argparse takes the first one's default (seen with 0.5.17).
_SCRIPT = f"""
import argparse, json, sys
try:
    from sglang.srt.server_args import ServerArgs
    import importlib.metadata as metadata
except ImportError as error:
    sys.exit(f"no sglang: {{error}}")
try:
    version = metadata.version("sglang")
except metadata.PackageNotFoundError:
    version = None
print({_VERSION_MARK!r} + json.dumps(version), flush=True)
parser = argparse.ArgumentParser(prog="sglang")
ServerArgs.add_cli_args(parser)
found = vars(parser.parse_args(json.load(sys.stdin)))
defaults = {{}}
for action in parser._actions:
    defaults.setdefault(action.dest, []).append(action.default)
given = {{name: value for name, value in found.items() if value not in defaults.get(name, [None])}}
print({_MARK!r} + json.dumps(given, default=str))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserAnswer:
    """What the installed SGLang makes of a command line."""

    version: str | None
    """Its version."""
    refusal: str | None = None
    """Its error, when it does not take the command line."""
    disagreements: tuple[str, ...] = ()
    """Arguments that it reads otherwise than we do, in words."""


def ask_own_parser(config: ServerConfig, flags: Sequence[str], *, python: str, timeout_s: float) -> ParserAnswer | None:
    """Return what SGLang's parser says; None where SGLang is not installed for this Python.

    Args:
        config: Our reading of the command.
        flags: The words after the program, secrets redacted.
        python: Interpreter that has SGLang.
        timeout_s: Limit; importing SGLang can take half a minute.

    Raises:
        ServerError: The process takes too long or cannot be started.
    """
    try:
        done = subprocess.run(
            [python, "-c", _SCRIPT],
            input=json.dumps(list(flags)),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServerError(
            f"SGLang's own parser did not answer ({type(error).__name__})",
            where=python,
            hint="Check that this Python can import sglang, or leave its parser out.",
        ) from error
    version, given = (_said(done.stdout, mark) for mark in (_VERSION_MARK, _MARK))
    if given is not None:
        return ParserAnswer(version=version, disagreements=_disagreements(config.typed, given))
    last = redact_text(done.stderr.strip().splitlines()[-1]) if done.stderr.strip() else f"exit code {done.returncode}"
    return None if last.startswith("no sglang") else ParserAnswer(version=version, refusal=last)


def _said(output: str, mark: str) -> Any:
    line = next((text for text in output.splitlines() if text.startswith(mark)), None)
    return None if line is None else json.loads(line.removeprefix(mark))


def _disagreements(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the arguments read differently; a value equal to SGLang's default is not in `theirs` and not compared."""
    return tuple(
        f"{name} is read as {ours.get(name)!r}, SGLang reads {theirs[name]!r}"
        for name in sorted(theirs)
        if not same_value(ours.get(name), theirs[name])
    )
