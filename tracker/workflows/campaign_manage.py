"""campaign list, rename, delete, restore: campaigns as a whole."""

from __future__ import annotations

from tracker.store import mlflow_campaigns
from tracker.store.mlflow_campaigns import KeptCampaign
from tracker.workflows.session import Session


def list_campaigns(session: Session) -> tuple[KeptCampaign, ...]:
    """Return all campaigns of the store, deleted ones last.

    Raises:
        StoreError: The store is unreachable.
    """
    return mlflow_campaigns.campaigns(session.mlflow_store())


def find_campaign(session: Session, name: str) -> KeptCampaign:
    """Return one campaign.

    Raises:
        StoreError: There is none of this name; says what may be meant.
    """
    return mlflow_campaigns.campaign(session.mlflow_store(), name)


def rename_campaign(session: Session, old: str, new: str, *, others_too: bool = False) -> KeptCampaign:
    """Give a campaign another name and return it; with `others_too` also one that other programs write into.

    Raises:
        InputError: The new name cannot be used.
        StoreError: There is no such campaign, the new name is taken, or other programs' runs are in it.
    """
    store = session.mlflow_store()
    mlflow_campaigns.rename(store, old, new, others_too=others_too)
    return mlflow_campaigns.campaign(store, new)


def delete_campaign(session: Session, name: str, *, others_too: bool = False) -> None:
    """Delete a campaign; `restore_campaign` brings it back as it was.

    Raises:
        StoreError: There is no such campaign, or other programs' runs are in it and `others_too` was not said.
    """
    mlflow_campaigns.delete(session.mlflow_store(), name, others_too=others_too)


def restore_campaign(session: Session, name: str) -> KeptCampaign:
    """Bring a deleted campaign back and return it.

    Raises:
        StoreError: No deleted campaign has this name.
    """
    return mlflow_campaigns.restore(session.mlflow_store(), name)
