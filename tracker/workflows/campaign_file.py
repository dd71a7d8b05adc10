"""Reading campaign.toml: the facts around a campaign and the files its runs come from."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tracker.domain.campaign import Campaign, Claim, Costs, Reference, Traffic
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.training import Training
from tracker.domain.workload import Hardware, Workload
from tracker.errors import InputError
from tracker.workflows.did_you_mean import advice, advice_on_choice

FILE_NAME = "campaign.toml"
SCHEMA_VERSION = 1
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class DrafterFacts:
    """A drafter as campaign.toml declares it."""

    checkpoint: Checkpoint
    """Identity and facts."""
    paths: tuple[str, ...] = ()
    """Paths under which servers were given this drafter."""
    training: Training | None = None
    """Data and budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignInput:
    """One entry of `[[inputs]]`."""

    path: str
    """File or folder, or a glob, relative to campaign.toml."""
    concurrency: int | None = None
    """Streams, where the file does not say."""
    format: str | None = None
    """Importer to force."""
    simulated_acceptance: bool = False
    """Acceptance that was simulated was so on purpose, to measure step times: no error then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignFile:
    """campaign.toml, typed."""

    folder: Path
    """Where it lies."""
    campaign: Campaign
    """The campaign as a whole."""
    drafters: tuple[DrafterFacts, ...] = ()
    """Declared drafters."""
    target: Checkpoint | None = None
    """The model served."""
    hardware: Hardware | None = None
    """Where it is served."""
    workload: Workload | None = None
    """What is asked."""
    server: Mapping[str, Any] = field(default_factory=dict)
    """`engine`, `version`, `typed` flags and `environment` common to all runs."""
    inputs: tuple[CampaignInput, ...] = ()
    """Result files."""

    def drafter(self, name_or_path: str | None) -> DrafterFacts | None:
        """Return the declared drafter of this name or path, else None."""
        if name_or_path is None:
            return None
        wanted = name_or_path.rstrip("/")
        return next((item for item in self.drafters if wanted == item.checkpoint.name or wanted in item.paths), None)

    def input_paths(self) -> tuple[tuple[Path, CampaignInput], ...]:
        """Return every input file or folder with its entry, globs expanded and sorted.

        Raises:
            InputError: An entry matches nothing.
        """
        found: list[tuple[Path, CampaignInput]] = []
        for entry in self.inputs:
            matches = sorted(self.folder.glob(entry.path))
            if not matches:
                raise InputError(
                    f"[[inputs]] path {entry.path!r} matches nothing",
                    where=str(self.folder / FILE_NAME),
                    hint="Correct the path; it is relative to campaign.toml.",
                )
            found += [(match, entry) for match in matches]
        return tuple(found)


def read_campaign(path: Path) -> CampaignFile:
    """Return the campaign described by a campaign.toml, or by the one inside a folder.

    Raises:
        InputError: Not there, not TOML, an unknown key, or a value of the wrong type; names file and key.
    """
    file = path / FILE_NAME if path.is_dir() else path
    try:
        tree = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError("no campaign.toml here", where=str(path), hint="Name the campaign's folder.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not valid TOML: {error}", where=str(file), hint="Correct the line named.") from error
    return _Reader(str(file)).campaign_file(tree, file.parent)


class _Reader:
    """Turns tables into dataclasses, naming file and key on error."""

    def __init__(self, where: str) -> None:
        self._where = where

    def campaign_file(self, tree: Mapping[str, Any], folder: Path) -> CampaignFile:
        known = {"schema_version", "campaign", "costs", "traffic", "claims", "references", "hardware", "server",
                 "target", "workload", "drafter_facts", "drafters", "inputs", "sweep"}  # fmt: skip
        self._refuse_unknown(tree, known, "top level")
        version = tree.get("schema_version")
        if version != SCHEMA_VERSION:
            raise InputError(
                f"schema_version is {version!r}, this version reads {SCHEMA_VERSION}",
                where=self._where,
                hint="Set schema_version = 1, or upgrade tracker.",
            )
        campaign = {
            **tree.get("campaign", {}),
            "costs": self._convert(tree.get("costs", {}), Costs, "costs"),
            "traffic": self._convert(tree.get("traffic", {}), Traffic, "traffic"),
            "claims": tuple(self._convert(item, Claim, "claims") for item in tree.get("claims", ())),
            "references": tuple(self._convert(item, Reference, "references") for item in tree.get("references", ())),
        }
        shared_facts = tree.get("drafter_facts", {})
        return CampaignFile(
            folder=folder,
            campaign=self._convert(campaign, Campaign, "campaign"),
            drafters=tuple(self._drafter({**shared_facts, **item}) for item in tree.get("drafters", ())),
            target=self._optional(tree, "target", Checkpoint),
            hardware=self._optional(tree, "hardware", Hardware),
            workload=self._optional(tree, "workload", Workload),
            server=tree.get("server", {}),
            inputs=tuple(self._convert(item, CampaignInput, "inputs") for item in tree.get("inputs", ())),
        )

    def _drafter(self, table: Mapping[str, Any]) -> DrafterFacts:
        facts = {key: value for key, value in table.items() if key not in ("paths", "training")}
        return DrafterFacts(
            checkpoint=self._convert({**facts, "sources": (FILE_NAME,)}, Checkpoint, "drafters"),
            paths=tuple(table.get("paths", ())),
            training=self._optional(table, "training", Training),
        )

    def _optional(self, tree: Mapping[str, Any], key: str, kind: type[_T]) -> _T | None:
        if key not in tree:
            return None
        table = {name: value for name, value in tree[key].items() if name != "paths"}
        if kind is Checkpoint:
            table["sources"] = (FILE_NAME,)
        return self._convert(table, kind, key)

    def _convert(self, table: Mapping[str, Any], kind: type[_T], key: str) -> _T:
        self._refuse_unknown(table, {item.name for item in dataclasses.fields(kind)}, f"[{key}]")  # type: ignore[arg-type]
        try:
            # Keys of a TOML table are texts, also where they count streams.
            return msgspec.convert(table, kind, str_keys=True)
        except msgspec.ValidationError as error:
            hint = advice_on_choice(str(error), kind) or "Correct the value."
            raise InputError(f"[{key}]: {error}", where=self._where, hint=hint) from error

    def _refuse_unknown(self, table: Mapping[str, Any], known: set[str], place: str) -> None:
        unknown = sorted(set(table) - known)
        if unknown:
            raise InputError(
                f"unknown key {unknown[0]!r} at {place}",
                where=self._where,
                hint=advice(unknown[0], known),
            )
