"""The acceptance block that vLLM's offline speculative example prints."""

from __future__ import annotations

import re
from pathlib import Path

from tracker.domain.measurement import Measurement
from tracker.domain.server import Speculation
from tracker.errors import InputError
from tracker.importers import _identities, _normalise, _source
from tracker.importers.base import ImportedRun

_VALUE = re.compile(r"(total_num_output_tokens|num_drafts|num_draft_tokens|num_accepted_tokens): (\d{1,15})\s*")
_LENGTH = re.compile(r"mean acceptance length: (\d{1,6}(?:\.\d+)?)\s*")
_POSITION = re.compile(r"acceptance at token (\d{1,4}): (\d\.\d+)\s*")


class VllmOffline:
    """Printed acceptance of an offline vLLM run."""

    name = "vllm_offline"
    title = "acceptance block of vLLM's offline speculative example"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the text holds the block's counters."""
        return b"num_drafts: " in head and b"num_accepted_tokens: " in head

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the one run; it knows tokens and steps, no time.

        Raises:
            InputError: The block lacks its counters.
        """
        counts: dict[str, int] = {}
        positions: list[float] = []
        length = None
        for line in _source.lines(path):
            text = line.content.decode(errors="replace")
            if not line.ended:
                break
            if match := _VALUE.fullmatch(text):
                counts[match[1]] = int(match[2])
            elif match := _LENGTH.fullmatch(text):
                length = _normalise.reported(match[1])
            elif (match := _POSITION.fullmatch(text)) and int(match[1]) == len(positions):
                positions.append(float(match[2]))
        steps, accepted = counts.get("num_drafts"), counts.get("num_accepted_tokens")
        if steps is None or accepted is None:
            raise InputError(
                "the block lacks `num_drafts` or `num_accepted_tokens`", where=str(path), hint="Save the whole output."
            )
        proposed = counts.get("num_draft_tokens")
        drafts = _drafts(proposed, steps, len(positions))
        cell = Measurement(
            output_tokens=counts.get("total_num_output_tokens"),
            verify_steps=steps,
            accepted_drafts=accepted,
            proposed_drafts=proposed,
            reported_accept_length=length,
            extra={f"position_{index}_acceptance_rate": rate for index, rate in enumerate(positions)},
        )
        whole = drafts is None or len(positions) == drafts
        return (
            ImportedRun(
                measurements=(cell,),
                engine="vllm",
                speculation=Speculation(
                    enabled=True, num_steps=drafts, num_draft_tokens=None if drafts is None else drafts + 1
                ),
                findings=_identities.check(cell, num_steps=drafts, position_rates=positions if whole else None),
                missing=None if whole else f"{len(positions)} of {drafts} positions are there",
            ),
        )


def _drafts(proposed: int | None, steps: int, positions: int) -> int | None:
    """Return drafts per step; the last step of an answer may draft fewer, so the printed positions may decide."""
    if not proposed or not steps:
        return None
    if proposed % steps == 0:
        return proposed // steps
    return positions if (positions - 1) * steps < proposed < positions * steps else None


IMPORTER = VllmOffline()
