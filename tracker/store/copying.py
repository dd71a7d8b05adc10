"""Copying campaigns into a store, as often as one likes: what is there stays what it is, what is missing is added."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tracker.domain.campaign import Campaign
from tracker.domain.record import LoggedRun, StoredRun
from tracker.errors import RecordConflictError, StoreError
from tracker.store import mlflow_experiments, mlflow_read, mlflow_reports, mlflow_write
from tracker.store.campaign_parts import CampaignFacts, CampaignSource, RunHead, WholeMemo
from tracker.store.failures import StoreDownError
from tracker.store.mlflow_campaign import MlflowCampaign
from tracker.store.mlflow_errors import store_errors
from tracker.store.mlflow_projection import CHANGED_AT, written_at
from tracker.store.mlflow_store import MlflowStore

CopyStatus = Literal["copied", "amended", "present", "conflict", "failed"]
FACTS = "campaign facts"


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyOutcome:
    """What became of one run, one memo, or of a campaign's facts."""

    experiment: str
    """Campaign."""
    name: str
    """The run's name; `memo KEY` for a memo, `campaign facts` for those."""
    status: CopyStatus
    """copied; amended: was there, later corrections or a decision were added; present: was there; conflict: is there
    with other content, which stays; failed: could not be read or written."""
    run_id: str | None = None
    """Its id in the store copied to; None where it did not get there, and for facts."""
    error: StoreError | RecordConflictError | None = None
    """Why it was not copied."""


def copy_store(source: MlflowStore, target: MlflowStore) -> Iterator[CopyOutcome]:
    """Yield an outcome for every run, memo and campaign of a store as they are copied. The source is only read.

    Raises:
        StoreError: Either store does not answer, or the source cannot be searched.
    """
    for experiment in source.experiments():
        yield from copy_campaign(MlflowCampaign(source, experiment), target)


def copy_campaign(source: CampaignSource, target: MlflowStore, *, name: str | None = None) -> Iterator[CopyOutcome]:
    """Yield an outcome for the facts, every run and every memo of a campaign as they are copied.

    Args:
        source: Where it is; only read.
        target: Where it goes.
        name: Its name there; its own when None.

    Raises:
        StoreError: A store does not answer, or the source cannot be read.
    """
    experiment = name or source.experiment
    facts = source.facts()
    here: dict[str, str] = {}
    yield from _copy_facts(facts, target, experiment, source.experiment)
    there = _runs_there(target, experiment)
    aliases = _names_in_memos(source)
    for head in source.heads():
        moved = dataclasses.replace(head, record=head.record.replace(experiment=experiment))
        try:
            outcome = _copy_run(source, target, moved, there.get(head.record.record_id))
            if outcome.run_id is not None:
                _require_campaign(target, moved, outcome.run_id)
                here[head.record.record_id] = outcome.run_id
                _tag_run(target, moved, outcome.run_id, aliases.get(head.record.record_id, ()))
            yield outcome
        except StoreDownError:
            raise
        except RecordConflictError as error:
            yield _outcome(moved, "conflict", error=error)
        except StoreError as error:
            yield _outcome(moved, "failed", error=error)
    yield from _copy_memos(source, target, experiment, here)
    _keep_former_names(target, experiment, facts, source.experiment)


def _copy_facts(facts: CampaignFacts, target: MlflowStore, experiment: str, called: str) -> Iterator[CopyOutcome]:
    ours = None if facts.campaign is None else dataclasses.replace(facts.campaign, name=experiment)
    if ours is None:
        return
    theirs = target.load_campaign(experiment)
    if theirs is None:
        target.save_campaign(ours)
    if theirs is None or theirs == ours:
        _keep_former_names(target, experiment, facts, called)
        yield CopyOutcome(experiment=experiment, name=FACTS, status="copied" if theirs is None else "present")
        return
    yield CopyOutcome(experiment=experiment, name=FACTS, status="conflict", error=_other_facts(theirs, target))


