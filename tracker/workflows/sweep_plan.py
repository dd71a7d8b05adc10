"""`[sweep]` of campaign.toml: which servers to start, and what to ask of each."""

from __future__ import annotations

import hashlib
import itertools
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from tracker import launchers
from tracker.errors import InputError
from tracker.workflows.bench_plan import BenchPlan
from tracker.workflows.campaign_file import FILE_NAME, CampaignFile, read_campaign
from tracker.workflows.did_you_mean import advice
from tracker.workflows.sweep_argv import engine_of, model_words, speculative_words, split_words
from tracker.workflows.sweep_tables import BaselineTable, ServerTable, SweepTable, read_table
from tracker.workflows.sweep_workload import read_bench

CONFIGURATION_TAG = "sweep.configuration"
# File systems take 255 bytes; an ending and a temporary name come on top.
_LONGEST_NAME = 200
AXES = ("drafter", "algorithm", "shape", "simulated_accept_length", "flags")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One server of a sweep."""

    name: str
    """Unique name."""
    argv: tuple[str, ...]
    """Its command without `--host` and `--port`, which say nothing about the configuration."""
    environment: Mapping[str, str]
    """Its variables."""
    drafter: str | None
    """Path of its drafter as the server gets it."""
    is_baseline: bool
    """Whether this is the plain server of `[sweep.baseline]`."""
    allow: tuple[str, ...]
    """Codes of checks that may fail."""
    simulated_accept_length: float | None = None
    """Accept length that the server is made to reach; None when acceptance is real."""
    process: int = 1
    """Which start of this configuration it is."""
    configuration: str = ""
    """Identity of its flags and of what pins or wraps it, without the drafter and without forced acceptance: servers of
    one share a step time."""
    template: str | None = None
    """What its command is wrapped in; None for a server started by itself."""
    benchmark: str | None = None
    """The user's own benchmark that measures it; None for ours."""

    @property
    def tags(self) -> dict[str, str]:
        """Return what its record is tagged with."""
        length = self.simulated_accept_length
        simulated = {} if length is None else {"sweep.simulated_accept_length": f"{length:g}"}
        return {"sweep.process": str(self.process), CONFIGURATION_TAG: self.configuration, **simulated}

    def command(self, *, host: str, port: int) -> tuple[str, ...]:
        """Return the whole command."""
        return (*self.argv, "--host", host, "--port", str(port))

    def digest(self, plan: BenchPlan) -> str:
        """Return the identity of this server under this workload, for resuming."""
        what = {
            # Two servers with one command line are replicates, told apart by name.
            "name": self.name,
            "argv": self.argv,
            "environment": dict(sorted(self.environment.items())),
            "prompts": plan.prompts.digest,
            "loads": [[load.concurrency, load.requests] for load in plan.loads],
            "sampling": [plan.sampling.max_output_tokens, plan.sampling.temperature, plan.sampling.ignore_eos],
            "repeats": plan.repeats,
            # Only where used: a sweep that was begun before these could be written goes on.
            **({} if plan.chat_template is None else {"chat_template": plan.chat_template.digest}),
            **({} if plan.thinking is None else {"thinking": plan.thinking}),
            **({} if plan.streamed_fraction == 0 else {"streamed": plan.streamed_fraction}),
            **({} if plan.route == "auto" else {"route": plan.route}),
            **({} if self.benchmark is None else {"benchmark": self.benchmark}),
            **({} if self.template is None else {"template": self.template}),
        }
        return hashlib.sha256(msgspec.json.encode(what, order="sorted")).hexdigest()[:24]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPlan:
    """A sweep, ready to run."""

    campaign: CampaignFile
    """The campaign around it."""
    table: SweepTable
    """What campaign.toml says."""
    models: Path
    """Folder that relative model paths start from; servers run in it."""
    target: str
    """Target as the servers get it."""
    baseline: Arm | None
    """The plain server."""
    arms: tuple[Arm, ...]
    """Candidates in order."""
    bench: BenchPlan
    """What is asked of each."""

    @property
    def common(self) -> tuple[str, ...]:
        """Return the command that all servers share, before their own flags."""
        return _argv(self.table, ())

    @property
    def engine(self) -> str | None:
        """Return the engine that the launch command starts; None when not known."""
        return engine_of(split_words(self.table.launch))

    @property
    def where(self) -> str:
        """Return the file it came from."""
        return str(self.campaign.folder / FILE_NAME)


