"""How a server ran, from whatever the user can name: a live URL, saved answers, a log, a command."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracker import engines
from tracker.domain.record import Attachment
from tracker.domain.redaction import clean_bytes
from tracker.domain.server import ServerConfig, SourceKind
from tracker.engines import LiveServer
from tracker.errors import InputError, TrackerError
from tracker.importers import _source
from tracker.load.interrupts import interrupts_held
from tracker.workflows.originals import MAX_ORIGINAL_BYTES
from tracker.workflows.originals_text import without_texts

LIVE_TIMEOUT_S = 5.0
# Servers print their arguments within the first lines; logs of a long run are too large to read as a whole.
LOG_HEAD_BYTES = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The options that say how a server runs."""

    url: str | None = None
    """Live server."""
    info_file: Path | None = None
    """Saved `/server_info` body."""
    log_file: Path | None = None
    """Start-up log."""
    argv_file: Path | None = None
    """JSON list, or one argument a line."""
    command: str | None = None
    """Launch command or script text; `@FILE`, or the name of a file that is there, reads it from the file."""
    api_key: str | None = field(default=None, repr=False)
    """Bearer token for a live server that asks for one; never stored."""

    @property
    def given(self) -> bool:
        """Whether any was named."""
        return any((self.url, self.info_file, self.log_file, self.argv_file, self.command))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """What the named sources say."""

    configs: tuple[tuple[SourceKind, ServerConfig], ...] = ()
    """One configuration a source, most trusted first."""
    attachments: tuple[Attachment, ...] = ()
    """The sources themselves, redacted."""
    model_path: str | None = None
    """Target as a live server names it."""


def read_sources(options: ServerOptions) -> ServerFacts:
    """Return what every named source says about the server.

    Raises:
        InputError: A file is missing or is not what its option says.
        ServerError: A live server does not answer.
    """
    configs: list[tuple[SourceKind, ServerConfig]] = []
    attachments: list[Attachment] = []
    model_path = None
    if options.url:
        live = engines.fetch(options.url, timeout_s=LIVE_TIMEOUT_S, api_key=options.api_key)
        configs.append(("server_info", live.config))
        model_path = live.model_path
        attachments += [Attachment(name=f"server/{name}", content=body) for name, body in sorted(live.bodies.items())]
    if options.info_file:
        text = _read(options.info_file, "--server-info")
        configs.append(
            ("server_info", engines.parse_info(_json_object(text, options.info_file), where=str(options.info_file)))
        )
        attachments.append(_attachment("server_info.json", text))
    if options.log_file:
        text = _read(options.log_file, "--server-log")
        configs.append(("log", engines.parse_log(text, where=str(options.log_file))))
        if len(text) <= MAX_ORIGINAL_BYTES:
            attachments.append(Attachment(name="server/server.log", content=clean_bytes(_without_requests(text))))
    if options.argv_file:
        configs.append(("argv", engines.parse_argv(_argv(options.argv_file), where=str(options.argv_file))))
    if options.command:
        configs.append(("command_line", read_command(options.command)))
    return ServerFacts(configs=tuple(configs), attachments=tuple(attachments), model_path=model_path)


def self_description(url: str, *, api_key: str | None = None) -> LiveServer | None:
    """Return what a server that is measured says about itself; None when it does not, which leaves it unknown."""
    try:
        with interrupts_held():
            return engines.fetch(url, api_key=api_key)
    except TrackerError:
        return None


def from_log_head(facts: ServerFacts, logs: Sequence[Path]) -> ServerFacts:
    """Return the facts with what server logs given as inputs state in their first lines; a log may not state it.

    Raises:
        InputError: A log cannot be read.
    """
    if any(kind == "log" for kind, _ in facts.configs):
        return facts
    configs = list(facts.configs)
    for path in logs:
        with _source.opened(path) as stream:
            head = stream.read(LOG_HEAD_BYTES).decode("utf-8", errors="replace")
        try:
            configs.append(("log", engines.parse_log(head)))
        except InputError:
            # A log of decode lines alone is welcome; it only does not say how the server was started.
            continue
    return dataclasses.replace(facts, configs=tuple(configs))


def _without_requests(text: str) -> bytes:
    """Return a log without what people asked, which servers log on request and vLLM before 0.6 did unasked."""
    return without_texts(text.encode()) or b""


def _attachment(name: str, text: str) -> Attachment:
    return Attachment(name=f"server/{name}", content=clean_bytes(text.encode()))


def _read(path: Path, option: str) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(
            f"cannot read the file given with {option}: {error.strerror}",
            where=str(path),
            hint="Check the path and its permissions.",
        ) from error


def read_command(text: str, *, option: str = "--server-cmd") -> ServerConfig:
    """Return what a launch command asks for: its text, `@FILE`, or the name of a script that is there.

    Args:
        text: What was typed.
        option: The option it was given to.

    Raises:
        InputError: The file cannot be read, or it launches no known server.
    """
    command, where = _command(text, option)
    return engines.parse_command(command, where=where)


def _command(text: str, option: str) -> tuple[str, str]:
    """Return the shell text and what to call it; one word that is a file is the file, as no launch is one word."""
    named = text.strip()
    if named.startswith("@"):
        return _read(Path(named[1:]).expanduser(), f"{option} @FILE"), named[1:]
    if named and len(named.split()) == 1 and Path(named).expanduser().is_file():
        return _read(Path(named).expanduser(), option), named
    return text, option


def _json_object(text: str, path: Path) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON: {error.msg}",
            where=f"{path}, line {error.lineno}",
            hint="Save the body of GET /server_info as it came.",
        ) from error
    if not isinstance(body, dict):
        raise InputError("not a JSON object", where=str(path), hint="Save the body of GET /server_info as it came.")
    return body


def _argv(path: Path) -> tuple[str, ...]:
    text = _read(path, "--argv").strip()
    if not text:
        raise InputError("the file is empty", where=str(path), hint="Give a JSON list, or one argument a line.")
    if not text.startswith("["):
        return tuple(line for line in text.splitlines() if line)
    try:
        argv = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"not a JSON list: {error.msg}", where=f"{path}, line {error.lineno}") from error
    if not isinstance(argv, list) or not all(isinstance(item, str) for item in argv):
        raise InputError("not a list of strings", where=str(path), hint='Write ["python", "-m", ...].')
    return tuple(argv)