def _other_facts(theirs: Campaign, target: MlflowStore) -> RecordConflictError:
    return RecordConflictError(
        f"the campaign {theirs.name!r} has other facts there, which stay",
        where=target.uri,
        hint="Log its campaign.toml again to replace them",
    )


def _keep_former_names(target: MlflowStore, experiment: str, facts: CampaignFacts, called: str) -> None:
    """Keep what the runs' digests depend on, and the tags that people gave the campaign."""
    with store_errors(f"the campaign {experiment!r} could not be tagged", where=target.uri):
        found = mlflow_experiments.find_experiments(target.client).get(experiment)
        if found is None:
            return  # neither facts nor runs
        names = (*facts.former_names, *(() if called == experiment else (called,)))
        mlflow_experiments.keep_former_names(target.client, found, names)
        for key, value in facts.tags.items():
            if key not in found.tags:
                target.client.set_experiment_tag(found.experiment_id, key, value)


def _runs_there(target: MlflowStore, experiment: str) -> dict[str, tuple[Any, StoredRun]]:
    """Return the target's runs as MLflow and as we have them, by record id."""
    with store_errors(f"the runs of {experiment!r} could not be read", where=target.uri):
        found = mlflow_experiments.find_experiments(target.client).get(experiment)
        if found is None:
            return {}
        condition = f"tags.`{mlflow_write.COMPLETE}` = 'true'"
        runs = list(mlflow_read.search(target.client, [found.experiment_id], condition))
        return {run.data.tags[mlflow_write.RECORD_ID]: (run, target.stored(run, experiment)) for run in runs}


def _names_in_memos(source: CampaignSource) -> dict[str, tuple[str, ...]]:
    """Return, by record id, the run ids by which the campaign's memos name a run."""
    found: dict[str, dict[str, None]] = {}
    for memo in source.memos():
        for run_id, record_id in memo.record_ids.items():
            found.setdefault(record_id, {})[run_id] = None
    return {record_id: tuple(ids) for record_id, ids in found.items()}


def _copy_run(
    source: CampaignSource, target: MlflowStore, head: RunHead, there: tuple[Any, StoredRun] | None
) -> CopyOutcome:
    if there is None or there[0].data.tags.get(mlflow_write.CONTENT_SHA256) != head.content_sha256:
        # What makes a run this run was fixed when it was logged; corrections since then must not make it another.
        whole = source.whole(head)
        moved = LoggedRun(record=head.record, requests=whole.requests, attachments=whole.attachments)
        return _outcome(head, "copied", run_id=target.save_as(moved, content_sha256=head.content_sha256))
    run = there[1]
    known = run.record.amendments
    missing = head.record.amendments[len(known) :]
    if head.record.amendments[: len(known)] != known:
        raise RecordConflictError(
            f"the run is corrected differently there ({run.run_id}), and stays so",
            where=target.uri,
            hint=f"Correct it there with `tracker amend {run.run_id}`",
        )
    for amendment in missing:
        target.amend(run.run_id, amendment)
    return _outcome(head, "amended" if missing else "present", run_id=run.run_id)


def _require_campaign(target: MlflowStore, head: RunHead, run_id: str) -> None:
    """Refuse to call a run copied that is stored in another campaign already.

    Raises:
        RecordConflictError: It is; names the campaign.
    """
    found = target.load(run_id).record.experiment
    if found != head.record.experiment:
        raise RecordConflictError(
            f"the run is in the campaign {found!r} there already ({run_id})",
            where=target.uri,
            hint="A run is stored once; rename that campaign with `tracker campaign rename`, or delete it first",
        )


