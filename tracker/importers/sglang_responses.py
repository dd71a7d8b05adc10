"""SGLang `/generate` answers as JSON Lines: objects that hold `meta_info`, one request each.

A line may carry what the load generator knows (`category`, `concurrency`, `rep`, `client_latency_s`, `prompt`), and a
line with `wall_s` instead of `meta_info` times a whole pass. Texts of prompts and answers are not kept.

The key of a prompt is the SHA-256 of its text where the text is there. Where it is not, the key is
`weak:<category>:<prompt tokens>`: two prompts of one category and length share it, so an analysis that pairs requests
may pair weak keys only where they are unique on both sides, or average over equal ones; counts of distinct prompts
from weak keys are lower bounds.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, Reported, RequestRow
from tracker.errors import InputError
from tracker.importers import _cells, _identities, _jsonl
from tracker.importers.base import ImportedRun

# Keys of meta_info by generation: 0.5.12 and later, 0.5.11, 0.5.5 to 0.5.10. 0.4.5 to 0.5.4 know the steps only.
_ACCEPTED = ("spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num")
_PROPOSED = ("spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num")
_HISTOGRAM = ("spec_correct_drafts_histogram", "spec_accept_histogram")
_PROMPT_TEXT = ("prompt", "input", "question")
# Times before SGLang existed or far ahead are another clock's.
_PLAUSIBLE_TIME_S = (1_600_000_000.0, 4_100_000_000.0)
MAX_ERROR_LENGTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """One request with the times that do not fit a row."""

    row: RequestRow
    start_s: float | None
    end_s: float | None


@dataclass(slots=True)
class _Content:
    """What a file holds."""

    rows: list[RequestRow] = field(default_factory=list)
    passes: list[_cells.Pass] = field(default_factory=list)
    spans: dict[tuple[int | None, int], tuple[float, float]] = field(default_factory=dict)
    untimed: set[tuple[int | None, int]] = field(default_factory=set)
    cut: str | None = None

    def add(self, answer: _Answer) -> None:
        """Add one request and stretch the span of its pass."""
        self.rows.append(answer.row)
        key = (answer.row.concurrency, answer.row.repeat)
        if answer.start_s is None or answer.end_s is None:
            self.untimed.add(key)
            return
        start_s, end_s = self.spans.get(key, (answer.start_s, answer.end_s))
        self.spans[key] = (min(start_s, answer.start_s), max(end_s, answer.end_s))


class SglangResponses:
    """SGLang answers, one request a line."""

    name = "sglang_responses"
    title = "SGLang /generate answers with meta_info, JSON Lines or a list, one request each"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Return whether the first object is an answer with `meta_info`, or times a pass of such answers."""
        value = _jsonl.first_value(head)
        if isinstance(value, list):
            value = value[0] if value else None
        if not isinstance(value, dict):
            return False
        return isinstance(value.get("meta_info"), dict) or ("wall_s" in value and b'"meta_info"' in head)

    def read(self, path: Path) -> tuple[ImportedRun, ...]:
        """Return the one run in the file.

        Raises:
            InputError: No request in it is whole, or a line is damaged.
        """
        content = _collect(path)
        if not content.rows:
            raise InputError(
                "no request in it is whole" + (f": {content.cut}" if content.cut else ""),
                where=str(path),
                hint="An answer is an object with `meta_info`, one a line.",
            )
        passes, timing = _passes(content)
        cells = _cells.build(content.rows, passes)
        measurements, lengths = _with_token_lengths(cells.measurements)
        identities = [finding for cell in measurements for finding in _identities.check(cell)]
        starts = [start_s for start_s, _ in content.spans.values()]
        return (
            ImportedRun(
                measured_at=datetime.fromtimestamp(min(starts), UTC) if starts else None,
                measurements=measurements,
                requests=tuple(content.rows),
                workload=_cells.workload(content.rows),
                engine="sglang",
                findings=(*cells.findings, *timing, *lengths, *_identities.merge(identities)),
                missing=content.cut,
            ),
        )


def _collect(path: Path) -> _Content:
    """Return rows and passes of a file; a JSON document over several lines is read as a whole."""
    content = _Content()
    for entry in _entries(path):
        if entry.cut is not None:
            content.cut = entry.cut
            continue
        where = f"{path}:{entry.line}"
        for value in entry.value if isinstance(entry.value, list) else (entry.value,):
            if not isinstance(value, dict):
                raise InputError("this is no JSON object", where=where, hint="Each line is one answer.")
            if "meta_info" in value:
                content.add(_answer(_jsonl.Fields(data=value, where=where)))
            elif "wall_s" in value:
                content.passes.append(_pass(_jsonl.Fields(data=value, where=where)))
            elif "error" in value:
                content.add(_failed(_jsonl.Fields(data=value, where=where)))
            else:
                raise InputError(
                    "the object has neither `meta_info` nor `wall_s`",
                    where=where,
                    hint="Remove lines that are no answers.",
                )
    return content


def _entries(path: Path) -> Iterator[_jsonl.Entry]:
    """Yield the file's values, line by line where it has lines, else the one document it is."""
    try:
        yield from _jsonl.entries(path)
    except InputError as lines_error:
        # Only a document that is whole as a whole explains lines that are not; otherwise the line's error stands.
        whole = _jsonl.whole_document(path)
        if whole is None:
            raise lines_error
        yield _jsonl.Entry(line=1, value=whole)


