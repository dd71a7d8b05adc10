"""`[sweep.workload]` as the benchmark that every server of a sweep gets."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tracker.errors import InputError
from tracker.load.answers import Sampling
from tracker.load.chat_template import ChatTemplate, read_chat_template
from tracker.load.prompt_files import BUILT_IN, read_prompts
from tracker.load.prompts import PromptSet
from tracker.load.random_prompts import RANDOM_IDS, RANDOM_TEXT, random_ids, random_words
from tracker.workflows.bench_plan import REQUESTS_PER_STREAM, BenchPlan, Load, closed_loads
from tracker.workflows.sweep_tables import WorkloadTable


def read_bench(table: WorkloadTable, *, target: str, models: Path, folder: Path, where: str) -> BenchPlan:
    """Return what is asked of each server.

    Args:
        table: `[sweep.workload]`.
        target: Target as the servers get it; its config.json gives the size of the vocabulary for random ids.
        models: Folder that relative paths start from.
        folder: Folder of campaign.toml, tried second.
        where: campaign.toml, for errors.

    Raises:
        InputError: The prompts or the chat template cannot be read or made, or nothing would carry the thinking switch.
    """
    loads = tuple(Load(concurrency=item.concurrency, requests=item.requests) for item in table.loads)
    if table.prompts in (RANDOM_IDS, RANDOM_TEXT):
        prompts = _random(table, loads, models / target, where)
    else:
        prompts = read_prompts(_source(table.prompts, models, folder, where))
    return BenchPlan(
        prompts=prompts,
        loads=loads or closed_loads(table.concurrencies, prompts=len(prompts.prompts), requests=None),
        sampling=Sampling(
            max_output_tokens=table.output_tokens, temperature=table.temperature, ignore_eos=table.ignore_eos
        ),
        repeats=table.repeats,
        warmup_requests=table.warmup,
        streamed_fraction=table.streamed_fraction,
        route=table.route,
        chat_template=_chat_template(table, models, folder, where),
        thinking=_thinking(table, where),
        timeout_s=table.timeout_s,
    )


def _source(prompts: str, models: Path, folder: Path, where: str) -> str | Path:
    if prompts == BUILT_IN:
        return prompts
    found = next((base / prompts for base in (models, folder) if (base / prompts).is_file()), None)
    if found is None:
        places = dict.fromkeys(str((base / prompts).parent) for base in (models, folder.resolve()))
        raise InputError(
            f"the prompts cannot be read: there is no {Path(prompts).name} in {' or '.join(places)}",
            where=f"{where}, [sweep.workload] prompts",
            hint=f"Make them first, name with --models the folder that has them, or write prompts = {BUILT_IN!r}.",
        )
    return found


def _chat_template(table: WorkloadTable, models: Path, folder: Path, where: str) -> ChatTemplate | None:
    if table.chat_template is None:
        return None
    if table.prompts == RANDOM_IDS:
        raise InputError(
            f"prompts = {RANDOM_IDS!r} are token ids, which no chat template is put around",
            where=where,
            hint=f"Leave chat_template out, or write prompts = {RANDOM_TEXT!r}.",
        )
    path = Path(table.chat_template).expanduser()
    return read_chat_template(next((base / path for base in (models, folder) if (base / path).exists()), models / path))


def _thinking(table: WorkloadTable, where: str) -> bool | None:
    if table.thinking is not None and table.chat_template is None and table.route != "openai-chat":
        raise InputError(
            "thinking is a switch of the chat template, and none is used",
            where=where,
            hint='Add chat_template = "MODEL_FOLDER" to [sweep.workload], or route = "openai-chat".',
        )
    return table.thinking


def _random(table: WorkloadTable, loads: tuple[Load, ...], target: Path, where: str) -> PromptSet:
    if table.input_tokens is None or table.input_tokens < 1:
        raise InputError(
            f"prompts = {table.prompts!r} needs a length", where=where, hint="Add input_tokens = 256 (or another)."
        )
    # None twice in one pass, or the prefix cache would answer for the server.
    count = max((load.requests for load in loads), default=REQUESTS_PER_STREAM * max(table.concurrencies))
    if table.prompts == RANDOM_TEXT:
        return random_words(count, length=table.input_tokens, source=read_prompts(BUILT_IN), seed=0)
    return random_ids(count, length=table.input_tokens, vocab_size=_vocab_size(table, target, where), seed=0)


def _vocab_size(table: WorkloadTable, target: Path, where: str) -> int:
    if table.vocab_size is not None:
        return table.vocab_size
    try:
        config = msgspec.json.decode((target / "config.json").read_bytes())
        size = config.get("vocab_size", config.get("text_config", {}).get("vocab_size"))
    except (OSError, msgspec.DecodeError, AttributeError):
        size = None
    if not isinstance(size, int) or size < 2:
        raise InputError(
            f"the size of the target's vocabulary is not known: {target / 'config.json'} does not say",
            where=where,
            hint="Add vocab_size to [sweep.workload].",
        )
    return size
