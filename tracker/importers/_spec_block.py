"""The per-request block that vLLM sends (`metrics.speculative_decoding`) and aiperf keeps, as a row's counts.

The histogram counts verify steps by accepted drafts, the bonus token left out; it is a list, or an object by number.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tracker.domain.measurement import Measurement
from tracker.domain.server import Speculation
from tracker.importers import _jsonl

# No server drafts more tokens a step.
_MAX_DRAFTS = 512


def counts(block: _jsonl.Fields) -> dict[str, Any]:
    """Return verify steps, accepted and proposed drafts and the histogram, by the names of a row.

    Raises:
        InputError: A value is of the wrong kind.
    """
    return {
        "verify_steps": block.count("num_spec_steps"),
        "accepted_drafts": block.count("num_accepted_draft_tokens"),
        "proposed_drafts": block.count("num_draft_tokens"),
        "accepted_histogram": histogram(block, "acceptance_histogram"),
    }


def histogram(block: _jsonl.Fields, key: str) -> tuple[int, ...] | None:
    """Return verify steps by accepted drafts from a list or from an object `{"0": 34, "2": 19}`; None when absent.

    Raises:
        InputError: The value is neither.
    """
    value = block.data.get(key)
    if not isinstance(value, dict):
        return block.counts(key) or None
    inner = _jsonl.Fields(data=value, where=block.where)
    found: dict[int, int] = {}
    for name in value:
        count = inner.count(name)
        if not name.isascii() or not name.isdigit() or int(name[:6]) > _MAX_DRAFTS or count is None:
            raise block.error(key, "is no histogram")
        found[int(name[:6])] = count
    return tuple(found.get(index, 0) for index in range(max(found) + 1)) if found else None


def seen(cells: Iterable[Measurement]) -> Speculation | None:
    """Return that the server speculated where a cell shows it; None where none does, which proves nothing."""
    shown = any(cell.verify_steps or (cell.accept_length or 0) > 1 for cell in cells)
    return Speculation(enabled=True) if shown else None


def speculation(drafts: set[int]) -> Speculation | None:
    """Return the settings that the requests' `num_spec_tokens` name, when they agree."""
    if len(drafts) != 1:
        return None
    number = next(iter(drafts))
    return Speculation(enabled=True, num_steps=number, num_draft_tokens=number + 1) if number else None
