"""Thousands of runs cut down to those a memo can speak of."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.benchmarks import many_runs
from tracker.analysis import analyse
from tracker.analysis.results import Window
from tracker.analysis.thinning import MOST_RUNS, latest_of_each, thin
from tracker.domain.campaign import Campaign
from tracker.domain.checkpoint import Checkpoint
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
    assert min(kinds.values()) == MOST_RUNS // many_runs.RUNS_A_NIGHT
    assert set(nights) >= {0, 19, 38, 57, 76, 96, 97, 98, 99}
    assert len(thinned.kept) <= MOST_RUNS + 2 * len(many_runs.LOADS)
    assert thinned.note is not None
    assert "1,300 runs of 13 kinds" in thinned.note.message


def test_runs_that_are_asked_for_stay_by_id_record_or_name() -> None:
    runs = stored(1300)
    wanted = {runs[200].run_id, runs[301].record.record_id, runs[402].record.name}

    kept = {run.run_id for run in thin(runs, always=wanted).kept}
    assert {runs[200].run_id, runs[301].run_id, runs[402].run_id} <= kept


def faster(run: StoredRun, factor: float, **changes: Any) -> StoredRun:
    """Return a run that was so much faster at every load."""
    cells = tuple(
        dataclasses.replace(
            cell,
            wall_s=None if cell.wall_s is None else cell.wall_s / factor,
            busy_s=None if cell.busy_s is None else cell.busy_s / factor,
        )
        for cell in run.record.measurements
    )
    return dataclasses.replace(run, record=run.record.replace(measurements=cells, **changes))


def judged(runs: Sequence[StoredRun]) -> list[tuple[int | None, str, str | None, str | None]]:
    window = Window(since=many_runs.FIRST_NIGHT, until=datetime(2030, 1, 1, tzinfo=UTC))
    found = analyse(runs, campaign=Campaign(name="nightly", decision_concurrency=8), window=window).verdict
    return [(load.concurrency, load.status, load.baseline_run_id, load.best_run_id) for load in found.by_concurrency]


@pytest.mark.parametrize("night", [3, 15])
def test_the_number_to_beat_stays_however_old(night: int) -> None:
    runs = stored(390)
    place = night * many_runs.RUNS_A_NIGHT
    runs[place] = faster(runs[place], 1.5)

    kept = thin(runs).kept
    assert runs[place] in kept
    assert judged(kept) == judged(runs)


def test_the_fastest_contender_stays_however_old() -> None:
    runs = stored(390)
    place = 12 * many_runs.RUNS_A_NIGHT + 5
    runs[place] = faster(runs[place], 1.5)

    kept = thin(runs).kept
    assert runs[place] in kept
    assert judged(kept) == judged(runs)


def test_a_baseline_that_does_not_count_is_not_kept_for_its_speed() -> None:
    runs = stored(390)
    place = 12 * many_runs.RUNS_A_NIGHT
    runs[place] = faster(runs[place], 1.5, validity="invalid", validity_reason="another prompt set")

    assert runs[place] not in thin(runs).kept


def test_one_baseline_before_more_kinds_than_places_stays() -> None:
    runs = stored(1)
    for index in range(140):
        run = stored(2)[1]
        record = run.record.replace(
            record_id=f"r{index}",
            drafter=Checkpoint(name=f"drafter {index}"),
            provenance=dataclasses.replace(
                run.record.provenance, measured_at=many_runs.FIRST_NIGHT + timedelta(days=1, minutes=index)
            ),
        )
        runs.append(StoredRun(run_id=f"{1000 + index:032x}", record=record))
    thinned = thin(runs)

    assert runs[0] in thinned.kept
    assert thinned.note is not None
    assert "of the 120 kinds measured last the latest" in thinned.note.message


def test_the_fastest_baseline_of_an_engine_that_no_memo_would_compare_is_let_go() -> None:
    runs = stored(390)
    old = runs[0].record.server
    assert old is not None
    runs[0] = faster(runs[0], 1.5, server=dataclasses.replace(old, version="0.4.0"))
    newest = [run for run in runs if run.record.measured_at > many_runs.FIRST_NIGHT + timedelta(days=20)]

    assert runs[0] not in thin([runs[0], *newest], most=many_runs.RUNS_A_NIGHT).kept


def test_a_run_that_was_replaced_goes_before_the_one_that_replaced_it() -> None:
    runs = stored(1300)
    last = runs[-13]
    again = StoredRun(run_id="f" * 32, record=last.record.replace(record_id="again", supersedes=last.record.record_id))

    kept = {run.run_id for run in thin([*runs, again]).kept}
    assert again.run_id in kept
    assert last.run_id not in kept


def test_of_more_kinds_than_places_those_measured_last_stay_beside_the_leading_ones() -> None:
    runs = stored(13)
    kept = thin(runs, most=5).kept

    assert {run.run_id for run in kept} >= {run.run_id for run in (runs[0], *runs[-5:])}
    assert len(kept) <= 1 + 5 + len(many_runs.LOADS)


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
