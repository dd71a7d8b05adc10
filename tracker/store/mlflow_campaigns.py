"""Campaigns as a whole: listed, renamed, deleted and brought back.

A deleted experiment stays in MLflow with all its runs, and holds its name. MLflow brings back every run with it, also
those that were deleted before (3.17, `SqlAlchemyStore.restore_experiment`): a run somebody threw away, or the half of
one that a crash left. So the ids of the deleted ones are kept with the experiment and deleted again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from tracker.errors import StoreError
from tracker.store import (
    mlflow_adopt,
    mlflow_count,
    mlflow_experiments,
    mlflow_once,
    mlflow_read,
    mlflow_reports,
    mlflow_write,
)
from tracker.store.matching import check_experiment_name, no_campaign
from tracker.store.mlflow_errors import store_errors
from tracker.store.mlflow_names import MAX_EXPERIMENT_TAG
from tracker.store.mlflow_store import MlflowStore

DELETED_BEFORE = "tracker.deleted_before."
IDS_A_TAG = MAX_EXPERIMENT_TAG // 33
CampaignState = Literal["active", "deleted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCampaign:
    """A campaign in a store."""

    name: str
    """Its name."""
    state: CampaignState
    """active or deleted."""
    runs: int
    """Runs in it, memos not counted."""
    memos: int
    """Memos in it."""
    others: int
    """Runs in it that another program wrote, adopted or not."""
    changed_at: datetime | None
    """When MLflow last changed it, UTC; None where it does not say."""
    question: str | None = None
    """What is to be decided, from its campaign.toml."""


def campaigns(store: MlflowStore) -> tuple[KeptCampaign, ...]:
    """Return all campaigns, deleted ones last, each by name.

    Raises:
        StoreError: The store cannot be read.
    """
    with store_errors("the campaigns could not be read", where=store.uri):
        found = [item for item in _experiments(store, "all") if mlflow_experiments.is_campaign(item)]
        kept = [_kept(store, item) for item in found]
    return tuple(sorted(kept, key=lambda item: (item.state, item.name)))


def campaign(store: MlflowStore, name: str) -> KeptCampaign:
    """Return one active campaign.

    Raises:
        StoreError: There is none of this name; says what may be meant, or how a deleted one comes back.
    """
    with store_errors(f"the campaign {name!r} could not be read", where=store.uri):
        return _kept(store, _active(store, name))


def rename(store: MlflowStore, old: str, new: str, *, others_too: bool = False) -> None:
    """Give a campaign another name. Its runs stay the runs they are, also when logged once more.

    Args:
        store: The store.
        old: The campaign.
        new: Its new name.
        others_too: Also where other programs write their runs into it.

    Raises:
        InputError: The new name cannot be used.
        StoreError: There is no such campaign, the new name is taken, or other programs' runs are in it.
    """
    check_experiment_name(new)
    with store_errors(f"the campaign {old!r} could not be renamed", where=store.uri):
        experiment = _active(store, old)
        if new == old:
            raise StoreError(f"the campaign is called {old!r} already", where=store.uri)
        holder = next((item for item in _experiments(store, "all") if item.name == new), None)
        if holder is not None and holder.lifecycle_stage == "deleted":
            raise mlflow_experiments.deleted_campaign(new)
        if holder is not None:
            raise StoreError(f"the name {new!r} is taken", where=store.uri, hint="Choose another name")
        if not others_too:
            _require_no_others(store, experiment, "they would go on writing to the old name")
        mlflow_experiments.keep_former_names(store.client, experiment, (old,))
        store.client.rename_experiment(experiment.experiment_id, new)


def delete(store: MlflowStore, name: str, *, others_too: bool = False) -> None:
    """Delete a campaign with its runs and memos, so that `restore` brings back exactly these.

    Args:
        store: The store.
        name: The campaign.
        others_too: Also where other programs' runs are in it; these are deleted with it.

    Raises:
        StoreError: There is no such campaign, or other programs' runs are in it.
    """
    with store_errors(f"the campaign {name!r} could not be deleted", where=store.uri):
        experiment = _active(store, name)
        if not others_too:
            _require_no_others(store, experiment, "they would be deleted with it")
        number = experiment.experiment_id
        gone = sorted(run.info.run_id for run in _runs(store, number, "deleted_only"))
        for key in (key for key in experiment.tags if key.startswith(DELETED_BEFORE)):
            store.client.delete_experiment_tag(number, key)
        for place, start in enumerate(range(0, len(gone), IDS_A_TAG)):
            ids = " ".join(gone[start : start + IDS_A_TAG])
            store.client.set_experiment_tag(number, f"{DELETED_BEFORE}{place}", ids)
        store.client.delete_experiment(number)


def restore(store: MlflowStore, name: str) -> KeptCampaign:
    """Bring a deleted campaign back and return it. Called again after a crash, it finishes.

    Raises:
        StoreError: No deleted campaign has this name.
    """
    with store_errors(f"the campaign {name!r} could not be restored", where=store.uri):
        found = {item.name: item for item in _experiments(store, "all") if mlflow_experiments.is_campaign(item)}
        if name not in found:
            raise no_campaign(name, found, where=store.uri)
        experiment = found[name]
        kept = {key: ids for key, ids in experiment.tags.items() if key.startswith(DELETED_BEFORE)}
        if experiment.lifecycle_stage == "active" and not kept:
            raise StoreError(f"the campaign {name!r} is not deleted", where=store.uri)
        if experiment.lifecycle_stage == "deleted":
            store.client.restore_experiment(experiment.experiment_id)
        gone = {run_id for ids in kept.values() for run_id in ids.split()}
        for run in list(_among(store, experiment.experiment_id, gone, "active_only")):
            store.client.delete_run(run.info.run_id)
        if not kept:
            _discard_halves(store.client, experiment.experiment_id)
        for key in kept:
            store.client.delete_experiment_tag(experiment.experiment_id, key)
        return _kept(store, store.client.get_experiment(experiment.experiment_id))


def _discard_halves(client: Any, number: str) -> None:
    """Delete what a crash had left of runs, where the campaign was deleted in MLflow itself and nobody noted it."""
    runs = [run for run in mlflow_read.search(client, [number], "") if mlflow_write.RECORD_ID in run.data.tags]
    counts = Counter(run.data.tags[mlflow_write.RECORD_ID] for run in runs)
    halves = {run.data.tags[mlflow_write.RECORD_ID] for run in runs if not mlflow_read.is_complete(run)}
    for record_id in sorted(halves | {record_id for record_id, count in counts.items() if count > 1}):
        mine = mlflow_once.runs_of(client, record_id, [number])
        whole = mlflow_once.whole(mine)
        if whole:
            digest = whole[0].data.tags[mlflow_write.CONTENT_SHA256]
            mlflow_once.settle(client, record_id, [number], content_sha256=digest)
        else:
            for run in mine:
                mlflow_once.discard(client, run.info.run_id)


def _active(store: MlflowStore, name: str) -> Any:
    found = {item.name: item for item in _experiments(store, "all") if mlflow_experiments.is_campaign(item)}
    if name not in found:
        raise no_campaign(name, found, where=store.uri)
    if found[name].lifecycle_stage == "deleted":
        raise mlflow_experiments.deleted_campaign(name)
    return found[name]


def _require_no_others(store: MlflowStore, experiment: Any, consequence: str) -> None:
    """Keep a campaign of adopted runs, which is the trainer's own experiment, from being taken for ours.

    Raises:
        StoreError: Runs that another program wrote are in it.
    """
    count = _counts(store, experiment.experiment_id, "active_only")["others"]
    if count:
        raise StoreError(
            f"the campaign {experiment.name!r} is an experiment into which another program wrote {count} "
            f"{'run' if count == 1 else 'runs'}; {consequence}",
            where=store.uri,
            hint="`tracker adopt RUN --forget` takes an adoption back and leaves the experiment; --others-too does it "
            "all the same",
        )


def _experiments(store: MlflowStore, view: str) -> list[Any]:
    from mlflow.entities import ViewType

    return list(mlflow_experiments.find_experiments(store.client, view=ViewType.from_string(view)).values())


def _runs(store: MlflowStore, number: str, view: str, condition: str = "") -> Iterator[Any]:
    from mlflow.entities import ViewType

    return mlflow_read.search(store.client, [number], condition, view=ViewType.from_string(view))


def _among(store: MlflowStore, number: str, run_ids: Collection[str], view: str) -> Iterator[Any]:
    from mlflow.entities import ViewType

    return mlflow_read.search_among(store.client, number, run_ids, view=ViewType.from_string(view))


def _kept(store: MlflowStore, experiment: Any) -> KeptCampaign:
    is_active = experiment.lifecycle_stage == "active"
    view = "active_only" if is_active else "deleted_only"
    gone = {run_id for key, ids in experiment.tags.items() if key.startswith(DELETED_BEFORE) for run_id in ids.split()}
    counts = _counts(store, experiment.experiment_id, view)
    counts.subtract(_tally(_among(store, experiment.experiment_id, gone, view)))
    facts = mlflow_experiments.read_campaign(experiment)
    changed_ms = experiment.last_update_time
    return KeptCampaign(
        name=experiment.name,
        state="active" if is_active else "deleted",
        runs=counts["runs"],
        memos=counts["memos"],
        others=counts["others"],
        changed_at=None if changed_ms is None else datetime.fromtimestamp(changed_ms / 1000, UTC),
        question=None if facts is None else facts.question,
    )


def _counts(store: MlflowStore, number: str, view: str) -> Counter[str]:
    """Return how many runs, memos and runs of other programs there are; few of them are loaded."""
    from mlflow.entities import ViewType

    def count(condition: str) -> int:
        return mlflow_count.count(store.client, number, condition, view=ViewType.from_string(view))

    kind, adopted = f"tags.`{mlflow_reports.KIND}`", f"tags.`{mlflow_adopt.ADOPTED}`"
    try:
        return Counter(
            # All and the few that are not whole are told three times as fast as those that are.
            runs=count("") - count(f"tags.`{mlflow_write.COMPLETE}` IS NULL"),
            memos=count(f"{kind} = '{mlflow_reports.REPORT}'"),
            others=count(f"{kind} IS NULL") + count(f"{kind} IS NOT NULL AND {adopted} IS NOT NULL"),
        )
    except mlflow_count.UncountableError:
        return _tally(_runs(store, number, view))


def _tally(runs: Iterable[Any]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for run in runs:
        counts["runs"] += mlflow_read.is_complete(run)
        counts["memos"] += run.data.tags.get(mlflow_reports.KIND) == mlflow_reports.REPORT
        counts["others"] += not mlflow_adopt.is_ours(run)
    return counts
