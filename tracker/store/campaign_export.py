"""Writing a campaign into a folder: the layout is told in campaign_folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tracker.domain.record import LoggedRun
from tracker.errors import InputError
from tracker.store.campaign_folder import ABOUT, CAMPAIGN, DECISION, FILES, RUN
from tracker.store.campaign_manifest import SCHEMA_VERSION, as_json, claim, finish, put_file
from tracker.store.campaign_parts import CampaignFacts, CampaignSource, RunHead, WholeMemo
from tracker.store.codec import encode_campaign
from tracker.store.file_names import file_name, short_digest
from tracker.store.mlflow_artifacts import artifacts


def write_folder(source: CampaignSource, folder: Path) -> Iterator[str]:
    """Write a campaign into a folder, yielding the name of each run and memo as it is written.

    A folder with an earlier export, or the beginning of one, is brought up to date.

    Raises:
        InputError: The folder holds something else, or cannot be written.
        StoreError: The source cannot be read; the folder is marked as unfinished, and the same call goes on.
    """
    before = claim(folder)
    written: dict[str, dict[str, Any]] = {}
    try:
        facts = source.facts()
        put_file(folder, CAMPAIGN, _facts_json(source.experiment, facts), written)
        decision = None if facts.campaign is None else facts.campaign.decision_concurrency
        for head in source.heads():
            for path, content in _run_files(head, source.whole(head), decision).items():
                put_file(folder, path, content, written)
            yield head.record.name
        for memo in source.memos():
            for path, content in _memo_files(memo).items():
                put_file(folder, path, content, written)
            yield f"memo {memo.memo.key}"
        finish(folder, source.experiment, written, before)
    except OSError as error:
        raise InputError(
            f"the campaign cannot be written here: {error.strerror or error}",
            where=str(error.filename or folder),
            hint="Free some space or make the folder writable, then export again: it goes on",
        ) from error


def _run_files(head: RunHead, run: LoggedRun, decision: int | None) -> dict[str, bytes]:
    place = f"runs/{file_name(head.record.name, otherwise='unnamed')}-{short_digest(head.record.record_id)}"
    made = LoggedRun(record=run.record, requests=run.requests)
    about = {"content_sha256": head.content_sha256, "run_id": head.run_ids[0], "tags": dict(head.tags)}
    return {
        **{f"{place}/{path}": content for path, content in artifacts(made, decision_concurrency=decision).items()},
        **{f"{place}/{FILES}/{file.name}": file.content for file in run.attachments},
        f"{place}/{RUN}": as_json({"schema_version": SCHEMA_VERSION, **about}),
    }


def _memo_files(whole: WholeMemo) -> dict[str, bytes]:
    memo = whole.memo
    place = f"memos/{file_name(memo.key, otherwise='unnamed')}-{short_digest(memo.key)}"
    about = {
        "schema_version": SCHEMA_VERSION,
        "key": memo.key,
        "generated_at": memo.generated_at.isoformat(),
        "verdict": memo.verdict,
        "headline": memo.headline,
        "params": dict(memo.params),
        "metrics": dict(memo.metrics),
        "records": dict(whole.record_ids),
        "run_id": whole.run_ids[0],
    }
    files = {f"{place}/{FILES}/{name}": content for name, content in memo.files.items()}
    decision = {} if whole.decision is None else {f"{place}/{DECISION}": whole.decision}
    return {**files, **decision, f"{place}/{ABOUT}": as_json(about)}


def _facts_json(experiment: str, facts: CampaignFacts) -> bytes:
    campaign = None if facts.campaign is None else json.loads(encode_campaign(facts.campaign))
    return as_json(
        {
            "schema_version": SCHEMA_VERSION,
            "name": experiment,
            "facts": campaign,
            "former_names": list(facts.former_names),
            "tags": dict(facts.tags),
        }
    )