def _tag_run(target: MlflowStore, head: RunHead, run_id: str, named: Iterable[str]) -> None:
    """Give a copied run the ids by which memos name it, and the tags that people gave it."""
    from mlflow.entities import RunTag

    with store_errors(f"the run {run_id} could not be tagged", where=target.uri):
        run = target.client.get_run(run_id)
        ids = dict.fromkeys((*mlflow_read.earlier_ids(run), *head.run_ids, *named))
        wanted: dict[str, str] = {key: value for key, value in head.tags.items() if key not in run.data.tags}
        if (earlier := " ".join(known for known in ids if known != run_id)) != " ".join(mlflow_read.earlier_ids(run)):
            wanted[mlflow_read.EARLIER_IDS] = earlier
            # Whoever has read the run before looks for what changed since.
            wanted[CHANGED_AT] = written_at(run.data.tags.get(CHANGED_AT, ""))
        if wanted:
            target.client.log_batch(run_id, tags=[RunTag(key, value) for key, value in wanted.items()])


def _copy_memos(
    source: CampaignSource, target: MlflowStore, experiment: str, here: Mapping[str, str]
) -> Iterator[CopyOutcome]:
    theirs: dict[str, WholeMemo] | None = None
    for memo in source.memos():
        if theirs is None:  # only now: a campaign without memos may have no experiment there yet
            theirs = {found.memo.key: found for found in MlflowCampaign(target, experiment).memos()}
        name = f"memo {memo.memo.key}"
        try:
            status, run_id = _copy_memo(memo, theirs.get(memo.memo.key), target, experiment, here)
            yield CopyOutcome(experiment=experiment, name=name, status=status, run_id=run_id)
        except StoreDownError:
            raise
        except RecordConflictError as error:
            yield CopyOutcome(experiment=experiment, name=name, status="conflict", error=error)
        except StoreError as error:
            yield CopyOutcome(experiment=experiment, name=name, status="failed", error=error)


def _copy_memo(
    memo: WholeMemo, there: WholeMemo | None, target: MlflowStore, experiment: str, here: Mapping[str, str]
) -> tuple[CopyStatus, str]:
    if there is not None and there.memo.files != memo.memo.files:
        if there.memo.generated_at >= memo.memo.generated_at:
            raise _other_memo(memo, target, "with other content")
        there = None  # written anew since it was copied
    status: CopyStatus = "present"
    if there is None:
        ids = tuple(here[record] for record in dict.fromkeys(memo.record_ids.values()) if record in here)
        named = {name: here[record] for name, record in memo.record_ids.items() if record in here}
        moved = dataclasses.replace(memo.memo, run_ids=ids, named=named)
        run_id = target.save_report(experiment, moved).run_id
        status = "copied"
    else:
        run_id = there.place
    _keep_earlier_ids(target, run_id, memo)
    if memo.decision is None or (there is not None and there.decision == memo.decision):
        return status, run_id
    if there is not None and there.decision is not None:
        raise _other_memo(memo, target, "with another decision")
    target.save_decision(run_id, memo.decision)
    return ("amended" if status == "present" else status), run_id


def _keep_earlier_ids(target: MlflowStore, run_id: str, memo: WholeMemo) -> None:
    with store_errors(f"the memo {memo.memo.key!r} could not be tagged", where=target.uri):
        run = mlflow_reports.find(target.client, run_id, where=target.uri)
        known = mlflow_read.earlier_ids(run)
        ids = " ".join(item for item in dict.fromkeys((*known, *memo.run_ids)) if item != run_id)
        if ids != " ".join(known):
            target.client.set_tag(run_id, mlflow_read.EARLIER_IDS, ids)


def _other_memo(memo: WholeMemo, target: MlflowStore, how: str) -> RecordConflictError:
    return RecordConflictError(
        f"a memo of this name is there {how}, which stays", where=target.uri, hint=f"It is `{memo.memo.key}` in both"
    )


def _outcome(
    head: RunHead,
    status: CopyStatus,
    *,
    run_id: str | None = None,
    error: StoreError | RecordConflictError | None = None,
) -> CopyOutcome:
    record = head.record
    return CopyOutcome(experiment=record.experiment, name=record.name, status=status, run_id=run_id, error=error)
