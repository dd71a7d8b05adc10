"""What a loosely named column means: one declared table of names, with units."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tracker.errors import InputError

Meaning = Literal[
    "name", "algorithm", "drafter", "target", "engine", "gpu", "prompt_set", "note", "role", "measured_at",
    "cuda_graph", "no_cuda_graph",
    "num_draft_tokens", "num_steps", "topk", "num_speculative_tokens", "draft_window",
    "concurrency", "temperature", "samples",
    "throughput", "accept_length", "accept_length_no_bonus", "accept_rate",
    "accepted_drafts", "proposed_drafts", "verify_steps",
    "output_tokens", "input_tokens", "wall_s", "requests_completed", "requests_failed",
    "position", "latency",
]  # fmt: skip

# Names after `canonical`, the most specific first: with two columns of one meaning the first listed wins and the
# other is kept under its own name.
_NAMES: dict[Meaning, tuple[str, ...]] = {
    "name": ("config", "configuration", "run_name", "name", "run", "label", "setup", "server", "variant", "case"),
    "algorithm": ("speculative_algorithm", "spec_algorithm", "algorithm", "algo", "spec_method", "method"),
    "drafter": ("drafter", "draft_model", "draft", "speculative_draft_model_path", "draft_model_path"),
    "target": ("target", "target_model", "model", "model_id", "model_path"),
    "engine": ("engine", "backend", "framework"),
    "gpu": ("gpu", "hardware", "hw", "device"),
    "prompt_set": ("prompt_set", "dataset", "dataset_name", "subset", "benchmark", "category", "task", "workload"),
    "note": ("note", "notes", "comment", "comments", "remark", "remarks"),
    "role": ("role",),
    "measured_at": ("measured_at", "timestamp", "date", "time", "day"),
    "cuda_graph": ("cuda_graph", "cuda_graphs", "cudagraph", "graph"),
    "no_cuda_graph": ("disable_cuda_graph", "no_cuda_graph", "enforce_eager"),
    "num_draft_tokens": ("speculative_num_draft_tokens", "num_draft_tokens", "draft_tokens"),
    "num_steps": ("speculative_num_steps", "num_steps", "spec_steps", "draft_steps", "steps"),
    "topk": ("speculative_eagle_topk", "eagle_topk", "topk", "top_k"),
    "num_speculative_tokens": ("num_speculative_tokens", "speculative_tokens", "num_spec_tokens", "gamma", "k"),
    "draft_window": ("spec_draft_n_max", "draft_n_max", "draft_max", "n_max"),
    "concurrency": (
        "concurrency", "max_concurrency", "num_concurrency", "concurrent_requests", "streams", "num_streams",
        "parallel", "users", "batch_size", "batch", "bs",
    ),
    "temperature": ("temperature", "temp"),
    "samples": ("training_samples", "train_samples", "num_samples_trained"),
    "throughput": (
        "output_throughput_tok_s", "output_tok_s", "output_token_throughput_tok_s", "output_throughput",
        "output_token_throughput", "throughput_tok_s", "generation_throughput_tok_s", "gen_throughput_tok_s",
        "generation_tok_s", "decode_throughput_tok_s", "decode_tok_s", "tok_s", "speed_tok_s", "mean_tok_s",
        "avg_tok_s", "avg_pred_tok_s", "throughput",
    ),
    "accept_length": (
        "accept_length", "accept_len", "acceptance_length", "acceptance_len", "accept_length_incl_bonus",
        "accept_len_incl_bonus", "mean_acceptance_length", "mean_accept_length", "average_acceptance_length",
        "avg_accept_length", "avg_accept_len", "mean_accepted_length", "avg_spec_accept_length", "spec_accept_length",
        "acc_length", "acc_len", "mean_acc_len", "decoded_tokens_per_iteration", "tokens_per_step",
        "tokens_per_iteration", "tau", "τ", "al",
    ),
    "accept_length_no_bonus": (
        "accept_length_excl_bonus", "accept_len_excl_bonus", "accept_length_without_bonus",
        "accept_len_without_bonus", "accepted_drafts_per_step", "simulated_acc_len",
    ),
    "accept_rate": (
        "accept_rate", "acceptance_rate", "draft_acceptance_rate", "aggregate_accept_rate", "reported_accept_rate",
        "accept_ratio", "acceptance_ratio", "acceptance", "acc_rate",
    ),
    "accepted_drafts": ("accepted_drafts", "num_accepted_tokens", "accepted_tokens", "accepted"),
    "proposed_drafts": ("proposed_drafts", "drafted_tokens", "drafted", "proposed"),
    "verify_steps": ("verify_steps", "num_drafts", "spec_verify_ct"),
    "output_tokens": ("total_output_tokens", "output_tokens", "generated_tokens", "completion_tokens"),
    "input_tokens": ("total_input_tokens", "input_tokens", "prompt_tokens"),
    "wall_s": ("wall_s", "wall_s_total", "duration_s", "benchmark_duration_s", "duration"),
    "requests_completed": ("requests_completed", "successful_requests", "completed"),
    "requests_failed": ("requests_failed", "failed_requests", "failed"),
}  # fmt: skip
# What people asked and models answered; such a column names nothing and is not kept.
TEXTS = frozenset({
    "answer", "completion", "content", "generated_text", "input", "messages", "output", "prompt", "question",
    "response", "text",
})  # fmt: skip
# A bare `throughput` could be requests or total tokens; it is taken, and said so.
ASSUMED = frozenset({"throughput"})
MEASURED: frozenset[Meaning] = frozenset({"throughput", "accept_length", "accept_length_no_bonus"})
WIDE: frozenset[Meaning] = MEASURED | {"accept_rate"}

_RANK = {name: (meaning, rank) for meaning, names in _NAMES.items() for rank, name in enumerate(names)}
_TOKENS_PER_SECOND = re.compile(r"(^|_)(tokens?|toks?|t|tk)_(per_)?(second|sec|s)(?=_|$)|(^|_)tps(?=_|$)")
_POSITION = re.compile(r"(?:pos|position|acceptance_at_pos|acceptance_at_token)_?(\d+)(_and_later)?(?:_rate)?")
_LATENCY = re.compile(r"(mean|avg|median|p50|p90|p99)_(ttft|tpot|itl|e2e_latency|e2el)_(ms|s)")
# `total_tok_s` is no configuration called `total`.
_NO_LABEL = re.compile(r".*\b(total|input|prompt|request|req|peak|max|min|std|user|gpu|per|prefill|reported|p\d+)\b.*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column and its meaning."""

    index: int
    """Position in the row."""
    header: str
    """Name as written."""
    meaning: Meaning | None
    """What it holds; None when not understood."""
    percent: bool = False
    """Whether the name says per cent."""
    label: str | None = None
    """Configuration or concurrency that a wide table names in the column, e.g. `bs8`, `k7`."""
    position: int | None = None
    """Draft position of a per-position rate."""
    and_later: bool = False
    """Whether a position column stands for all later positions too."""
    latency: tuple[str, str, str] | None = None
    """Statistic, quantity and unit of a latency column."""
    assumed: bool = False
    """Whether the meaning is a guess that must be said."""
    given: bool = False
    """Whether the user said what it holds."""


