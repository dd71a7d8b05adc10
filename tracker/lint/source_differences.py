"""Sources on one server that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.domain.server import FlagDifference
from tracker.lint.base import Subject

_TYPED = frozenset({"argv", "command_line", "typed", "campaign"})
# Asked to be chosen by the server, or rewritten to a full path: no contradiction.
_NOT_GIVEN = "(not given)"
_LEFT_OPEN = frozenset({"auto", "null", "none", "", _NOT_GIVEN})
_PATHS = frozenset({"model_path", "tokenizer_path", "speculative_draft_model_path", "model", "served_model_name"})
_SHOWN = 24


class SourceDifferences:
    """Two descriptions of one server disagree, or the server overwrote what was typed.

    A number in a command is what was wanted; what ran is what the server reports. Where both are known, a difference
    is either a value that this version overwrites silently, or a sign that the command and the server do not belong
    together. Two sources of the same sort that disagree are certainly not of one server.

    Sources: SGLang overwrites num_draft_tokens, max_running_requests, page sizes and more, with other rules in other
    versions (server_args.py, 0.4.5 to 0.5.23); the founding campaign, whose flag nobody had compared.
    """

    codes = ("FLAG_OVERWRITTEN", "SERVER_SOURCES_DIFFER")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding for every value overwritten and every value on which two sources disagree."""
        if subject.server is None:
            return
        telling = [item for item in subject.server.differences if not _harmless(item)]
        for item in telling[:_SHOWN]:
            overwritten = (item.first_source in _TYPED) != (item.second_source in _TYPED) and not _unasked(item)
            yield _overwritten(item) if overwritten else _contradiction(item)
        if len(telling) > _SHOWN:
            names = ", ".join(dict.fromkeys(item.name for item in telling[_SHOWN:]))
            yield Finding(
                code="SERVER_SOURCES_DIFFER",
                severity="warning",
                message=f"{len(telling) - _SHOWN} more differences: {names}.",
                fix="So many differences mean that the sources belong to two servers: keep those of one.",
                confidence="high",
            )


def _overwritten(item: FlagDifference) -> Finding:
    asked, runs = (item.first, item.second) if item.first_source in _TYPED else (item.second, item.first)
    flag = f"--{item.name.replace('_', '-')}"
    return Finding(
        code="FLAG_OVERWRITTEN",
        severity="warning",
        message=f"The server does not run what was typed: {item.name} is {runs}, {asked} was typed.",
        fix=f"Type what is to run ({flag} {runs}); or, if the command belongs to another server, leave it away.",
        confidence="high",
    )


def _contradiction(item: FlagDifference) -> Finding:
    return Finding(
        code="SERVER_SOURCES_DIFFER",
        severity="warning",
        message=f"Two descriptions of the server disagree: {item.name} is {item.first} ({_named(item.first_source)}) "
        f"and {item.second} ({_named(item.second_source)}).",
        fix="Keep the sources of one server only.",
        confidence="high",
    )


def _named(source: str) -> str:
    """Return what the user calls a source."""
    return {
        "argv": "--argv",
        "command_line": "--server-cmd",
        "server_info": "/server_info",
        "log": "the log",
        "campaign": "campaign.toml",
        "result_file": "the result file",
        "typed": "typed",
    }[source]


def _unasked(item: FlagDifference) -> bool:
    """Return whether a server speculates although its command does not ask for it, which no default brings about."""
    return item.name == "speculative_algorithm" and _NOT_GIVEN in (item.first, item.second)


def _harmless(item: FlagDifference) -> bool:
    values = {item.first.lower(), item.second.lower()}
    if _unasked(item):
        return False
    if item.name == "speculative_algorithm" and values <= {"nextn", "eagle", "frozen_kv_mtp"}:
        return True
    if item.name in _PATHS and any(
        one.rstrip("/").endswith(other.rstrip("/")) for one in values for other in values - {one}
    ):
        return True
    typed_only = item.first_source in _TYPED and item.second_source in _TYPED
    return not typed_only and bool(values & _LEFT_OPEN)


RULE = SourceDifferences()
