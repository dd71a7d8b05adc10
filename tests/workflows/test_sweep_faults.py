"""A sweep whose servers hang, whose folders fill up, whose clock is set back: nothing lost, nothing made up."""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
import tempfile
from datetime import timedelta
from pathlib import Path
from types import FrameType

import pytest

from tests.workflows.test_sweep_adaptive import INTERLEAVED, RESIDENT, Campaign, server
from tracker.errors import ServerError
from tracker.store import Spool
from tracker.workflows.sweep_history import keep_record, kept_records
from tracker.workflows.sweep_state import load_state

TIGHT = "timeout_s = 0.4\n"


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return Campaign(tmp_path)


def _mode(mode: str) -> str:
    return f'environment = {{FAKE_STEP_MS = "2", FAKE_MODE = "{mode}"}}'


def _server(name: str, mode: str) -> str:
    return server(name, "3-1-4").replace('environment = {FAKE_STEP_MS = "2"}', _mode(mode))


@pytest.mark.slow
def test_a_resident_baseline_that_hangs_is_an_error_and_no_old_number_stands_in_for_it(campaign: Campaign) -> None:
    # A warm-up and six requests at first; it hangs from the second measurement on.
    hanging = RESIDENT + _mode("hang:8+") + "\n"
    campaign.write(
        server("a", "3-1-4") + server("b", "3-1-4"),
        baseline=hanging,
        loads=f"[{{concurrency = 1, requests = 6}}]\n{TIGHT}",
    )

    with pytest.raises(ServerError, match=r"the baseline went away .*timed out"):
        campaign.run()

    records = campaign.records()
    assert set(records) == {"a", "baseline-1"}
    (cell,) = records["a"].pooled()
    assert cell.extra["baseline_before_output_throughput_tok_s"] > 0
    assert "baseline_after_output_throughput_tok_s" not in cell.extra


@pytest.mark.slow
def test_a_baselines_load_with_failures_has_no_throughput_from_the_measurement_before(campaign: Campaign) -> None:
    # The ninth request is the second measurement's, after a warm-up each.
    campaign.write(server("a", "3-1-4"), baseline=RESIDENT + _mode("http500:9") + "\n").run()

    (cell,) = campaign.records()["a"].pooled()
    assert cell.extra["baseline_before_output_throughput_tok_s"] > 0
    assert "baseline_after_output_throughput_tok_s" not in cell.extra


@pytest.mark.slow
def test_a_server_that_hangs_while_it_is_measured_is_suspect_and_asked_again(campaign: Campaign) -> None:
    loads = f"[{{concurrency = 1, requests = 4}}, {{concurrency = 2, requests = 8}}]\n{TIGHT}"
    campaign.write(_server("a", "hang:8+"), loads=loads).run()

    record = campaign.records()["a"]
    assert record.validity == "suspect"
    assert "3 requests in a row timed out" in (record.validity_reason or "")
    assert load_state(campaign.folder / "out").slowest_s() is None
    assert campaign.run().records == ()
    assert [item.name for item in campaign.run(retry_failed=True).records if item.role == "candidate"] == ["a"]


@pytest.mark.slow
def test_a_start_that_hung_says_nothing_about_how_long_starts_take(campaign: Campaign) -> None:
    hangs = server("hangs", "3-1-4").replace("}\n", ', FAKE_FAIL_START = "hang"}\n', 1)
    campaign.write(hangs + server("a", "3-1-4"), baseline="")
    file = campaign.folder / "campaign.toml"
    file.write_text(file.read_text().replace("health_timeout_s = 20", "health_timeout_s = 6"))

    campaign.run()

    start_s = load_state(campaign.folder / "out").start_s
    assert start_s is not None
    assert start_s < 6


@pytest.mark.slow
def test_a_baseline_that_failed_uses_up_its_number(campaign: Campaign) -> None:
    servers = "".join(server(name, "3-1-4") for name in "abc")
    campaign.write(servers, baseline=INTERLEAVED)
    file = campaign.folder / "campaign.toml"
    good = file.read_text()
    calls = [campaign.run(only=("a",))]
    file.write_text(good.replace("[sweep.baseline]\n", '[sweep.baseline]\nenvironment = {FAKE_FAIL_START = "oom"}\n'))
    calls.append(campaign.run(only=("b",)))
    file.write_text(good)
    calls.append(campaign.run())

    names = [record.name for call in calls for record in call.records]
    assert names == ["baseline-1", "a", "baseline-2", "baseline-3", "b", "baseline-4", "baseline-5", "c", "baseline-6"]


@pytest.mark.slow
def test_a_full_folder_of_results_costs_no_measurement(campaign: Campaign) -> None:
    campaign.write(server("a", "3-1-4"))
    (campaign.folder / "out" / "servers").mkdir(parents=True)
    (campaign.folder / "out" / "servers" / "a").write_text("no folder")

    result = campaign.run()

    assert {record.name: record.validity for record in result.records} == {"a": "ok", "baseline-1": "ok"}
    assert set(campaign.records()) == {"a", "baseline-1"}
    assert any("a: its files are in its record only" in line for line in campaign.told)
    assert campaign.run().records == ()


@pytest.mark.slow
def test_where_neither_spool_nor_results_can_be_written_a_record_waits_in_the_temporary_folder(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign.write(server("a", "3-1-4"), baseline="", loads="[{concurrency = 1, requests = 2}]")
    (campaign.folder / "out").mkdir()
    (campaign.folder / "out" / "spool").write_text("no folder")
    (campaign.folder / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(campaign.folder / "tmp"))

    def told(text: str) -> None:
        campaign.told.append(text)
        if text == "a: measuring":
            (campaign.folder / "spool").rename(campaign.folder / "moved")
            (campaign.folder / "spool").write_text("no folder")

    result = campaign.run(tell=told)

    (path,) = result.spooled
    assert path.is_relative_to(campaign.folder / "tmp")
    assert Spool(path.parent).read(path).record.name == "a"
    assert any(f"tracker sync {path.parent}" in line for line in campaign.told)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["answers", "self_description", "put", "keep_record", "finish"])
def test_an_interrupt_while_a_server_is_logged_loses_nothing_and_measures_nothing_twice(
    campaign: Campaign, place: str
) -> None:
    campaign.write(server("a", "3-1-4") + server("b", "3-1-4"), baseline="", loads="[{concurrency = 1, requests = 3}]")
    hit: list[str] = []

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name == place and "tracker" in frame.f_code.co_filename:
            hit.append(place)
            sys.setprofile(None)
            os.kill(os.getpid(), signal.SIGINT)

    sys.setprofile(look)
    try:
        first = campaign.run()
    finally:
        sys.setprofile(None)

    assert hit
    assert first.interrupted
    second = campaign.run()
    assert [record.name for record in first.records] == ["a"]
    assert [record.name for record in second.records] == ["b"]


def test_records_stand_in_the_order_of_their_batches_when_the_clock_is_set_back(campaign: Campaign) -> None:
    campaign.write(server("a", "3-1-4"), baseline="", loads="[{concurrency = 1, requests = 2}]").run()
    (early,) = kept_records(campaign.folder / "out")
    told = dataclasses.replace(early.provenance, measured_at=early.measured_at - timedelta(hours=1))
    late = early.replace(name="later", provenance=told, tags={**early.tags, "sweep.batch": "10"})
    keep_record(late, campaign.folder / "out")

    assert [record.name for record in kept_records(campaign.folder / "out")] == ["a", "later"]