def canonical(header: str) -> str:
    """Return a header in lower case with underscores, its unit spelled one way: `Output (tok/s)` -> `output_tok_s`."""
    text = header.lower().replace("%", " pct ").replace("/", " per ").replace("@", " at ")
    text = re.sub(r"[^0-9a-zτ]+", "_", text).strip("_")
    return _TOKENS_PER_SECOND.sub(lambda match: ("_" if match.group(0).startswith("_") else "") + "tok_s", text)


# What `--column NAME=MEANING` may say: the meanings themselves, any name listed above, or that a column is nothing.
IGNORE = "ignore"
MEANINGS: tuple[str, ...] = (*_NAMES, IGNORE)


def resolve(header: Sequence[str], given: Mapping[str, str] | None = None, *, where: str = "") -> tuple[Column, ...]:
    """Return the meaning of every column; of several columns with one meaning the most specific name wins.

    Args:
        header: Column names as written.
        given: What the user says that columns hold, by name.
        where: File and line, for errors.

    Raises:
        InputError: `given` names a column that is not there, or a meaning that there is none of.
    """
    said = _said(header, given or {}, where)
    columns = [said[index] if index in said else _column(index, text) for index, text in enumerate(header)]
    columns = _with_wide(columns)
    best: dict[Meaning, tuple[int, int]] = {}
    for column in columns:
        if column.meaning is None or column.label is not None or column.meaning in ("position", "latency"):
            continue
        rank = (-1 if column.given else _RANK[_bare(column.header)[0]][1], column.index)
        best[column.meaning] = min(best.get(column.meaning, rank), rank)
    return tuple(
        column
        if column.meaning not in best or column.label is not None or best[column.meaning][1] == column.index
        else Column(index=column.index, header=column.header, meaning=None)
        for column in columns
    )


