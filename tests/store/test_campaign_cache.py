"""Records in the files of a campaign's cache: small, and written anew only where little is left in them."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests.benchmarks import many_runs
from tracker.store import campaign_cache
from tracker.store.codec import encode_record


def test_records_are_held_as_small_as_in_their_files(tmp_path: Path) -> None:
    written = [encode_record(run.record) for run in many_runs.runs(2500, with_rows=False)]
    known = campaign_cache.Known()
    known.add((f"{number:032}", read(content)) for number, content in enumerate(written))
    cache = campaign_cache.CampaignCache(tmp_path)
    cache.save(known)
    again = cache.load()
    held = sum(map(len, again.packed))

    assert held < sum(map(len, written)) / 10
    assert sorted(segment.size for segment in again.index.segments) == [500, 1000, 1000]
    assert [encode_record(record) for _, record in again.records(again.index.rows)] == written


def test_segments_with_little_in_them_are_written_anew_and_full_ones_left_alone(tmp_path: Path) -> None:
    written = [encode_record(run.record) for run in many_runs.runs(1020, with_rows=False)]
    known = campaign_cache.Known()
    known.add((f"{number:032}", read(content)) for number, content in enumerate(written[:1000]))
    for number, content in enumerate(written[1000:], 1000):
        known.add([(f"{number:032}", read(content))])
    full = known.packed[0]
    cache = campaign_cache.CampaignCache(tmp_path)
    cache.save(known)
    again = cache.load()

    assert [segment.size for segment in again.index.segments] == [1000, 20]
    assert again.packed[0] == full
    assert {run_id: encode_record(record) for run_id, record in again.records(again.index.rows)} == {
        f"{number:032}": content for number, content in enumerate(written)
    }


def read(content: bytes) -> campaign_cache.Read:
    return campaign_cache.Read(content=content, sha256=hashlib.sha256(content).hexdigest())
