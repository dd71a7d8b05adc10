"""The run's description in MLflow and its README.md: what came out, what is wrong, how it ran, how to repeat it.

MLflow folds a description after about five lines and renders Markdown with tables; text of users is escaped.
"""

from __future__ import annotations

import html
import re
import shlex
from collections.abc import Iterator

from tracker.domain.measurement import Measurement
from tracker.domain.record import RunRecord
from tracker.store.mlflow_names import MAX_TAG, storable
from tracker.store.mlflow_projection import as_text, step_time_ms, summary_cell

MAX_CELL = 200
SECTION_BREAK = "\n\n"
LEFT_OUT = "More in the artifact README.md."


def note(record: RunRecord, *, decision_concurrency: int | None = None) -> str:
    """Return the description, at most 8000 characters: whole sections are left out from the end and that is said."""
    kept: list[str] = []
    for section in map(storable, _sections(record, decision_concurrency, is_page=False)):
        if len(SECTION_BREAK.join([*kept, section, LEFT_OUT])) > MAX_TAG:
            return SECTION_BREAK.join([*kept, LEFT_OUT])
        kept.append(section)
    return SECTION_BREAK.join(kept)


def readme(record: RunRecord, *, decision_concurrency: int | None = None) -> str:
    """Return the same in full, with a title."""
    sections = (f"# {as_markdown(record.name)}", *_sections(record, decision_concurrency, is_page=True))
    return storable(SECTION_BREAK.join(sections)) + "\n"


def _sections(record: RunRecord, decision_concurrency: int | None, *, is_page: bool) -> Iterator[str]:
    yield _first_line(record, decision_concurrency)
    for finding in sorted(record.findings, key=lambda f: ("error", "warning", "info").index(f.severity)):
        fix = f" Fix: {_code(finding.fix)}" if finding.fix else ""
        yield f"- **{finding.severity}** {_code(finding.code)}: {as_markdown(finding.message)}{fix}"
    if record.note:
        yield as_markdown(record.note)
    if len(record.pooled()) > 1:
        yield _table(record)
    if record.speculation is not None and record.speculation.enabled:
        yield f"Speculation: {_speculation(record)}"
    if record.training is not None:
        yield f"Drafter trained on {_training(record)}"
    if record.server is not None and record.server.argv:
        yield _command("Server", shlex.join(record.server.argv), is_page=is_page)
    if record.provenance.command:
        yield _command("Measured with", shlex.join(record.provenance.command), is_page=is_page)
    yield _origin(record)


def _first_line(record: RunRecord, decision_concurrency: int | None) -> str:
    parts: list[str] = []
    if record.validity != "ok":
        parts.append(
            f"**{record.validity.upper()}**"
            + (f" ({as_markdown(record.validity_reason)})" if record.validity_reason else "")
        )
    if record.kind == "training":
        parts.append("Drafter training")
    cell = summary_cell(record, decision_concurrency)
    if cell is not None:
        parts.append(f"**{_throughput(cell)}**{_load(cell)}")
        if cell.accept_length is not None:
            parts.append(f"accept length **{cell.accept_length:.2f}**")
    if record.is_speculative is False:
        parts.append("no speculation")
    if record.role is not None:
        parts.append(record.role)
    return ", ".join(parts) if parts else "Nothing measured."


def _throughput(cell: Measurement) -> str:
    value = cell.output_throughput_tok_s
    return "throughput not measured" if value is None else f"{value:.1f} tok/s"


def _load(cell: Measurement) -> str:
    if cell.concurrency is None:
        return ""
    return " at 1 stream" if cell.concurrency == 1 else f" at {cell.concurrency} streams"


def _table(record: RunRecord) -> str:
    rows = ["| streams | tok/s | accept length | step ms |", "|---:|---:|---:|---:|"]
    for cell in record.pooled():
        streams = "?" if cell.concurrency is None else str(cell.concurrency)
        numbers = (
            _number(cell.output_throughput_tok_s, 1),
            _number(cell.accept_length, 3),
            _number(step_time_ms(cell), 2),
        )
        rows.append(f"| {streams} | {' | '.join(numbers)} |")
    return "\n".join(rows)


def _number(value: float | None, digits: int) -> str:
    return "not measured" if value is None else f"{value:.{digits}f}"


def _speculation(record: RunRecord) -> str:
    spec = record.speculation
    if spec is None:
        return ""
    facts = {
        "steps": spec.num_steps,
        "top-k": spec.eagle_topk,
        "draft tokens": spec.num_draft_tokens,
        "drafter": None if record.drafter is None else record.drafter.name,
    }
    known = [f"{name} {_code(as_text(value))}" for name, value in facts.items() if value is not None]
    return ", ".join([_code(spec.algorithm or "algorithm not recorded"), *known])


def _training(record: RunRecord) -> str:
    training = record.training
    if training is None:
        return ""
    facts = {"samples": training.samples, "tokens": training.tokens, "optimizer steps": training.optimizer_steps}
    known = [f"{value:,} {name}" for name, value in facts.items() if value is not None]
    source = f" of {as_markdown(training.data_name)}" if training.data_name else ""
    return (", ".join(known) or "an amount of data that was not recorded") + source


def _origin(record: RunRecord) -> str:
    provenance = record.provenance
    measured = (
        "at a time not recorded" if provenance.measured_at is None else f"{provenance.measured_at:%Y-%m-%d %H:%M} UTC"
    )
    files = ", ".join(_code(file.name) for file in provenance.inputs)
    return f"Measured {measured}, logged {provenance.logged_at:%Y-%m-%d %H:%M} UTC" + (
        f" from {files}." if files else "."
    )


def as_markdown(text: str) -> str:
    """Return user text as Markdown that shows it and nothing else."""
    line = " ".join(text.split())
    # MLflow's Markdown shows the backslash of `\\<`, so that angle brackets are entities.
    return re.sub(r"([\\`*_{}\[\]#|~])", r"\\\1", html.escape(line, quote=False))


def _code(text: str) -> str:
    """Return text as a code span, whatever backticks it holds."""
    line = " ".join(text.split())
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def _command(what: str, text: str, *, is_page: bool) -> str:
    """Return a command: as a block to copy, or in MLflow's description as a span.

    A span wraps; the lines of a block do not, and made the page so wide that the values of all metrics were out of
    sight (seen in Chromium at 1600 pixels, MLflow 3.17).
    """
    return f"{what}:{SECTION_BREAK}{_block(text)}" if is_page else f"{what}: {_code(text)}"


def _block(text: str) -> str:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"