def read_sweep(path: Path, *, models: Path | None = None) -> SweepPlan:
    """Return the sweep that a campaign.toml describes.

    Args:
        path: campaign.toml or its folder.
        models: Folder of target and drafters; campaign.toml's own when None.

    Raises:
        InputError: No `[sweep]`, a key that is unknown or of the wrong type, a drafter that is not declared, two
            servers of one name, or prompts that cannot be read.
    """
    campaign = read_campaign(path)
    where = str(campaign.folder / FILE_NAME)
    tree = tomllib.loads((campaign.folder / FILE_NAME if path.is_dir() else path).read_text(encoding="utf-8"))
    if "sweep" not in tree:
        raise InputError("there is no [sweep] in it", where=where, hint="Say there which servers to start.")
    table = read_table(tree["sweep"], where)
    if table.launcher not in launchers.launchers():
        raise InputError(
            f"there is no launcher {table.launcher!r}", where=where, hint=advice(table.launcher, launchers.launchers())
        )
    folder = (models or campaign.folder).resolve()
    if not folder.is_dir():
        raise InputError("there is no such folder", where=str(models), hint="Name with --models the folder of models.")
    arms = tuple(_named(_starts(_entries(table, where), table, campaign, where)))
    _refuse_twice(arms, table.baseline, where)
    return SweepPlan(
        campaign=campaign,
        table=table,
        models=folder,
        target=table.target,
        baseline=_baseline(table),
        arms=arms,
        bench=read_bench(table.workload, target=table.target, models=folder, folder=campaign.folder, where=where),
    )


def _entries(table: SweepTable, where: str) -> Iterator[ServerTable]:
    yield from table.servers
    unknown = sorted(set(table.axes) - set(AXES))
    if unknown:
        raise InputError(
            f"unknown axis {unknown[0]!r} at [sweep.axes]",
            where=where,
            hint=f'{advice(unknown[0], AXES)} Other flags go into flags = ["--a 1", "--a 2"].',
        )
    if table.axes:
        for point in itertools.product(*table.axes.values()):
            try:
                yield msgspec.convert(dict(zip(table.axes, point, strict=True)), ServerTable)
            except msgspec.ValidationError as error:
                raise InputError(f"[sweep.axes]: {error}", where=where, hint="Correct the value.") from error
    if not table.servers and not table.axes:
        raise InputError("[sweep] names no server", where=where, hint="Add [[sweep.servers]] entries or [sweep.axes].")


def _starts(
    entries: Iterable[ServerTable], table: SweepTable, campaign: CampaignFile, where: str
) -> Iterator[tuple[Arm, bool]]:
    """Yield the servers of all entries; the second starts come after all first ones, so that drift does not hide."""
    counted = [(entry, table.processes if entry.processes is None else entry.processes) for entry in entries]
    few = next((count for _, count in counted if count < 1), None)
    if few is not None:
        raise InputError(f"processes = {few} starts nothing", where=where, hint="Write 1 or more.")
    for process in range(1, max((count for _, count in counted), default=0) + 1):
        for entry, count in counted:
            if process <= count:
                yield _arm(entry, table, campaign, where, process)


