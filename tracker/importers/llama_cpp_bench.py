"""The per-prompt lines that llama.cpp's draft benchmark prints: `pred= 192 draft= 180 acc= 146 rate=0.811 tok/s=31.3`.

Tokens, drafted and accepted tokens are counts; the speed is rounded, so time is known to its rounding only. Steps are
tokens less accepted drafts, the first token of each answer among them.
"""

from __future__ import annotations

import re
from pathlib import Path

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, Reported
from tracker.domain.server import Speculation
from tracker.domain.workload import Workload
from tracker.errors import InputError
from tracker.importers import _identities, _normalise, _source
from tracker.importers.base import ImportedRun

_LINE = re.compile(
    r"^\s*(?P<name>[\w.+-]{1,60})\s+pred=\s*(?P<tokens>\d{1,9}) draft=\s*(?P<drafted>\d{1,9}) "
    r"acc=\s*(?P<accepted>\d{1,9}) rate=(?P<rate>\d\.\d{1,6}) tok/s=(?P<speed>\d{1,6}\.\d{1,6})\s*$"
)
_HEAD = re.compile(rb"^\s*[\w.+-]+\s+pred=\s*\d+ draft=\s*\d+ acc=\s*\d+ rate=", re.M)
_FINDING = Finding(
    code="VERIFY_STEPS_FROM_TOKENS",
    severity="info",
    message="Verify steps are tokens less accepted drafts, for the output does not count them.",
)


class LlamaCppBench:
    """llama.cpp's printed draft benchmark."""

    name = "llama_cpp_bench"
    title = "llama.cpp draft benchmark as printed, one prompt a line (pred= draft= acc=)"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the text holds the benchmark's lines."""
        return bool(_HEAD.search(head))

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the one run, pooled over its prompts and with a measurement a prompt.

        Raises:
            InputError: There is no whole line.
        """
        cells: list[Measurement] = []
        for line in _source.lines(path):
            match = _LINE.match(line.content.decode(errors="replace")) if line.ended else None
            if match is not None:
                cells.append(_cell(match))
        if not cells:
            raise InputError("there is no whole line in it", where=str(path), hint="Save the whole output.")
        pooled = _pooled(cells)
        findings = [finding for cell in (pooled, *cells) for finding in _identities.check(cell)]
        return (
            ImportedRun(
                measurements=(pooled, *cells),
                workload=Workload(
                    prompts=len(cells), categories=tuple(cell.category for cell in cells if cell.category is not None)
                ),
                engine="llama.cpp",
                speculation=Speculation(enabled=True) if pooled.proposed_drafts else Speculation(enabled=False),
                findings=(*_identities.merge(findings), _FINDING),
            ),
        )


def _cell(match: re.Match[str]) -> Measurement:
    tokens, accepted = int(match["tokens"]), int(match["accepted"])
    return Measurement(
        category=match["name"],
        requests_completed=1,
        prompts=1,
        output_tokens=tokens,
        verify_steps=max(tokens - accepted, 0) or None,
        accepted_drafts=accepted,
        proposed_drafts=int(match["drafted"]),
        reported_throughput_tok_s=_normalise.reported(match["speed"]),
    )


def _pooled(cells: list[Measurement]) -> Measurement:
    """Return the cell over all prompts: tokens over the time that the speeds imply."""
    tokens, accepted = sum(cell.output_tokens or 0 for cell in cells), sum(cell.accepted_drafts or 0 for cell in cells)
    speeds = [(cell.output_tokens or 0, cell.reported_throughput_tok_s) for cell in cells]
    times = [count / speed.value for count, speed in speeds if speed is not None and speed.value > 0]
    whole = len(times) == len(cells) and sum(times) > 0
    return Measurement(
        requests_completed=len(cells),
        prompts=len(cells),
        output_tokens=tokens,
        verify_steps=max(tokens - accepted, 0) or None,
        accepted_drafts=accepted,
        proposed_drafts=sum(cell.proposed_drafts or 0 for cell in cells),
        reported_throughput_tok_s=Reported(value=tokens / sum(times), half_width=0.05) if whole else None,
    )


IMPORTER = LlamaCppBench()