def _answer(fields: _jsonl.Fields) -> _Answer:
    """Return one request."""
    info = fields.inner("meta_info")
    start_s, end_s = _time(info, "request_received_ts"), _time(info, "request_finished_ts")
    reason, error = _finish(info.data.get("finish_reason"))
    server_latency_s = info.number("e2e_latency")
    tokens = info.count("prompt_tokens")
    category = fields.text("category")
    row = RequestRow(
        prompt_key=_prompt_key(fields.data, category, tokens),
        category=category,
        concurrency=fields.count("concurrency"),
        repeat=_repeat(fields),
        input_tokens=tokens,
        output_tokens=info.count("completion_tokens"),
        cached_input_tokens=info.count("cached_tokens"),
        latency_s=fields.number("client_latency_s") if server_latency_s is None else server_latency_s,
        ttft_s=info.number("first_token_latency"),
        verify_steps=info.count("spec_verify_ct"),
        accepted_drafts=_first_count(info, _ACCEPTED),
        proposed_drafts=_first_count(info, _PROPOSED),
        accepted_histogram=_first_histogram(info),
        finish_reason=reason,
        error=error,
    )
    return _Answer(row=row, start_s=start_s, end_s=end_s)


def _failed(fields: _jsonl.Fields) -> _Answer:
    """Return a request that got an error instead of an answer."""
    error = fields.data["error"]
    if isinstance(error, dict):
        error = error.get("message", "error")
    row = RequestRow(
        category=fields.text("category"),
        concurrency=fields.count("concurrency"),
        repeat=_repeat(fields),
        error=str(error)[:MAX_ERROR_LENGTH],
    )
    return _Answer(row=row, start_s=None, end_s=None)


def _pass(fields: _jsonl.Fields) -> _cells.Pass:
    """Return a timed pass."""
    wall_s = fields.number("wall_s")
    if not wall_s:
        raise fields.error("wall_s", "is no duration")
    return _cells.Pass(concurrency=fields.count("concurrency"), repeat=_repeat(fields), wall_s=wall_s)


def _repeat(fields: _jsonl.Fields) -> int:
    """Return the repeat index, 0 where the load generator knows no repeats."""
    repeat = fields.count("rep")
    if repeat is None:
        repeat = fields.count("repeat")
    return 0 if repeat is None else repeat


def _prompt_key(data: Mapping[str, Any], category: str | None, tokens: int | None) -> str | None:
    """Return the digest of the prompt's text, else the weak key, else None."""
    for key in _PROMPT_TEXT:
        text = data.get(key)
        if isinstance(text, str) and text:
            return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    if tokens is None:
        return None
    return f"weak:{category or ''}:{tokens}"


def _finish(reason: Any) -> tuple[str | None, str | None]:
    """Return finish reason and error; an aborted request is an error."""
    if isinstance(reason, str):
        return reason, "aborted" if reason == "abort" else None
    if not isinstance(reason, dict):
        return None, None
    kind = reason.get("type")
    if kind != "abort":
        return kind if isinstance(kind, str) else None, None
    message = reason.get("message")
    return "abort", message[:MAX_ERROR_LENGTH] if isinstance(message, str) and message else "aborted"


def _time(info: _jsonl.Fields, key: str) -> float | None:
    """Return a Unix time in seconds; None when absent or another clock's."""
    value = info.data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    low, high = _PLAUSIBLE_TIME_S
    return float(value) if low < value < high else None


def _first_count(info: _jsonl.Fields, keys: tuple[str, ...]) -> int | None:
    """Return the first of several names for one count."""
    for key in keys:
        if (value := info.count(key)) is not None:
            return value
    return None


def _first_histogram(info: _jsonl.Fields) -> tuple[int, ...] | None:
    """Return the histogram of accepted drafts under whichever name."""
    for key in _HISTOGRAM:
        if value := info.counts(key):
            return value
    return None


def _passes(content: _Content) -> tuple[list[_cells.Pass], list[Finding]]:
    """Return the timed passes; without any, the span from the first request's arrival to the last one's end."""
    if content.passes or not content.spans:
        return content.passes, []
    spans = {
        key: end_s - start_s
        for key, (start_s, end_s) in content.spans.items()
        if key not in content.untimed and end_s > start_s
    }
    if not spans:
        return [], []
    finding = Finding(
        code="WALL_TIME_FROM_TIMESTAMPS",
        severity="info",
        message="No pass is timed; wall time runs from the first request's arrival to the last one's end, "
        "pauses of the load generator included.",
        fix="Write a line with `concurrency` and `wall_s` after each pass.",
    )
    passes = [_cells.Pass(concurrency=key[0], repeat=key[1], wall_s=wall_s) for key, wall_s in spans.items()]
    return passes, [finding]


def _with_token_lengths(cells: tuple[Measurement, ...]) -> tuple[tuple[Measurement, ...], list[Finding]]:
    """Return the cells with tokens per verify step where a server before 0.5.5 counts steps but no drafts."""
    filled: list[Measurement] = []
    short = False
    for cell in cells:
        if cell.verify_steps and cell.accepted_drafts is None and cell.output_tokens is not None:
            length = Reported(value=cell.output_tokens / cell.verify_steps)
            cell = dataclasses.replace(cell, reported_accept_length=length)
            short = True
        filled.append(cell)
    if not short:
        return tuple(filled), []
    finding = Finding(
        code="ACCEPT_LENGTH_FROM_TOKENS",
        severity="info",
        message="The server counts verify steps but no accepted drafts; accept length is tokens over steps, which "
        "holds the prefill token too and so is a little high on short answers.",
    )
    return tuple(filled), [finding]


IMPORTER = SglangResponses()
