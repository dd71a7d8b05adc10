"""`[sweep]` of campaign.toml: which servers to start, and what to ask of each."""

from __future__ import annotations

import hashlib
import itertools
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from tracker.errors import InputError
from tracker.load.answers import Sampling
from tracker.load.prompt_files import read_prompts
from tracker.workflows.bench_plan import BenchPlan, Load, closed_loads
from tracker.workflows.campaign_file import FILE_NAME, CampaignFile, read_campaign
from tracker.workflows.sweep_tables import BUILT_IN_PROMPTS, ServerTable, SweepTable, Words, WorkloadTable, read_table


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
    folder = (models or campaign.folder).resolve()
    arms = tuple(_named(_arm(entry, table, campaign, where) for entry in _entries(table, where)))
    _refuse_twice(arms, where)
    return SweepPlan(
        campaign=campaign,
        table=table,
        models=folder,
        target=table.target,
        baseline=_baseline(table),
        arms=arms,
        bench=_bench(table.workload, folder, campaign.folder),
    )


def _entries(table: SweepTable, where: str) -> Iterator[ServerTable]:
    yield from table.servers
    unknown = sorted(set(table.axes) - {"drafter", "algorithm", "shape", "flags"})
    if unknown:
        raise InputError(
            f"unknown axis {unknown[0]!r} at [sweep.axes]",
            where=where,
            hint='Axes are drafter, algorithm, shape and flags; other flags go into flags = ["--a 1", "--a 2"].',
        )
    if table.axes:
        for point in itertools.product(*table.axes.values()):
            yield msgspec.convert(dict(zip(table.axes, point, strict=True)), ServerTable)
    if not table.servers and not table.axes:
        raise InputError("[sweep] names no server", where=where, hint="Add [[sweep.servers]] entries or [sweep.axes].")


def _arm(entry: ServerTable, table: SweepTable, campaign: CampaignFile, where: str) -> tuple[Arm, bool]:
    """Return the server of one entry, and whether its name was given."""
    drafter = _drafter_path(entry.drafter, campaign)
    speculative: list[str] = []
    if entry.algorithm is not None:
        speculative += ["--speculative-algorithm", entry.algorithm]
    if drafter is not None:
        speculative += ["--speculative-draft-model-path", drafter]
    if entry.shape is not None:
        speculative += _shape(entry.shape, where)
    extra = _words(entry.flags)
    parts = (entry.drafter, entry.algorithm, entry.shape, " ".join(extra) or None)
    arm = Arm(
        name=entry.name or "-".join(part.strip("-").replace(" ", "_").replace("/", "_") for part in parts if part),
        argv=_argv(table, (*speculative, *extra)),
        environment={**table.environment, **entry.environment},
        drafter=drafter,
        is_baseline=False,
        allow=entry.allow,
    )
    return arm, entry.name is not None


def _named(arms: Iterator[tuple[Arm, bool]]) -> Iterator[Arm]:
    """Yield the servers; names that were made, not given, are told apart by number."""
    seen: dict[str, int] = {}
    for arm, given in arms:
        name = arm.name or "server"
        seen[name] = seen.get(name, 0) + 1
        yield arm if given or seen[name] == 1 else replace(arm, name=f"{name}-{seen[name]}")


def _refuse_twice(arms: tuple[Arm, ...], where: str) -> None:
    names = [arm.name for arm in arms]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise InputError(f"two servers are called {double!r}", where=where, hint="Rename one.")
    bad = next((name for name in names if "/" in name or name.startswith(".")), None)
    if bad is not None:
        raise InputError(f"the name {bad!r} cannot name a folder", where=where, hint="Use letters, digits and dashes.")


def _drafter_path(drafter: str | None, campaign: CampaignFile) -> str | None:
    declared = campaign.drafter(drafter)
    if declared is not None and declared.paths:
        return declared.paths[0]
    return drafter


def _shape(shape: str, where: str) -> list[str]:
    parts = shape.split("-")
    if len(parts) != 3 or not all(part.isdigit() for part in parts):
        raise InputError(
            f"shape {shape!r} is not STEPS-TOPK-DRAFT_TOKENS", where=where, hint='Write e.g. shape = "3-1-4".'
        )
    names = ("--speculative-num-steps", "--speculative-eagle-topk", "--speculative-num-draft-tokens")
    return [word for pair in zip(names, parts, strict=True) for word in pair]


def _argv(table: SweepTable, extra: tuple[str, ...]) -> tuple[str, ...]:
    return (*_words(table.launch), "--model-path", table.target, *_words(table.flags), *extra)


def _words(words: Words) -> tuple[str, ...]:
    return tuple(shlex.split(words)) if isinstance(words, str) else tuple(words)


def _baseline(table: SweepTable) -> Arm | None:
    baseline = table.baseline
    if baseline is None:
        return None
    return Arm(
        name=baseline.name,
        argv=_argv(table, _words(baseline.flags)),
        environment={**table.environment, **baseline.environment},
        drafter=None,
        is_baseline=True,
        allow=baseline.allow,
    )


def _bench(table: WorkloadTable, models: Path, folder: Path) -> BenchPlan:
    source: str | Path = table.prompts
    if table.prompts != BUILT_IN_PROMPTS:
        source = next((base / table.prompts for base in (models, folder) if (base / table.prompts).is_file()),
                      folder / table.prompts)  # fmt: skip
    prompts = read_prompts(source)
    loads = tuple(Load(concurrency=item.concurrency, requests=item.requests) for item in table.loads)
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
        timeout_s=table.timeout_s,
    )
