"""An export made or altered by a stranger: refused in words, in bounded time, and nothing outside it is read."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.store import samples
from tracker.domain.record import LoggedRun
from tracker.errors import TrackerError
from tracker.store.base import ReportRun
from tracker.store.campaign_export import write_folder
from tracker.store.campaign_folder import FolderCampaign
from tracker.store.campaign_parts import CampaignFacts, RunHead, WholeMemo


class Source:
    """A campaign of one run and one memo, in memory."""

    experiment = "camp"

    def facts(self) -> CampaignFacts:
        """Return nothing in particular."""
        return CampaignFacts(former_names=("old",))

    def heads(self) -> Iterator[RunHead]:
        """Yield the run."""
        record = samples.record()
        yield RunHead(place="p", record=record, content_sha256="c" * 64, run_ids=("r1",))

    def whole(self, head: RunHead) -> LoggedRun:
        """Return it."""
        return LoggedRun(record=head.record)

    def memos(self) -> Iterator[WholeMemo]:
        """Yield the memo."""
        made = ReportRun(
            key="k",
            generated_at=datetime(2026, 1, 2, tzinfo=UTC),
            verdict="faster",
            headline="h",
            files={"memo.txt": b"x"},
        )
        yield WholeMemo(place="m", memo=made, record_ids={"r1": "id"}, run_ids=("r2",))


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Return a small export."""
    folder = tmp_path / "export"
    assert len(list(write_folder(Source(), folder))) == 2
    return folder


def read_all(folder: Path) -> int:
    """Read everything of an export and return how many runs and memos it has."""
    campaign = FolderCampaign(folder)
    campaign.facts()
    runs = [campaign.whole(head) for head in campaign.heads()]
    return len(runs) + len(list(campaign.memos()))


def change_manifest(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the manifest as a stranger may."""
    document = json.loads((folder / "manifest.json").read_bytes())
    change(document)
    (folder / "manifest.json").write_text(json.dumps(document))


def sign(folder: Path) -> None:
    """Give every file in the manifest the digest and size that it has now: anybody can."""

    def digests(document: dict[str, Any]) -> None:
        for item in document["files"]:
            content = (folder / item["path"]).read_bytes()
            item |= {"sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content)}

    change_manifest(folder, digests)


def test_what_was_written_is_read(export: Path) -> None:
    assert read_all(export) == 2


@pytest.mark.parametrize(
    "content",
    [b"", b"null", b"[]", b"\0", b"[" * 100_000, b'{"a":' * 100_000, b"{}", b'{"schema_version":' + b"9" * 5000 + b"}"],
)
@pytest.mark.parametrize("name", ["manifest.json", "campaign.json", "run.json", "about.json", "record.json"])
def test_a_document_that_is_none_is_an_error_in_words(content: bytes, name: str, export: Path) -> None:
    path = next(export.rglob(name))
    path.write_bytes(content)
    if name != "manifest.json":
        sign(export)

    with pytest.raises(TrackerError) as caught:
        read_all(export)

    assert caught.value.where is not None
    assert caught.value.where.startswith(str(path))


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("campaign.json", "former_names", 5), ("campaign.json", "tags", [1]), ("campaign.json", "facts", "x"),
        ("run.json", "tags", {"a": {"b": 1}}), ("run.json", "run_id", None), ("run.json", "content_sha256", 2**80),
        ("about.json", "generated_at", 1), ("about.json", "generated_at", "yesterday"),
        ("about.json", "metrics", {"a": "b"}),
        ("about.json", "records", 3), ("about.json", "headline", ["x"]), ("manifest.json", "files", {"a": 1}),
        ("manifest.json", "experiment", {"a": 1}), ("manifest.json", "schema_version", -1),
    ],
)  # fmt: skip
def test_a_value_of_the_wrong_kind_is_an_error_in_words(name: str, key: str, value: object, export: Path) -> None:
    path = next(export.rglob(name))
    path.write_text(json.dumps({**json.loads(path.read_bytes()), key: value}))
    if name != "manifest.json":
        sign(export)

    with pytest.raises(TrackerError):
        read_all(export)


@pytest.mark.parametrize(
    "path",
    ["../secret", "runs/../../secret", "/etc/passwd", "a\0b", "\ud800", "x" * 5000, ".", "runs", "campaign.json"],
)
def test_a_name_that_leads_elsewhere_or_nowhere_is_refused(path: str, export: Path) -> None:
    (export.parent / "secret").write_text("s")
    found = {"path": path, "sha256": hashlib.sha256(b"s").hexdigest(), "size_bytes": 1}
    change_manifest(export, lambda document: document["files"].append(found))

    with pytest.raises(TrackerError):
        FolderCampaign(export)


def test_a_link_out_of_the_export_is_refused_also_where_its_digest_fits(export: Path) -> None:
    record = next(export.rglob("record.json"))
    secret = export.parent / "secret.json"
    record.replace(secret)
    record.symlink_to(secret)
    with pytest.raises(TrackerError, match="outside the export"):
        FolderCampaign(export)

    record.unlink()
    secret.replace(record)
    run = record.parent
    elsewhere = run.rename(export.parent / "elsewhere")
    run.symlink_to(elsewhere)
    with pytest.raises(TrackerError, match="outside the export"):
        FolderCampaign(export)


def test_a_pipe_a_device_and_a_file_without_end_are_not_read(export: Path) -> None:
    record = next(export.rglob("record.json"))
    for replace in (os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: sparse(path)):
        record.unlink()
        replace(record)
        with pytest.raises(TrackerError):
            FolderCampaign(export)
    sparse(export / "manifest.json")
    with pytest.raises(TrackerError, match="larger than"):
        FolderCampaign(export)


def sparse(path: Path) -> None:
    """Make a file of 200 GB that takes no space."""
    with path.open("wb") as file:
        file.truncate(200 * 2**30)


def test_an_export_never_follows_a_link_out_of_its_folder(export: Path) -> None:
    runs = export / "runs"
    elsewhere = export.parent / "elsewhere"
    runs.rename(elsewhere)
    before = {path: path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()}
    runs.symlink_to(elsewhere)

    with pytest.raises(TrackerError, match="leads out of the export"):
        list(write_folder(Source(), export))

    assert {path: path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()} == before
