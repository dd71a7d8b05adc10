"""campaign export and import: a campaign as a folder, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tracker.domain.redaction import is_secret_name, redact_text
from tracker.errors import InputError, StoreError
from tracker.store.base import Query
from tracker.store.campaign_export import write_folder
from tracker.store.campaign_folder import FolderCampaign
from tracker.store.campaign_manifest import MANIFEST
from tracker.store.campaign_parts import CampaignSource
from tracker.store.copying import CopyOutcome, copy_campaign
from tracker.store.matching import check_experiment_name
from tracker.store.mlflow_campaign import MlflowCampaign
from tracker.store.mlflow_campaigns import campaign
from tracker.workflows.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporting:
    """An export under way."""

    folder: Path
    """Where it goes."""
    names: Iterator[str]
    """Runs and memos as they are written; exhausted when the export is whole."""
    secret_tags: tuple[str, ...] = ()
    """Tags given in MLflow that look like secrets and are exported as they are, with where each stands."""


def export_campaign(session: Session, name: str, folder: Path) -> Exporting:
    """Write a campaign with runs, memos, decisions and files into a folder; an unfinished one is finished.

    Raises:
        InputError: The folder holds something else, or cannot be written.
        StoreError: There is no such campaign, or the store does not answer.
    """
    store = session.mlflow_store()
    campaign(store, name)
    source = MlflowCampaign(store, name)
    _require_own(folder, name, source)
    return Exporting(folder=folder, names=write_folder(source, folder), secret_tags=tuple(_secret_tags(source)))


def _require_own(folder: Path, name: str, source: CampaignSource) -> None:
    """Refuse a folder with another campaign's export, whose files would be removed.

    Raises:
        InputError: It holds one.
    """
    try:
        held = json.loads((folder / MANIFEST).read_bytes())["experiment"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return  # writing says what is wrong with it, or finishes what was begun
    if held != name and held not in source.facts().former_names:
        raise InputError(
            f"the folder holds the export of the campaign {held!r}",
            where=str(folder),
            hint="Name a new folder with --out, or delete that one first",
        )


def _secret_tags(source: CampaignSource) -> Iterator[str]:
    """Yield the tags of people that `log-run` would have redacted: what people write in MLflow is theirs."""
    places = [(f"the campaign {source.experiment!r}", source.facts().tags)]
    places += [(f"the run {head.record.name!r}", head.tags) for head in source.heads()]
    for place, tags in places:
        for key, value in tags.items():
            if is_secret_name(key) or redact_text(value) != value:
                yield f"{key} of {place}"


def import_campaign(
    session: Session, folder: Path, *, name: str | None = None, merge: bool = False
) -> Iterator[CopyOutcome]:
    """Yield an outcome for each run and memo of an exported campaign as they are stored; an interrupted import goes on.

    Args:
        session: Settings of the call.
        folder: What `export_campaign` wrote.
        name: Another name for it here.
        merge: Whether it may join a campaign of its name that holds none of its runs.

    Raises:
        InputError: No export, or one that is unfinished or damaged.
        StoreError: The name is taken by another campaign, or the store does not answer.
    """
    source = FolderCampaign(folder)
    wanted = name or source.experiment
    check_experiment_name(wanted)
    store = session.mlflow_store()
    if not merge and wanted in store.experiments():
        here = {run.record.record_id for run in store.query(Query(experiment=wanted))}
        ours = {head.record.record_id for head in source.heads()}
        if here and ours and not here & ours:
            raise StoreError(
                f"the name {wanted!r} is taken by a campaign with other runs",
                where=store.uri,
                hint="Import it as --name OTHER, or add --merge where they belong together",
            )
    return copy_campaign(source, store, name=wanted)


def default_folder(name: str, folder: Path | None) -> Path:
    """Return where an export goes: the folder named, else one of the campaign's name here.

    Raises:
        InputError: It is a file.
    """
    chosen = folder or Path(name)
    if chosen.exists() and not chosen.is_dir():
        raise InputError("this is a file, not a folder", where=str(chosen), hint="Name a new folder with --out")
    return chosen
