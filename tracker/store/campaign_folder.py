"""A campaign as a folder: written so that a half-written one is known as such, read with every byte checked.

    manifest.json                    format, campaign, and every other file with size and SHA-256; written last
    campaign.json                    facts, former names, tags of the experiment
    runs/<name>-<digest>/            record.json, README.md, measurements.csv, requests.parquet, server/...
    runs/<name>-<digest>/run.json    digest of what was logged, first run id, tags given in MLflow
    runs/<name>-<digest>/files/      files that were logged with the run
    memos/<key>-<digest>/            the memo's files, decision.json
    memos/<key>-<digest>/about.json  what the memo's run in MLflow shows, and which records it rests on

Nothing in it says where it was written or when: the same campaign gives the same bytes from every store.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from tracker.domain.record import Attachment, LoggedRun
from tracker.errors import InputError, StoreError
from tracker.store.base import ReportRun
from tracker.store.campaign_documents import DAMAGED, CampaignDocument, MemoDocument, RunDocument, decode
from tracker.store.campaign_manifest import MANIFEST, check_file, read_manifest
from tracker.store.campaign_parts import CampaignFacts, RunHead, WholeMemo
from tracker.store.codec import decode_campaign, decode_record
from tracker.store.mlflow_artifacts import RECORD, REQUESTS
from tracker.store.rows import decode_rows

T = TypeVar("T")

CAMPAIGN = "campaign.json"
RUN = "run.json"
ABOUT = "about.json"
DECISION = "decision.json"
FILES = "files"


class FolderCampaign:
    """A CampaignSource in a folder."""

    def __init__(self, folder: Path) -> None:
        """Read the export in `folder`; every file is compared with the manifest before anything is believed.

        Raises:
            InputError: No export, an unfinished or damaged one, or one of a newer tracker.
        """
        self._folder = folder
        manifest = read_manifest(folder)
        self.experiment = manifest.experiment
        self._paths = tuple(item.path for item in manifest.files)
        if len(set(self._paths)) != len(self._paths):
            raise InputError("the manifest names a file twice", where=str(folder / MANIFEST), hint=DAMAGED)
        for item in manifest.files:
            check_file(folder, item)

    def facts(self) -> CampaignFacts:
        """Return what concerns the campaign as a whole; see CampaignSource."""
        document = self._document(CAMPAIGN, CampaignDocument)
        facts = document.facts
        where = str(self._folder / CAMPAIGN)
        return CampaignFacts(
            campaign=None if facts is None else decode_campaign(json.dumps(facts).encode(), where=where),
            former_names=document.former_names,
            tags=document.tags,
        )

    def heads(self) -> Iterator[RunHead]:
        """Yield its runs in the order of the exported store; see CampaignSource."""
        heads = (self._head(path.removesuffix(f"/{RUN}")) for path in self._paths if path.endswith(f"/{RUN}"))
        yield from sorted(heads, key=lambda head: (head.record.measured_at, head.record.provenance.logged_at))

    def whole(self, head: RunHead) -> LoggedRun:
        """Return a run with its per-request rows and files; see CampaignSource."""
        place = head.place
        rows = f"{place}/{REQUESTS}"
        start = f"{place}/{FILES}/"
        attached = [path for path in self._paths if path.startswith(start)]
        return LoggedRun(
            record=head.record,
            requests=decode_rows(self._read(rows), where=rows) if rows in self._paths else (),
            attachments=tuple(
                Attachment(name=path.removeprefix(start), content=self._read(path)) for path in sorted(attached)
            ),
        )

    def memos(self) -> Iterator[WholeMemo]:
        """Yield its memos, oldest first; see CampaignSource."""
        memos = (self._memo(path.removesuffix(f"/{ABOUT}")) for path in self._paths if path.endswith(f"/{ABOUT}"))
        yield from sorted(memos, key=lambda memo: (memo.memo.generated_at, memo.memo.key))

    def _head(self, place: str) -> RunHead:
        about = self._document(f"{place}/{RUN}", RunDocument)
        where = self._folder / place / RECORD
        try:
            record = decode_record(self._read(f"{place}/{RECORD}"), where=str(where))
        except RecursionError as error:
            raise InputError("this cannot be read as JSON", where=str(where), hint=DAMAGED) from error
        return RunHead(
            place=place,
            record=record,
            content_sha256=about.content_sha256,
            run_ids=(about.run_id,),
            tags=about.tags,
        )

    def _memo(self, place: str) -> WholeMemo:
        about = self._document(f"{place}/{ABOUT}", MemoDocument)
        start = f"{place}/{FILES}/"
        files = {path.removeprefix(start): self._read(path) for path in self._paths if path.startswith(start)}
        decision = f"{place}/{DECISION}"
        return WholeMemo(
            place=place,
            memo=ReportRun(
                key=about.key,
                generated_at=about.generated_at,
                verdict=about.verdict,
                headline=about.headline,
                files=files,
                run_ids=tuple(about.records),
                params=about.params,
                metrics=about.metrics,
            ),
            record_ids=about.records,
            run_ids=(about.run_id,),
            decision=self._read(decision) if decision in self._paths else None,
        )

    def _read(self, path: str) -> bytes:
        try:
            return (self._folder / path).read_bytes()
        except OSError as error:
            raise StoreError(f"the export cannot be read: {error.strerror}", where=str(self._folder / path)) from error

    def _document(self, path: str, kind: type[T]) -> T:
        return decode(kind, self._read(path), where=self._folder / path)