def _arm(entry: ServerTable, table: SweepTable, campaign: CampaignFile, where: str, process: int) -> tuple[Arm, bool]:
    """Return the server of one entry, and whether its name was given."""
    drafter = _drafter_path(entry.drafter, campaign)
    spoken = speculative_words(entry, drafter, engine_of(split_words(table.launch)), where)
    extra = split_words(entry.flags)
    length = entry.simulated_accept_length
    simulated = None if length is None else f"accept-{length:g}"
    parts = (entry.drafter, entry.algorithm, entry.shape, simulated, " ".join(extra) or None)
    arm = Arm(
        name=entry.name or "-".join(part.strip("-").replace(" ", "_").replace("/", "_") for part in parts if part),
        argv=_argv(table, (*spoken.flags, *extra)),
        environment={**table.environment, **(spoken.environment or {}), **entry.environment},
        drafter=drafter,
        is_baseline=False,
        allow=entry.allow,
        simulated_accept_length=length,
        process=process,
        configuration=_configuration(entry, table, where),
        template=_template(table),
        benchmark=table.command,
    )
    return arm, entry.name is not None


def _configuration(entry: ServerTable, table: SweepTable, where: str) -> str:
    real = replace(entry, simulated_accept_length=None)
    spoken = speculative_words(real, None, engine_of(split_words(table.launch)), where)
    variables = {**table.environment, **entry.environment}
    return _digest(table, _argv(table, (*spoken.flags, *split_words(entry.flags))), variables)


def _digest(table: SweepTable, argv: tuple[str, ...], variables: Mapping[str, str]) -> str:
    what = [argv, sorted(variables.items()), table.launcher, _template(table)]
    return hashlib.sha256(msgspec.json.encode(what)).hexdigest()[:24]


def _template(table: SweepTable) -> str | None:
    return table.template if table.launcher == "template" else None


def _named(arms: Iterator[tuple[Arm, bool]]) -> Iterator[Arm]:
    """Yield the servers; names that were made, not given, are told apart by number, starts of one server by `-pN`."""
    seen: dict[tuple[str, int], int] = {}
    for arm, given in arms:
        name = arm.name or "server"
        key = (name, arm.process)
        seen[key] = seen.get(key, 0) + 1
        number = "" if given or seen[key] == 1 else f"-{seen[key]}"
        yield replace(arm, name=f"{name}{number}" + (f"-p{arm.process}" if arm.process > 1 else ""))


def _refuse_twice(arms: tuple[Arm, ...], baseline: BaselineTable | None, where: str) -> None:
    names = [arm.name for arm in arms]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise InputError(f"two servers are called {double!r}", where=where, hint="Rename one.")
    # Its measurements are numbered: NAME-1, NAME-2, or NAME-1-1 where the benchmark is the user's own.
    taken = None if baseline is None else re.compile(re.escape(baseline.name) + r"(-\d+){0,2}")
    like = next((name for name in names if taken is not None and taken.fullmatch(name)), None)
    if like is not None:
        raise InputError(f"the name {like!r} is one of the baseline's", where=where, hint="Rename the server.")
    names += [] if baseline is None else [baseline.name]
    bad = next((name for name in names if "/" in name or name.startswith(".") or not name.isprintable()), None)
    if bad is not None:
        raise InputError(f"the name {bad!r} cannot name a folder", where=where, hint="Use letters, digits and dashes.")
    long = next((name for name in names if len(name.encode()) > _LONGEST_NAME), None)
    if long is not None:
        raise InputError(f"the name {long[:40]!r}... is too long for a file", where=where, hint="Give it a name.")


def _drafter_path(drafter: str | None, campaign: CampaignFile) -> str | None:
    declared = campaign.drafter(drafter)
    if declared is not None and declared.paths:
        return declared.paths[0]
    return drafter


def _argv(table: SweepTable, extra: tuple[str, ...]) -> tuple[str, ...]:
    launch = split_words(table.launch)
    return (*launch, *model_words(launch, table.target), *split_words(table.flags), *extra)


def _baseline(table: SweepTable) -> Arm | None:
    baseline = table.baseline
    if baseline is None:
        return None
    argv, variables = _argv(table, split_words(baseline.flags)), {**table.environment, **baseline.environment}
    return Arm(
        name=baseline.name,
        argv=argv,
        environment=variables,
        drafter=None,
        is_baseline=True,
        allow=baseline.allow,
        configuration=_digest(table, argv, variables),
        template=_template(table),
        benchmark=table.command,
    )
