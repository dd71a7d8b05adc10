"""`[traffic]` of campaign.toml, from the file to the campaign, with errors that name file and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracker.domain.campaign import Traffic
from tracker.errors import InputError
from tracker.workflows.campaign_file import read_campaign

HEAD = 'schema_version = 1\n[campaign]\nname = "c"\ndecision_concurrency = 8\n'


def read(folder: Path, traffic: str) -> Traffic:
    (folder / "campaign.toml").write_text(HEAD + traffic, encoding="utf-8")
    return read_campaign(folder).campaign.traffic


def test_shares_of_traffic_are_read_with_loads_as_numbers(tmp_path: Path) -> None:
    found = read(
        tmp_path, "[traffic]\nby_concurrency = { 1 = 0.2, 8 = 0.8 }\nby_category = { code = 0.7, chat = 0.3 }\n"
    )

    assert found == Traffic(by_concurrency={1: 0.2, 8: 0.8}, by_category={"code": 0.7, "chat": 0.3})
    assert read(tmp_path, "") == Traffic()


@pytest.mark.parametrize(
    ("traffic", "words"),
    [
        ("[traffic]\nby_concurrency = { 8 = 0.8 }\n", "[traffic]: by_concurrency: the shares add up to 0.8"),
        ("[traffic]\nby_concurrency = { eight = 1.0 }\n", "[traffic]: Expected `int`"),
        ("[traffic]\nby_concurrency = { 1 = 1.0 }\n", "[campaign]: decision_concurrency is 8"),
        ("[traffic]\nby_category = { code = 70, chat = 30 }\n", "[traffic]: by_category: the share of code is 70"),
        ("[traffic]\nby_load = { 8 = 1.0 }\n", "unknown key 'by_load' at [traffic]"),
    ],
)
def test_shares_that_cannot_be_used_name_file_and_key(tmp_path: Path, traffic: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, traffic)

    assert words in str(caught.value)
    assert "campaign.toml" in str(caught.value)
