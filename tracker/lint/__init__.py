"""Checks on flags, checkpoints and results: one rule a file, found by discovery."""

from __future__ import annotations

import difflib
import inspect
from functools import cache
from typing import cast

from tracker.domain.finding import Finding
from tracker.errors import UsageError
from tracker.lint.base import Rule, Subject
from tracker.plugins import discover

__all__ = ["Rule", "Subject", "codes", "explain", "rules", "run", "title"]

_ORDER = {"error": 0, "warning": 1, "info": 2}


@cache
def rules() -> tuple[Rule, ...]:
    """Return all rules, in the order of their file names."""
    found = discover("tracker.lint", "RULE")
    return tuple(cast(Rule, found[name]) for name in sorted(found))


def run(subject: Subject) -> tuple[Finding, ...]:
    """Return what all rules find: errors first, what names the wrong flag before its symptoms, then by code."""
    found = dict.fromkeys(finding for rule in rules() for finding in rule.check(subject))
    # A finding that names the wrong flag explains the others: it comes first.
    return tuple(sorted(found, key=_rank))


def _rank(finding: Finding) -> tuple[int, bool, str, str]:
    return _ORDER[finding.severity], finding.flag_after is None, finding.code, finding.message


def codes() -> tuple[str, ...]:
    """Return all codes that a rule may report, sorted."""
    return tuple(sorted({code for rule in rules() for code in rule.codes}))


def title(code: str) -> str:
    """Return one line on a code: the first sentence of its rule.

    Raises:
        KeyError: No rule reports it.
    """
    rule = next((rule for rule in rules() if code in rule.codes), None)
    if rule is None:
        raise KeyError(code)
    first = (inspect.getdoc(type(rule)) or "").split("\n\n", 1)[0]
    return " ".join(first.split()).rstrip(".")


def explain(code: str) -> str:
    """Return why a finding matters and where the rule comes from.

    Raises:
        UsageError: No rule reports this code.
    """
    wanted = code.strip().upper().replace("-", "_")
    for rule in rules():
        if wanted in rule.codes:
            return f"{wanted}\n\n{inspect.getdoc(type(rule))}"
    close = [known for known in codes() if wanted in known] or difflib.get_close_matches(
        wanted, codes(), n=3, cutoff=0.5
    )
    raise UsageError(
        f"no rule reports the code {code!r}",
        hint=f"Did you mean {' or '.join(close)}?" if close else f"Known codes: {', '.join(codes())}.",
    )
