"""Memos in MLflow: runs of kind `report` beside the benchmarks they speak of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from tracker.errors import RunNotFoundError, StoreError
from tracker.store.base import ReportRun, StoredReport
from tracker.store.mlflow_compared import NOT_COMPARED, VS_BASELINE, Compared, compared
from tracker.store.mlflow_names import MAX_RUN_NAME, shortened
from tracker.store.mlflow_read import read_artifact, search, text_condition
from tracker.store.mlflow_write import NOTE, log_files

KIND = "tracker.kind"
REPORT = "report"
KEY = "tracker.report_key"
GENERATED_AT = "tracker.report_at"
DECIDED = "tracker.decision"
OF_RUN = "tracker.report"
TOLD = "tracker.told_sha256"
"""Tag: digest of what the runs were told of themselves, once all of them know."""
PARAM = "report."
MEMO_JSON = "memo.json"
DECISION_JSON = "decision.json"
HOW_TO_READ = "The memo is `memo.html` among the artifacts; `memo.json` has every number with its runs and formula."


def save(client: Any, experiment_id: str, memo: ReportRun) -> str:
    """Return the id of the run that holds the memo, its own from before or a new one.

    Without the mark of a complete run it is invisible to every query for runs. The tag with the time comes last: a
    memo that was not written to its end is not listed. Runs are told what the memo says of them; the same memo made
    again tells them nothing new, and none is written.
    """
    from mlflow.entities import Metric, RunTag

    moment_ms = round(1000 * memo.generated_at.timestamp())
    earlier = _earlier(client, experiment_id, memo.key)
    if earlier is None:
        name = shortened(f"memo {memo.generated_at:%Y-%m-%d}: {memo.verdict}", MAX_RUN_NAME, where=MEMO_JSON)
        tags = {KIND: REPORT, KEY: memo.key}
        run_id = str(client.create_run(experiment_id, start_time=moment_ms, tags=tags, run_name=name).info.run_id)
    else:
        run_id = earlier.info.run_id
    log_files(client, run_id, dict(memo.files))
    tags = {
        "verdict": memo.verdict,
        NOTE: f"**{memo.headline}**\n\n{HOW_TO_READ}",
        **{f"{PARAM}{key}": value for key, value in memo.params.items()},
        GENERATED_AT: memo.generated_at.isoformat(),
    }
    client.log_batch(
        run_id,
        metrics=[Metric(key, value, moment_ms, 0) for key, value in memo.metrics.items()],
        tags=[RunTag(key, value) for key, value in tags.items()],
    )
    client.set_terminated(run_id, status="FINISHED", end_time=moment_ms)
    said = {memo.named.get(name, name): of_run for name, of_run in compared(memo.files[MEMO_JSON]).items()}
    told = {used: said.get(used, Compared(tags={VS_BASELINE: NOT_COMPARED})) for used in memo.run_ids}
    digest = hashlib.sha256(repr(sorted(told.items(), key=lambda item: item[0])).encode()).hexdigest()
    if earlier is not None and earlier.data.tags.get(TOLD) == digest:
        return run_id
    for used, of_run in told.items():
        client.log_batch(
            used,
            metrics=[Metric(key, value, moment_ms, 0) for key, value in of_run.metrics.items()],
            tags=[RunTag(key, value) for key, value in {OF_RUN: run_id, **of_run.tags}.items()],
        )
    client.set_tag(run_id, TOLD, digest)
    return run_id


def keep_decision(client: Any, run_id: str, decision: bytes) -> None:
    """Write the decision beside the memo."""
    log_files(client, run_id, {DECISION_JSON: decision})
    client.set_tag(run_id, DECIDED, "true")


def find(client: Any, run_id: str, *, where: str) -> Any:
    """Return the run of a memo.

    Raises:
        RunNotFoundError: The run is no memo.
    """
    run = client.get_run(run_id)
    if run.info.lifecycle_stage != "active" or not _is_whole(run):
        raise RunNotFoundError(f"the run {run_id} is no memo", where=where, hint="`tracker report` writes memos")
    return run


def headline_of(tags: Mapping[str, str]) -> str:
    """Return the headline that a memo's run shows as its description."""
    return tags.get(NOTE, "").partition("**\n\n")[0].removeprefix("**")


def params_of(tags: Mapping[str, str]) -> dict[str, str]:
    """Return what a memo's run says of how it was made."""
    return {key.removeprefix(PARAM): value for key, value in sorted(tags.items()) if key.startswith(PARAM)}


def find_all(client: Any, experiment_id: str) -> Iterator[Any]:
    """Yield the runs of a campaign's memos."""
    return (run for run in search(client, [experiment_id], f"tags.`{KIND}` = '{REPORT}'") if _is_whole(run))


def stored(client: Any, run: Any, *, experiment: str, url: str | None) -> StoredReport:
    """Return a memo with its data.

    Raises:
        StoreError: Its artifacts are missing.
    """
    tags = run.data.tags
    try:
        moment = datetime.fromisoformat(tags[GENERATED_AT]).astimezone(UTC)
    except ValueError as error:
        raise StoreError(
            f"the memo {run.info.run_id} has no readable date", where=f"tag {GENERATED_AT}", hint="Delete the run"
        ) from error
    return StoredReport(
        run_id=run.info.run_id,
        experiment=experiment,
        key=tags[KEY],
        generated_at=moment,
        url=url,
        memo_json=read_artifact(client, run, MEMO_JSON),
        decision_json=read_artifact(client, run, DECISION_JSON) if tags.get(DECIDED) == "true" else None,
    )


def _earlier(client: Any, experiment_id: str, key: str) -> Any | None:
    condition = f"tags.`{KIND}` = '{REPORT}' AND {text_condition(f'tags.`{KEY}`', key)}"
    same = [run for run in search(client, [experiment_id], condition) if run.data.tags.get(KEY) == key]
    return min(same, key=lambda run: str(run.info.run_id), default=None)


def _is_whole(run: Any) -> bool:
    tags = run.data.tags
    return tags.get(KIND) == REPORT and KEY in tags and GENERATED_AT in tags
