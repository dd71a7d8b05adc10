"""`[sweep]` of campaign.toml as it is written: every key, its meaning and its default."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from tracker.errors import InputError
from tracker.load.prompt_files import BUILT_IN
from tracker.workflows.did_you_mean import advice

Words = str | tuple[str, ...]
Count = Annotated[int, Meta(ge=1)]
Port = Annotated[int, Meta(ge=1, le=65_535)]
Seconds = Annotated[float, Meta(gt=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTable:
    """One entry of `[[sweep.servers]]`, or one point of `[sweep.axes]`."""

    name: str | None = None
    """Name of the configuration; made from what differs when None."""
    drafter: str | None = None
    """A drafter of `[[drafters]]` by name, or a path; None for a server without one."""
    algorithm: str | None = None
    """`--speculative-algorithm`; None for a plain server."""
    shape: str | None = None
    """Draft steps, branches and draft tokens: `3-1-4`; None leaves the choice to the server."""
    simulated_accept_length: float | None = None
    """Accept length that the server is made to reach, bonus token included, whatever is drafted: the run serves step
    time only. Needs no trained drafter; with `--load-format dummy` not even weights."""
    processes: int | None = None
    """Times that this server is started anew and measured, under one configuration: the spread shows the noise between
    processes. None is `[sweep] processes`."""
    flags: Words = ()
    """Further flags of this server."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Further variables of this server."""
    allow: tuple[str, ...] = ()
    """Codes of checks that may fail without the server being refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineTable:
    """`[sweep.baseline]`: the plain server and how often it is measured."""

    name: str = "baseline"
    """Its name."""
    flags: Words = ()
    """Further flags."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Further variables."""
    resident: bool = False
    """Stay up, idle, beside each server and be measured before and after it; False starts it anew."""
    every: Count = 1
    """Candidates between two measurements of a baseline that is not resident; 1 is A B A B."""
    allow: tuple[str, ...] = ()
    """As for a server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTable:
    """One entry of `loads`."""

    concurrency: Count
    """Streams in flight."""
    requests: Count
    """Requests in one pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadTable:
    """`[sweep.workload]`."""

    prompts: str = BUILT_IN
    """`builtin`, a file relative to the models' folder, else to campaign.toml; for step times only also `random`
    (words) or `random-ids` (token ids, for a server without a tokenizer)."""
    input_tokens: int | None = None
    """Length of random prompts: token ids, or words."""
    vocab_size: int | None = None
    """Random ids are below this; what the target's config.json says when None."""
    concurrencies: Annotated[tuple[Count, ...], Meta(min_length=1)] = (1,)
    """Levels of load, each over all prompts; `loads` says more."""
    loads: tuple[LoadTable, ...] = ()
    """Levels of load with a number of requests each; instead of `concurrencies`."""
    output_tokens: Count = 256
    """Length limit of an answer."""
    temperature: Annotated[float, Meta(ge=0)] = 0.0
    """Sampling temperature."""
    ignore_eos: bool = True
    """Generate to the limit regardless of end-of-sequence."""
    repeats: Count = 1
    """Passes per load."""
    warmup: Annotated[int, Meta(ge=0)] = 4
    """Requests before the first pass."""
    streamed_fraction: Annotated[float, Meta(ge=0, le=1)] = 0.0
    """Share of requests that are streamed for the time to the first token."""
    timeout_s: Seconds = 300.0
    """Seconds after which a request has failed."""
    route: Literal["auto", "sglang", "openai", "openai-chat"] = "auto"
    """`sglang`, `openai`, `openai-chat` or `auto`."""
    chat_template: str | None = None
    """Folder of the model whose chat template is put around each prompt, or a Jinja file; relative to the models'
    folder, else to campaign.toml. None sends prompts as they are; on `openai-chat` the server applies its own."""
    thinking: bool | None = None
    """Whether the model is to think before it answers: a switch of the chat template, which decides when None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepTable:
    """`[sweep]` itself."""

    launch: Words = ("python3", "-m", "sglang.launch_server")
    """How the engine is started, before its flags."""
    target: Annotated[str, Meta(min_length=1)]
    """Target model: a path relative to the models' folder, or a Hub id."""
    flags: Words = ()
    """Flags of every server."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables of every server."""
    launcher: str = "local"
    """`local`, `template` or `slurm`."""
    template: str | None = None
    """Command around the server's, for the launcher `template`."""
    launcher_options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the launcher `slurm`, for submitit: `slurm_partition`, `gpus_per_node`, `timeout_min`, ..."""
    host: str = "127.0.0.1"
    """Where servers listen and are reached; `0.0.0.0` for the launcher `slurm`, which reaches them by node."""
    start_port: Port = 31_000
    """First port tried."""
    batch: Count = 1
    """Servers started together; one at a time is measured, the others idle. More than 1 saves start-up time only."""
    health_timeout_s: Seconds = 600.0
    """Seconds a server may take to come up."""
    stop_grace_s: Annotated[float, Meta(ge=0)] = 15.0
    """Seconds a server may take to end before it is killed."""
    start_estimate_s: Annotated[float, Meta(ge=0)] = 90.0
    """Expected seconds to start a batch, for the plan."""
    stream_tok_s_estimate: Annotated[float, Meta(gt=0)] = 50.0
    """Expected output tokens per second of one stream, for the plan."""
    command: str | None = None
    """Your own benchmark instead of ours: `{url}`, `{name}`, `{out}` (its result file)."""
    command_timeout_s: Seconds = 3600.0
    """Seconds after which it is ended and its server counts as failed."""
    command_estimate_s: Annotated[float, Meta(ge=0)] = 300.0
    """Expected seconds of one run of it, for the plan."""
    processes: int = 1
    """Times that each server is started and measured; the further ones come after all first ones."""
    stop_early: bool | None = None
    """Leave out the remaining loads of a server that cannot win any more. None: where the order is adaptive, since a
    full sweep is also after accept lengths and step times of servers that lose."""
    baseline: BaselineTable | None = None
    """The plain server."""
    workload: WorkloadTable = WorkloadTable()
    """What is asked."""
    servers: tuple[ServerTable, ...] = ()
    """Candidates, one by one."""
    axes: Mapping[str, tuple[Words | float, ...]] = field(default_factory=dict)
    """Candidates as a product: `drafter`, `algorithm`, `shape`, `simulated_accept_length`, `flags`, each a list."""


def read_table(tree: Mapping[str, Any], where: str) -> SweepTable:
    """Return `[sweep]`, typed.

    Raises:
        InputError: A key is unknown or missing, or a value is of the wrong type; names file and key.
    """
    try:
        table = msgspec.convert(tree, SweepTable)
    except msgspec.ValidationError as error:
        raise InputError(f"[sweep]: {error}", where=where, hint="Correct the value or add the key.") from error
    unknown = _unknown(tree, msgspec.to_builtins(table), "sweep")
    if unknown is not None:
        path, key, fields = unknown
        raise InputError(f"unknown key {key!r} at [{path}]", where=where, hint=advice(key, fields))
    _check_words(table, where)
    return table


def _check_words(table: SweepTable, where: str) -> None:
    """Refuse what a shell could not split either, and what starts nothing.

    Raises:
        InputError: Names the key.
    """
    entries: list[tuple[str, Words | float | None]] = [
        ("launch", table.launch),
        ("flags", table.flags),
        ("command", table.command),
        ("baseline.flags", None if table.baseline is None else table.baseline.flags),
        *(("servers.flags", server.flags) for server in table.servers),
        *(("axes.flags", value) for value in table.axes.get("flags", ())),
    ]
    for key, words in entries:
        try:
            found = shlex.split(words) if isinstance(words, str) else words
        except ValueError as error:
            raise InputError(
                f"{key} = {words!r}: {error}", where=where, hint="Close the quotation, or write a list of words."
            ) from error
        if key in ("launch", "command") and found is not None and not found:
            raise InputError(f"{key} names no program", where=where, hint="Write the command, or leave the key out.")


def _unknown(given: Any, known: Any, path: str) -> tuple[str, str, tuple[str, ...]] | None:
    """Return place and name of the first key that no field takes, with the fields; free-form tables take any."""
    if isinstance(given, Mapping) and isinstance(known, Mapping):
        for key, value in given.items():
            if key not in known:
                return path, key, tuple(known)
            found = _unknown(value, known[key], f"{path}.{key}")
            if found is not None:
                return found
    if isinstance(given, list) and isinstance(known, list | tuple):
        pairs = zip(given, known, strict=True)
        return next((found for a, b in pairs if (found := _unknown(a, b, path)) is not None), None)
    return None
