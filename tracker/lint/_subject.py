"""Facts that several rules read from a subject."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tracker.domain.measurement import Measurement
from tracker.domain.server import ServerConfig
from tracker.lint.base import Subject

# SGLang keeps a chain or tree of EAGLE-style drafts for these.
EAGLE_FAMILY = frozenset({"EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "FROZEN_KV_MTP"})
# Fewer verify steps than this say nothing about acceptance: SGLang itself folds its counter in every 40.
MIN_VERIFY_STEPS = 40
# `EAGLE3-LLaMA3.3-70B`, `kimi-k2.5-eagle3`; not `EAGLE-llama3-8b` and not `eagle-3b`.
NAMED_EAGLE3 = re.compile(r"(?i)eagle[-_]?3(?![\d.]|b\b)")


def is_speculative(subject: Subject) -> bool:
    """Return whether the server is known to speculate."""
    return subject.speculation is not None and subject.speculation.enabled


def algorithm(subject: Subject) -> str | None:
    """Return the algorithm of a server that speculates, upper case."""
    if subject.speculation is None or not subject.speculation.enabled or subject.speculation.algorithm is None:
        return None
    return subject.speculation.algorithm.upper()


def engine(subject: Subject) -> str | None:
    """Return the engine's name; None when not known."""
    return None if subject.server is None else subject.server.engine


def runs_on(subject: Subject, *names: str) -> bool:
    """Return whether the engine is one of these; a server without a name counts as SGLang."""
    return (engine(subject) or "sglang") in names


def argument(subject: Subject, *names: str) -> Any:
    """Return the first of these arguments that is set, resolved before typed; None when none is."""
    if subject.server is None:
        return None
    return next((value for name in names if (value := subject.server.get(name)) is not None), None)


def typed(subject: Subject, name: str) -> Any:
    """Return an argument as typed; None when it was not."""
    return None if subject.server is None else subject.server.typed.get(name)


def known_unset(server: ServerConfig, name: str) -> bool:
    """Return whether the command line is known and does not give this argument."""
    return server.argv is not None and not server.argv[0].startswith("-") and name not in server.typed


def concurrency(subject: Subject) -> int | None:
    """Return the highest load that is asked for or was measured; None when not known."""
    loads = list(subject.workload.concurrencies) if subject.workload is not None else []
    loads += [cell.concurrency for cell in subject.measurements if cell.concurrency is not None]
    return max(loads, default=None)


def pooled(subject: Subject) -> tuple[Measurement, ...]:
    """Return the cells that pool repeats and categories; all cells when a source gives no pooled ones."""
    cells = tuple(cell for cell in subject.measurements if cell.category is None and cell.repeat is None)
    return cells or subject.measurements


def accept_length_is_forced(subject: Subject) -> bool:
    """Return whether acceptance was simulated, so that it says nothing about the drafter."""
    return subject.speculation is not None and subject.speculation.simulated_accept_length is not None


def lowest_accept_length(subject: Subject) -> float | None:
    """Return the lowest measured accept length that rests on enough steps or on a printed figure; None without one.

    Where nothing was measured, the mean of the server log's own decode lines stands in.
    """
    if accept_length_is_forced(subject):
        return None
    lengths = [
        cell.accept_length
        for cell in pooled(subject)
        if cell.accept_length is not None and (cell.verify_steps is None or cell.verify_steps >= MIN_VERIFY_STEPS)
    ]
    if not lengths and not subject.measurements:
        return logged_accept_length(subject)
    return min(lengths, default=None)


def logged_accept_length(subject: Subject) -> float | None:
    """Return the mean accept length of the server log's decode lines; None below two lines, each of 40 steps."""
    startup = None if subject.server is None else subject.server.startup
    return None if startup is None or startup.decode_lines < 2 else startup.accept_length_mean


def drafter_name(subject: Subject) -> str | None:
    """Return what the draft model is called: its description's name, else the path given to the server."""
    if subject.drafter is not None and subject.drafter.name:
        return subject.drafter.name
    return subject.speculation.draft_model_path if subject.speculation is not None else None


def target_name(subject: Subject) -> str | None:
    """Return what the target is called: its description's name, else the path given to the server."""
    if subject.target is not None and subject.target.name:
        return subject.target.name
    named = argument(subject, "model_path", "model")
    return named if isinstance(named, str) else None


def version(server: ServerConfig | None) -> tuple[int, ...] | None:
    """Return the engine's version as numbers, `0.5.3.post3` as (0, 5, 3); None when not known."""
    match = re.match(r"v?(\d{1,9}(?:\.\d{1,9})*)", server.version or "") if server is not None else None
    return tuple(int(part) for part in match[1].split(".")) if match else None


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a mapping, empty for anything else."""
    return value if isinstance(value, Mapping) else {}


def listed(parts: Iterable[str]) -> str:
    """Return parts as one phrase: `a, b and c`."""
    words = list(parts)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""
