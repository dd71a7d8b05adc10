"""A server's own counters, read before and after a pass: the check on the answers, and vLLM's only word on acceptance.

Names: SGLang 0.5.15 and later with --enable-metrics, vLLM 0.7 and later (vllm/v1/spec_decode/metrics.py: one draft is
one verify step of one request).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise

_SAMPLE = re.compile(r"^([A-Za-z_:][A-Za-z0-9_:]*)(?:\{([^}]*)\})? ([0-9.eE+]+)$", re.MULTILINE)
_POSITION = re.compile(r'position="(\d+)"')
_OUTPUT_TOKENS = ("sglang:generation_tokens_total", "vllm:generation_tokens_total", "sglang:generation_tokens")
_VERIFY_STEPS = ("sglang:spec_verify_calls_total", "vllm:spec_decode_num_drafts_total")
_ACCEPTED = ("vllm:spec_decode_num_accepted_tokens_total",)
_PROPOSED = ("vllm:spec_decode_num_draft_tokens_total",)
_PER_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos_total"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCounters:
    """What a server counted; None for what it does not count."""

    output_tokens: int | None = None
    """Generated tokens of all its clients."""
    verify_steps: int | None = None
    """Target forward passes that verified drafts, one for each request in them."""
    accepted_drafts: int | None = None
    """Draft tokens accepted, bonus excluded."""
    proposed_drafts: int | None = None
    """Draft tokens proposed."""
    accepted_by_position: tuple[int, ...] = ()
    """Steps that accepted the draft at each position; empty where it does not count them."""

    @property
    def accepted_histogram(self) -> tuple[int, ...] | None:
        """Return verify steps by number of accepted drafts: those that reached a position less those beyond it."""
        if self.verify_steps is None or not self.accepted_by_position:
            return None
        reached = (self.verify_steps, *self.accepted_by_position, 0)
        counts = tuple(here - further for here, further in pairwise(reached))
        return counts if min(counts) >= 0 else None

    def since(self, before: ServerCounters) -> ServerCounters | None:
        """Return the growth from an earlier reading; None when a counter fell, as it does when a server restarts."""
        pairs = {
            name: (getattr(before, name), getattr(self, name))
            for name in ("output_tokens", "verify_steps", "accepted_drafts", "proposed_drafts")
        }
        # A counter that is not there yet has counted nothing: both engines make some of theirs at the first event.
        grown = {name: None if last is None else last - (first or 0) for name, (first, last) in pairs.items()}
        first = before.accepted_by_position or (0,) * len(self.accepted_by_position)
        if len(first) != len(self.accepted_by_position):
            return None
        positions = tuple(last - base for base, last in zip(first, self.accepted_by_position, strict=True))
        if any(value is not None and value < 0 for value in (*grown.values(), *positions)):
            return None
        return replace(self, **grown, accepted_by_position=positions)


def read_counters(metrics: bytes | None) -> ServerCounters | None:
    """Return the counters in a `/metrics` body, summed over ranks; None without a body or without any of them."""
    if metrics is None:
        return None
    totals: dict[str, float] = {}
    positions: dict[int, float] = {}
    for name, labels, value in _SAMPLE.findall(metrics.decode("utf-8", "replace")):
        totals[name] = totals.get(name, 0.0) + float(value)
        place = _POSITION.search(labels) if name == _PER_POSITION else None
        if place is not None:
            positions[int(place[1])] = positions.get(int(place[1]), 0.0) + float(value)
    counters = ServerCounters(
        output_tokens=_first(totals, _OUTPUT_TOKENS),
        verify_steps=_first(totals, _VERIFY_STEPS),
        accepted_drafts=_first(totals, _ACCEPTED),
        proposed_drafts=_first(totals, _PROPOSED),
        accepted_by_position=(
            tuple(int(positions[index]) for index in range(len(positions)))
            if sorted(positions) == list(range(len(positions)))
            else ()
        ),
    )
    return None if counters == ServerCounters() else counters


def _first(totals: dict[str, float], names: tuple[str, ...]) -> int | None:
    return next((int(totals[name]) for name in names if name in totals), None)
