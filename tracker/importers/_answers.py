"""Answers of a server, one request each, as load generators keep them: what surrounds an answer is the same for all.

A line may carry what the load generator knows (`category`, `concurrency`, `rep`, `client_latency_s`, `client_ttft_s`,
`prompt`, `prompt_key`), and a line with `wall_s` instead of an answer times a whole pass. Texts of prompts and answers
are not kept.

The key of a prompt is the SHA-256 of its text where the text is there. Where it is not, the key is
`weak:<category>:<prompt tokens>`: two prompts of one category and length share it, so an analysis that pairs requests
may pair weak keys only where they are unique on both sides, or average over equal ones; counts of distinct prompts
from weak keys are lower bounds.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, Reported, RequestRow
from tracker.errors import InputError
from tracker.importers import _cells, _identities, _jsonl, _spec_block
from tracker.importers.base import ImportedRun

_PROMPT_TEXT = ("prompt", "input", "question")
# Times before SGLang existed or far ahead are another clock's.
PLAUSIBLE_TIME_S = (1_600_000_000.0, 4_100_000_000.0)
MAX_ERROR_LENGTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One request with the times that do not fit a row."""

    row: RequestRow
    """The request."""
    start_s: float | None = None
    """Arrival at the server, Unix time."""
    end_s: float | None = None
    """End at the server, Unix time."""


@dataclass(slots=True)
class Content:
    """What a file holds."""

    rows: list[RequestRow] = field(default_factory=list)
    passes: list[_cells.Pass] = field(default_factory=list)
    spans: dict[tuple[int | None, int], tuple[float, float]] = field(default_factory=dict)
    untimed: set[tuple[int | None, int]] = field(default_factory=set)
    first_start_s: float | None = None
    """Arrival of the first request at the server, Unix time."""
    cut: str | None = None
    texts: dict[str | None, str | None] = field(default_factory=dict)
    """One object for all equal texts: a million rows repeat a few keys and categories."""

    def add(self, row: RequestRow, start_s: float | None = None, end_s: float | None = None) -> None:
        """Add one request and stretch the span of its pass."""
        self.rows.append(row)
        key = (row.concurrency, row.repeat)
        if start_s is not None and (self.first_start_s is None or start_s < self.first_start_s):
            self.first_start_s = start_s
        if start_s is None or end_s is None:
            self.untimed.add(key)
            return
        span = self.spans.get(key)
        if span is None:
            self.spans[key] = (start_s, end_s)
        elif start_s < span[0] or end_s > span[1]:
            self.spans[key] = (min(span[0], start_s), max(span[1], end_s))


def collect(
    path: Path, answer_key: Callable[[Mapping[str, Any]], bool], read: Callable[[_jsonl.Fields], Answer], *, hint: str
) -> Content:
    """Return rows and passes of a file; a JSON document over several lines is read as a whole.

    Args:
        path: File of answers.
        answer_key: Whether an object is an answer.
        read: Reader of one answer.
        hint: What an object that is neither answer nor pass should have been.

    Raises:
        InputError: A line is damaged, or is neither an answer nor a timed pass.
    """
    content = Content()
    for entry in entries(path):
        if entry.cut is not None:
            content.cut = entry.cut
        else:
            place(entry, path, content, answer_key, read, hint=hint)
    return content


def place(
    entry: _jsonl.Entry,
    path: Path,
    content: Content,
    answer_key: Callable[[Mapping[str, Any]], bool],
    read: Callable[[_jsonl.Fields], Answer],
    *,
    hint: str,
) -> None:
    """Add what one line holds to the content.

    Raises:
        InputError: It is neither an answer nor a timed pass.
    """
    where = f"{path}:{entry.line}"
    for value in entry.value if isinstance(entry.value, list) else (entry.value,):
        if not isinstance(value, dict):
            raise InputError("this is no JSON object", where=where, hint="Each line is one answer.")
        fields = _jsonl.Fields(data=value, where=where)
        if answer_key(value):
            answer = read(fields)
            content.add(answer.row, answer.start_s, answer.end_s)
        elif "wall_s" in value:
            content.passes.append(timed_pass(fields))
        elif value.get("error") is not None:
            content.add(failed(fields))
        else:
            raise InputError(hint, where=where, hint="Remove lines that are no answers.")


def entries(path: Path) -> Iterator[_jsonl.Entry]:
    """Yield the file's values, line by line where it has lines, else the one document it is."""
    try:
        yield from _jsonl.entries(path)
    except InputError as lines_error:
        # Only a document that is whole as a whole explains lines that are not; otherwise the line's error stands.
        whole = _jsonl.whole_document(path)
        if whole is None:
            raise lines_error
        yield _jsonl.Entry(line=1, value=whole)


def failed(fields: _jsonl.Fields) -> RequestRow:
    """Return a request that got an error instead of an answer."""
    error = fields.data["error"]
    if isinstance(error, dict):
        error = error.get("message", "error")
    return RequestRow(
        prompt_key=fields.text("prompt_key"),
        category=fields.text("category"),
        concurrency=fields.count("concurrency"),
        repeat=repeat(fields),
        error=str(error)[:MAX_ERROR_LENGTH],
    )


def timed_pass(fields: _jsonl.Fields) -> _cells.Pass:
    """Return a timed pass.

    Raises:
        InputError: The time is none.
    """
    wall_s = fields.number("wall_s")
    if not wall_s:
        raise fields.error("wall_s", "is no duration")
    return _cells.Pass(concurrency=fields.count("concurrency"), repeat=repeat(fields), wall_s=wall_s)


def repeat(fields: _jsonl.Fields) -> int:
    """Return the repeat index, 0 where the load generator knows no repeats."""
    index = fields.count("rep")
    if index is None:
        index = fields.count("repeat")
    return 0 if index is None else index


def prompt_key(fields: _jsonl.Fields, category: str | None, tokens: int | None) -> str | None:
    """Return the load generator's key, else the digest of the prompt's text, else the weak key, else None."""
    given = fields.text("prompt_key")
    if given is not None:
        return given
    for key in _PROMPT_TEXT:
        text = fields.data.get(key)
        if isinstance(text, str) and text:
            return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return weak_key(category, tokens)


def weak_key(category: str | None, tokens: int | None) -> str | None:
    """Return the key of a prompt whose text is not at hand."""
    return None if tokens is None else f"weak:{category or ''}:{tokens}"


def finish(reason: Any) -> tuple[str | None, str | None]:
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


def run(content: Content, *, path: Path, engine: str | None, hint: str) -> ImportedRun:
    """Return the run that the answers make.

    Raises:
        InputError: There is no whole answer.
    """
    if not content.rows:
        raise InputError(
            "no request in it is whole" + (f": {content.cut}" if content.cut else ""), where=str(path), hint=hint
        )
    passes, timing = _passes(content)
    cells = _cells.build(content.rows, passes)
    measurements, lengths = _with_token_lengths(cells.measurements)
    identities = [finding for cell in measurements for finding in _identities.check(cell)]
    started_s = content.first_start_s
    return ImportedRun(
        measured_at=None if started_s is None else datetime.fromtimestamp(started_s, UTC),
        measurements=measurements,
        requests=tuple(content.rows),
        workload=_cells.workload(content.rows),
        engine=engine,
        speculation=_spec_block.seen(measurements),
        findings=(*cells.findings, *timing, *lengths, *_identities.merge(identities)),
        missing=content.cut,
    )


def _passes(content: Content) -> tuple[list[_cells.Pass], list[Finding]]:
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