def _said(header: Sequence[str], given: Mapping[str, str], where: str) -> dict[int, Column]:
    """Return the columns whose meaning the user gives; several of one measured meaning are told apart by their names.

    Raises:
        InputError: There is no such column or no such meaning.
    """
    found: dict[int, Column] = {}
    for name, text in given.items():
        matches = [index for index, written in enumerate(header) if name in (written, canonical(written))]
        if len(matches) != 1:
            how_many = "are several columns" if matches else "is no column"
            raise InputError(
                f"there {how_many} `{name}`; found: {', '.join(header)}",
                where=where,
                hint="Name a column as it is written in the file.",
            )
        meaning = _meaning(text, where)
        index = matches[0]
        found[index] = Column(
            index=index, header=header[index], meaning=meaning, percent=_bare(header[index])[1], given=True
        )
    groups: dict[Meaning, list[Column]] = {}
    for column in found.values():
        if column.meaning in WIDE:
            groups.setdefault(column.meaning, []).append(column)
    for group in groups.values():
        if len(group) > 1:
            for column in group:
                found[column.index] = dataclasses.replace(column, label=canonical(column.header))
    return found


def _meaning(text: str, where: str) -> Meaning | None:
    """Return the meaning a user names, by its own name or by any name a column could have.

    Raises:
        InputError: There is none of that name.
    """
    if text == IGNORE:
        return None
    for meaning in _NAMES:
        if text == meaning:
            return meaning
    known = _RANK.get(canonical(text))
    if known is None:
        raise InputError(
            f"`{text}` is nothing that a column can hold; choose from: {', '.join(MEANINGS)}",
            where=where,
            hint="Write `--column NAME=MEANING`.",
        )
    return known[0]


def rivals(columns: Sequence[Column], header: Sequence[str]) -> dict[Meaning, tuple[int, ...]]:
    """Return the columns that could each hold one measured quantity, where neither name is its plain one.

    A column named exactly like the quantity, or chosen by the user, has no rival.
    """
    found: dict[Meaning, list[int]] = {}
    settled = {column.meaning for column in columns if column.given}
    for index, text in enumerate(header):
        known = _RANK.get(_bare(text)[0])
        said = next((column for column in columns if column.index == index and column.given), None)
        if known is not None and known[0] in ("throughput", "accept_length") and said is None:
            found.setdefault(known[0], []).append(index)
    return {
        meaning: tuple(indices)
        for meaning, indices in found.items()
        if len(indices) > 1
        and meaning not in settled
        and min(_RANK[_bare(header[index])[0]][1] for index in indices) > 0
    }


def _bare(header: str) -> tuple[str, bool]:
    """Return the canonical name without a per cent sign, and whether there was one."""
    name = canonical(header)
    stripped = re.sub(r"(^|_)(pct|percent)(?=_|$)", "", name).strip("_")
    return stripped, stripped != name


def _column(index: int, header: str) -> Column:
    name, percent = _bare(header)
    if name in _RANK:
        meaning = _RANK[name][0]
        return Column(index=index, header=header, meaning=meaning, percent=percent, assumed=name in ASSUMED)
    if match := _POSITION.fullmatch(name):
        return Column(
            index=index,
            header=header,
            meaning="position",
            percent=percent,
            position=int(match.group(1)),
            and_later=match.group(2) is not None,
        )
    if match := _LATENCY.fullmatch(name):
        statistic, quantity, unit = match.groups()
        return Column(index=index, header=header, meaning="latency", latency=(statistic, quantity, unit))
    return Column(index=index, header=header, meaning=None)


def _with_wide(columns: list[Column]) -> list[Column]:
    """Return the columns with configurations named in headers recognised.

    Only where at least two of them share a meaning that no plain column has: `break_even_accept_len` beside
    `accept_len` is no configuration called `break_even`.
    """
    plain = {column.meaning for column in columns}
    found = {
        column.index: _wide_label(column.header) for column in columns if column.meaning is None and not column.given
    }
    found = {index: item for index, item in found.items() if item is not None and item[0] not in plain}
    labels: dict[Meaning, set[str]] = {}
    for item in found.values():
        if item is not None:
            labels.setdefault(item[0], set()).add(item[1])
    wide: list[Column] = []
    for column in columns:
        item = found.get(column.index)
        if item is None or len(labels[item[0]]) < 2:
            wide.append(column)
            continue
        percent = _bare(column.header)[1]
        wide.append(Column(index=column.index, header=column.header, meaning=item[0], label=item[1], percent=percent))
    return wide


def _wide_label(header: str) -> tuple[Meaning, str] | None:
    """Return meaning and label of a column such as `bs8_tok_s` or `accept_ratio_k7`; the longest known name wins."""
    name = _bare(header)[0]
    candidates = [
        (len(alias), meaning, label)
        for alias, (meaning, _) in _RANK.items()
        if meaning in WIDE
        for label in (
            name.removesuffix(f"_{alias}") if name.endswith(f"_{alias}") else "",
            name.removeprefix(f"{alias}_") if name.startswith(f"{alias}_") else "",
        )
        if label and not _NO_LABEL.fullmatch(label.replace("_", " "))
    ]
    if not candidates:
        return None
    _, meaning, label = max(candidates)
    return meaning, label
