"""Campaigns' facts on their way to the store, beside the runs in a spool."""

from __future__ import annotations

from pathlib import Path

from tracker.domain.campaign import Campaign
from tracker.errors import StoreError
from tracker.store.base import RunStore
from tracker.store.codec import decode_campaign, encode_campaign
from tracker.store.file_names import file_name, short_digest
from tracker.store.matching import check_experiment_name
from tracker.store.spool import Spool, write_durably

FOLDER = "campaigns"
SUFFIX = ".campaign.json"


def put_campaign(campaign: Campaign, spool: Spool) -> Path:
    """Keep a campaign's facts for the next `tracker sync` and return their file; later facts replace earlier ones.

    Raises:
        InputError: The campaign's name is none that a store takes.
        StoreError: The spool cannot be written.
    """
    check_experiment_name(campaign.name)
    name = file_name(campaign.name, otherwise="campaign")
    path = spool.folder / FOLDER / f"{name}-{short_digest(campaign.name)}{SUFFIX}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_durably(path, encode_campaign(campaign))
    except OSError as error:
        raise StoreError(
            f"the facts of the campaign {campaign.name!r} could not be written: {error.strerror or error}",
            where=str(path.parent),
            hint="Free some space or make the folder writable",
        ) from error
    return path


def pending_campaigns(spool: Spool) -> tuple[Path, ...]:
    """Return the files of facts still to send, sorted.

    Raises:
        StoreError: The spool cannot be read.
    """
    return spool.files(SUFFIX, below=FOLDER)


def send_campaign(path: Path, store: RunStore) -> None:
    """Give a file's facts to the store and remove the file.

    Raises:
        StoreError: The file is damaged or of a newer tracker, or the store does not take the facts; the file stays.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return  # another process has just sent it
    except OSError as error:
        raise StoreError(f"the campaign's facts cannot be read: {error.strerror or error}", where=str(path)) from error
    store.save_campaign(decode_campaign(content, where=str(path)))
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"the facts are stored, but their file cannot be removed: {error.strerror or error}", where=str(path)
        ) from error
