"""What campaign.toml may say about traffic."""

from __future__ import annotations

import pytest

from tracker.domain.campaign import Campaign, Traffic


def test_shares_that_add_up_are_kept() -> None:
    traffic = Traffic(by_concurrency={1: 0.33, 8: 0.33, 32: 0.33}, by_category={"code": 1.0})

    assert traffic.by_concurrency[8] == 0.33
    assert Campaign(name="c", decision_concurrency=8, traffic=traffic).traffic is traffic


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"by_concurrency": {1: 0.5, 8: 0.4}}, "by_concurrency: the shares add up to 0.9, they must add up to 1"),
        ({"by_category": {"code": 70.0, "chat": 30.0}}, "by_category: the share of code is 70"),
        ({"by_category": {"code": -0.1, "chat": 1.1}}, "by_category: the share of code is -0.1"),
        ({"by_concurrency": {0: 1.0}}, "by_concurrency: 0 streams serve nothing"),
    ],
)
def test_shares_that_are_none_are_refused_by_name(fields: dict[str, dict[object, float]], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Traffic(**fields)  # type: ignore[arg-type]


def test_a_decision_load_without_traffic_is_refused() -> None:
    with pytest.raises(ValueError, match=r"decision_concurrency is 4, and \[traffic\] by_concurrency gives that load"):
        Campaign(name="c", decision_concurrency=4, traffic=Traffic(by_concurrency={1: 1.0}))
