"""An engine's counts of speculation for one request, under the names of every generation.

SGLang: 0.5.12 and later, 0.5.11, 0.5.5 to 0.5.10; 0.4.5 to 0.5.4 know the steps only. They stand in `meta_info` of
`/generate`, and since 0.5.20 in `sglext.spec_tokens_details` of the OpenAI routes when they are asked for.
vLLM: `metrics.speculative_decoding` of a server started with `--per-request-spec-decode-metrics summary`
(vllm/entrypoints/generate/base/protocol.py, 0.32).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tracker.load.answers import BadAnswerError, count

_STEPS = ("spec_verify_ct", "num_spec_steps")
_ACCEPTED = ("spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num", "num_accepted_draft_tokens")
_PROPOSED = ("spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num", "num_draft_tokens")
_HISTOGRAM = ("spec_correct_drafts_histogram", "spec_accept_histogram", "acceptance_histogram")


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """What one answer says about its drafts; None for what it does not say."""

    verify_steps: int | None = None
    """Target forward passes that verified drafts."""
    accepted_drafts: int | None = None
    """Draft tokens accepted, bonus excluded."""
    proposed_drafts: int | None = None
    """Draft tokens proposed."""
    accepted_histogram: tuple[int, ...] | None = None
    """Verify steps by number of accepted drafts."""


_NOTHING_TOLD = Acceptance()


def read_acceptance(info: Mapping[str, Any]) -> Acceptance:
    """Return the counts in this object.

    Raises:
        BadAnswerError: They are no counts, or contradict each other.
    """
    if not any(name in info for name in _STEPS):
        return _NOTHING_TOLD
    histogram = next((info[key] for key in _HISTOGRAM if isinstance(info.get(key), list) and info[key]), None)
    found = Acceptance(
        verify_steps=count(info, *_STEPS),
        accepted_drafts=count(info, *_ACCEPTED),
        proposed_drafts=count(info, *_PROPOSED),
        accepted_histogram=None if histogram is None else _histogram(histogram),
    )
    accepted, proposed, steps = found.accepted_drafts, found.proposed_drafts, found.verify_steps
    if accepted is not None and proposed is not None and accepted > proposed:
        raise BadAnswerError(f"the answer claims {accepted} accepted drafts of {proposed} proposed")
    if found.accepted_histogram is not None and steps is not None and sum(found.accepted_histogram) > steps:
        raise BadAnswerError(f"the histogram holds {sum(found.accepted_histogram)} of {steps} verify steps")
    return found


def _histogram(values: list[Any]) -> tuple[int, ...]:
    if not all(type(item) is int and item >= 0 for item in values):
        raise BadAnswerError("the answer's histogram holds something else than counts")
    return tuple(values)
