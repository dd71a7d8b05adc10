"""Campaigns as MLflow experiments: found, made, and with their facts kept in tags."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tracker.domain.campaign import Campaign
from tracker.errors import StoreError
from tracker.store.codec import decode_campaign, encode_campaign
from tracker.store.mlflow_names import MAX_EXPERIMENT_TAG

PAGE = 1000
OURS = "tracker.campaign_schema"
CAMPAIGN = "tracker.campaign"
CAMPAIGN_SHA256 = "tracker.campaign_sha256"
CAMPAIGN_PARTS = "tracker.campaign_parts"
FORMER_NAMES = "tracker.former_names"
"""Tag: JSON list of the names a campaign had; runs logged under one of them are still the same runs."""
HOW_TO_READ = (
    "Benchmarks and drafter trainings logged by tracker. One run is one server configuration on one workload; metrics "
    "under `bench/` have the number of streams as their step. Tags `validity` and `finding.*` say which numbers to "
    "trust. `record.json` holds everything."
)


def find_experiments(client: Any, *, view: int | None = None) -> dict[str, Any]:
    """Return all experiments by name, which is never there twice: the active ones, or those of MLflow's `ViewType`."""
    from mlflow.entities import ViewType

    found: dict[str, Any] = {}
    token = None
    while True:
        wanted = ViewType.ACTIVE_ONLY if view is None else view
        page = client.search_experiments(view_type=wanted, max_results=PAGE, page_token=token)
        found |= {experiment.name: experiment for experiment in page}
        token = page.token
        if not token:
            return found


def is_campaign(experiment: Any) -> bool:
    """Return whether tracker made the experiment or keeps a campaign's facts in it."""
    return OURS in experiment.tags


def make_experiment(client: Any, name: str, *, root: Path | None, view: Mapping[str, str]) -> Any:
    """Return the experiment, newly made or made by somebody else in the meantime.

    Args:
        client: MlflowClient.
        name: Campaign name.
        root: Absolute folder for artifacts; None where a server chooses. MLflow's own default is a folder in the
            current directory of whoever comes first, which scatters artifacts (measured).
        view: Tags of the house view.

    Raises:
        StoreError: The name belongs to a deleted experiment.
    """
    from mlflow.exceptions import MlflowException

    tags = {
        OURS: "1",
        "mlflow.experimentKind": "custom_model_development",
        "mlflow.note.content": HOW_TO_READ,
        **view,
    }
    location = None if root is None else str(root / name)
    try:
        return client.get_experiment(client.create_experiment(name, artifact_location=location, tags=tags))
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
        experiment = client.get_experiment_by_name(name)
        if experiment is not None and experiment.lifecycle_stage == "active":
            return experiment
        raise deleted_campaign(name) from error


def deleted_campaign(name: str) -> StoreError:
    """Return the error for a name that a deleted experiment holds: MLflow gives it to no other one."""
    return StoreError(
        f"the campaign {name!r} was deleted, and holds its name",
        where=name,
        hint=f"Bring it back with `tracker campaign restore {name}`, or use another name",
    )


def keep_campaign(client: Any, experiment: Any, campaign: Campaign) -> None:
    """Write a campaign's facts into tags of its experiment, in parts where one tag is too short."""
    content = encode_campaign(campaign).decode("utf-8")
    digest = hashlib.sha256(content.encode()).hexdigest()
    if experiment.tags.get(CAMPAIGN_SHA256) == digest:
        return
    parts = [content[i : i + MAX_EXPERIMENT_TAG] for i in range(0, len(content), MAX_EXPERIMENT_TAG)]
    for index, part in enumerate(parts):
        client.set_experiment_tag(experiment.experiment_id, _part_key(index), part)
    client.set_experiment_tag(experiment.experiment_id, CAMPAIGN_PARTS, str(len(parts)))
    client.set_experiment_tag(experiment.experiment_id, CAMPAIGN_SHA256, digest)
    client.set_experiment_tag(experiment.experiment_id, OURS, "1")
    if campaign.question or campaign.title:
        heading = " - ".join(text for text in (campaign.title, campaign.question) if text)
        client.set_experiment_tag(experiment.experiment_id, "mlflow.note.content", f"**{heading}**\n\n{HOW_TO_READ}")


def former_names(experiment: Any) -> tuple[str, ...]:
    """Return the names that a campaign had, oldest first."""
    return tuple(json.loads(experiment.tags.get(FORMER_NAMES, "[]")))


def keep_former_names(client: Any, experiment: Any, names: Iterable[str]) -> None:
    """Remember names that a campaign had; those known already stay where they are."""
    known = former_names(experiment)
    wanted = tuple(dict.fromkeys((*known, *names)))
    if wanted != known:
        client.set_experiment_tag(experiment.experiment_id, FORMER_NAMES, json.dumps(wanted, ensure_ascii=False))


def read_campaign(experiment: Any) -> Campaign | None:
    """Return the facts kept in an experiment's tags, under the name it has now; None when there are none.

    Raises:
        StoreError: Damaged, or written by a newer tracker.
    """
    tags = experiment.tags
    if CAMPAIGN_SHA256 not in tags:
        return None
    where = f"experiment {experiment.name}"
    content = "".join(tags.get(_part_key(i), "") for i in range(int(tags.get(CAMPAIGN_PARTS, "1")))).encode()
    if hashlib.sha256(content).hexdigest() != tags[CAMPAIGN_SHA256]:
        raise StoreError(
            "the campaign's facts are incomplete", where=where, hint="Write them again from campaign.toml (log a run)"
        )
    return dataclasses.replace(decode_campaign(content, where=where), name=experiment.name)


def _part_key(index: int) -> str:
    return CAMPAIGN if index == 0 else f"{CAMPAIGN}.{index}"
