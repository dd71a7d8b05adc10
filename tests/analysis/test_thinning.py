"""Thousands of runs cut down to those a memo can speak of."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

from tests.benchmarks import many_runs
from tracker.analysis import analyse
from tracker.analysis.results import Window
from tracker.analysis.thinning import MOST_RUNS, latest_of_each, thin
from tracker.domain.campaign import Campaign
from tracker.domain.record import StoredRun


def stored(count: int) -> list[StoredRun]:
    runs = many_runs.runs(count, with_rows=False)
    return [StoredRun(run_id=f"{index:032x}", record=run.record) for index, run in enumerate(runs)]


def test_a_campaign_of_ordinary_size_is_left_as_it_is() -> None:
    runs = stored(MOST_RUNS)

    assert thin(runs).kept == tuple(runs)
    assert thin(runs).note is None


def test_every_kind_keeps_its_latest_runs_and_some_of_the_older() -> None:
    runs = stored(1300)
    thinned = thin(runs)
    kinds = Counter(run.record.name.rpartition(" ")[0] for run in thinned.kept)
    baselines = [run for run in thinned.kept if run.record.role == "baseline"]
    nights = [(run.record.measured_at - many_runs.FIRST_NIGHT).days for run in baselines]

    assert len(kinds) == thinned.series == many_runs.RUNS_A_NIGHT
    assert set(kinds.values()) == {MOST_RUNS // many_runs.RUNS_A_NIGHT}
    assert nights == [0, 19, 38, 57, 76, 96, 97, 98, 99]
    assert len(thinned.kept) <= MOST_RUNS
    assert thinned.note is not None
    assert "1,300 runs of 13 kinds" in thinned.note.message


def test_runs_that_are_asked_for_stay_by_id_record_or_name() -> None:
    runs = stored(1300)
    wanted = {runs[200].run_id, runs[301].record.record_id, runs[402].record.name}

    kept = {run.run_id for run in thin(runs, always=wanted).kept}
    assert {runs[200].run_id, runs[301].run_id, runs[402].run_id} <= kept


def test_a_run_that_was_replaced_goes_before_the_one_that_replaced_it() -> None:
    runs = stored(1300)
    last = runs[-13]
    again = StoredRun(run_id="f" * 32, record=last.record.replace(record_id="again", supersedes=last.record.record_id))

    kept = {run.run_id for run in thin([*runs, again]).kept}
    assert again.run_id in kept
    assert last.run_id not in kept


def test_of_more_kinds_than_places_those_measured_last_stay() -> None:
    runs = stored(13)
    kept = thin(runs, most=5).kept

    assert list(kept) == runs[-5:]


def test_the_latest_of_each_kind_is_one_night() -> None:
    runs = stored(130)

    assert sorted(run.run_id for run in latest_of_each(runs)) == [run.run_id for run in runs[-13:]]


def test_the_verdict_on_the_thinned_campaign_is_that_on_the_whole() -> None:
    runs = stored(650)
    window = Window(since=many_runs.FIRST_NIGHT, until=datetime(2030, 1, 1, tzinfo=UTC))
    campaign = Campaign(name="nightly", decision_concurrency=8)

    whole = analyse(runs, campaign=campaign, window=window).verdict
    part = analyse(thin(runs).kept, campaign=campaign, window=window).verdict
    assert part.status == whole.status
    assert [load.status for load in part.by_concurrency] == [load.status for load in whole.by_concurrency]
