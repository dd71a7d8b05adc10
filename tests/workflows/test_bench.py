"""bench against a fake engine: counts, repeats, findings about the measuring itself."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
from scipy import stats

from tests.fakes.servers import EAGLE3, ENGINE, LAUNCH, free_port, serving, shared
from tests.workflows.benching import PROMPTS, bench, plan
from tracker.errors import InputError, ServerError
from tracker.load.control import Control
from tracker.load.counters import read_counters
from tracker.store import Spool
from tracker.workflows.bench import BenchRequest, run_bench
from tracker.workflows.bench_measure import Progress
from tracker.workflows.bench_plan import Load
from tracker.workflows.bench_precision import half_width
from tracker.workflows.session import Session


def test_a_run_holds_exact_counts_per_load_repeat_and_category(tmp_path: Path) -> None:
    with shared(*EAGLE3) as url:
        record = bench(url, tmp_path, repeats=2).record

    one, four = record.pooled()
    assert (one.requests_completed, one.output_tokens, one.prompts) == (16, 192, 8)
    assert (four.requests_completed, four.output_tokens, four.prompts) == (32, 384, 8)
    assert one.verify_steps is not None
    assert one.accepted_drafts is not None
    # One token comes from the prefill; each verify step brings its accepted drafts and one more.
    assert one.accepted_drafts + one.verify_steps + 16 == one.output_tokens
    repeats = [cell.output_tokens for cell in record.measurements if cell.repeat is not None and cell.concurrency == 1]
    categories = [cell.output_tokens for cell in record.measurements if cell.category and cell.concurrency == 1]
    assert repeats == [96, 96]
    assert sum(count or 0 for count in categories) == 192
    assert record.workload is not None
    assert record.workload.prompt_set_digest == PROMPTS.digest
    assert record.workload.warmup_requests == 2


def test_the_spooled_run_is_the_record_and_holds_no_prompt(tmp_path: Path) -> None:
    with shared() as url:
        outcome = bench(url, tmp_path)

    assert outcome.spooled is not None
    run = Spool(tmp_path / "spool").read(outcome.spooled)
    assert run.record == outcome.record
    assert len(run.requests) == 24
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(b"secret text" in content for content in kept)
    assert {item.name for item in run.attachments} >= {
        "server/requests.jsonl", "server/metrics_before.prom", "server/metrics.prom", "server/server_info.json",
    }  # fmt: skip


def test_the_counters_kept_before_leave_the_warm_up_out(tmp_path: Path) -> None:
    with shared(*EAGLE3) as url:
        outcome = bench(url, tmp_path)

    assert outcome.spooled is not None
    run = Spool(tmp_path / "spool").read(outcome.spooled)
    kept = {item.name: read_counters(item.content) for item in run.attachments if item.name.endswith(".prom")}
    before, after = kept["server/metrics_before.prom"], kept["server/metrics.prom"]
    assert before is not None
    assert after is not None
    counted = [cell.output_tokens or 0 for cell in run.record.pooled()]
    assert after.output_tokens - before.output_tokens == sum(counted)


def test_a_streamed_sample_gives_latencies_and_leaves_the_counts_alone(tmp_path: Path) -> None:
    with shared(*EAGLE3, FAKE_STEP_MS="2") as url:
        record = bench(url, tmp_path, streamed_fraction=0.25).record

    one, four = record.pooled()
    # A few answers' time per token does not bound the throughput of all.
    assert "IDENTITY_THROUGHPUT" not in {finding.code for finding in record.findings}
    assert one.extra["streamed_requests"] == 2
    assert four.extra["streamed_requests"] == 4
    assert one.ttft_ms is not None
    assert one.ttft_ms.mean_ms is not None
    assert one.tpot_ms is not None
    assert one.tpot_ms.mean_ms is not None
    assert one.tpot_ms.mean_ms > 0
    assert one.output_tokens == 96


def test_the_openai_route_is_taken_for_a_server_that_is_not_sglang(tmp_path: Path) -> None:
    with shared() as url:
        record = bench(url, tmp_path, route="openai").record

    assert record.tags["bench.route"] == "openai"
    assert record.pooled()[0].output_tokens == 96


def test_a_pass_with_fewer_requests_than_streams_does_not_pass_for_that_load(tmp_path: Path) -> None:
    with shared(*EAGLE3) as url:
        record = bench(url, tmp_path, loads=(Load(concurrency=4, requests=4), Load(concurrency=8, requests=5))).record

    (found,) = [finding for finding in record.findings if finding.code == "LOAD_NOT_REACHED"]
    assert found.message == "At 8 streams a pass has 5 requests only: never more than 5 were in flight."
    assert "32 requests" in (found.fix or "")


def test_foreign_traffic_is_found_by_the_servers_own_counter(tmp_path: Path) -> None:
    with serving(FAKE_MODE="foreign:5") as url:
        record = bench(url, tmp_path).record

    assert "SERVER_COUNTERS_DISAGREE" in {finding.code for finding in record.findings}


def test_without_foreign_traffic_the_counters_agree(tmp_path: Path) -> None:
    with shared(*EAGLE3) as url:
        record = bench(url, tmp_path, repeats=2).record

    assert "SERVER_COUNTERS_DISAGREE" not in {finding.code for finding in record.findings}


@pytest.mark.slow
def test_each_rate_of_an_open_loop_is_a_run_of_its_own(tmp_path: Path) -> None:
    loads = (Load(rate_per_s=80, requests=8), Load(rate_per_s=160, requests=8))
    session = Session(now=datetime.now(UTC), environ=dict(os.environ), cwd=tmp_path)
    with shared() as url:
        request = BenchRequest(url=url, plan=plan(loads=loads), spool=tmp_path / "spool", name="x")
        outcomes = run_bench(request, session, on_progress=lambda _: None)

    assert [item.record.name for item in outcomes] == ["x at 80 requests/s", "x at 160 requests/s"]
    rates = [item.record.workload.request_rate_per_s for item in outcomes if item.record.workload]
    assert rates == [80, 160]


@pytest.mark.slow
def test_repeats_stop_once_the_throughput_is_known_well_enough(tmp_path: Path) -> None:
    with shared(FAKE_STEP_MS="2") as url:
        record = bench(url, tmp_path, repeats=20, precision=0.5, loads=(Load(concurrency=1, requests=8),)).record

    assert len({cell.repeat for cell in record.measurements if cell.repeat is not None}) == 3


@pytest.mark.slow
def test_a_budget_ends_the_repeats(tmp_path: Path) -> None:
    with shared(FAKE_STEP_MS="2") as url:
        record = bench(url, tmp_path, repeats=50, budget_s=0.5).record

    assert len({row.repeat for row in record.measurements if row.repeat is not None}) < 10


def test_half_the_interval_is_students_t_over_repeats() -> None:
    # mean 100, standard deviation 10, n 4: 1.6377 * 10 / 2 / 100
    assert half_width([90, 90, 110, 110]) == pytest.approx(1.6377 * 11.547 / 2 / 100, rel=1e-3)
    assert half_width([100.0, 101.0]) is None


@pytest.mark.parametrize("count", [3, 8, 16, 17, 18, 40, 200])
def test_the_interval_is_students_for_any_number_of_repeats(count: int) -> None:
    values = [100.0 + (index % 2) for index in range(count)]
    expected = stats.t.ppf(0.9, count - 1) * np.std(values, ddof=1) / math.sqrt(count) / np.mean(values)

    assert half_width(values) == pytest.approx(expected, rel=3e-3)


def test_a_server_that_answers_nothing_is_an_error_that_says_how(tmp_path: Path) -> None:
    with serving(FAKE_MODE="http500:1") as url, pytest.raises(InputError, match="no request was answered: HTTP 500"):
        bench(url, tmp_path)

    assert not (tmp_path / "spool").exists()


def test_a_server_that_is_healthy_before_it_serves_is_waited_for_before_anything_is_measured(tmp_path: Path) -> None:
    with serving(FAKE_MODE="http503:3-") as url:
        record = bench(url, tmp_path).record

    assert [cell.requests_completed for cell in record.pooled()] == [8, 16]
    assert [cell.requests_failed for cell in record.pooled()] == [0, 0]


def test_an_address_without_a_server_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="nothing answers"):
        bench(f"http://127.0.0.1:{free_port()}", tmp_path)


@pytest.mark.parametrize("place", ["self_description", "collect", "to_run", "put", "write_all"])
def test_an_interrupt_after_the_last_answer_loses_nothing(tmp_path: Path, place: str) -> None:
    hit: list[str] = []

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name == place and "tracker" in frame.f_code.co_filename:
            hit.append(place)
            sys.setprofile(None)
            os.kill(os.getpid(), signal.SIGINT)

    def begin(progress: Progress) -> None:
        if progress.done == progress.planned:
            sys.setprofile(look)

    session = Session(now=datetime.now(UTC), environ=dict(os.environ), cwd=tmp_path)
    with shared(*EAGLE3) as url:
        request = BenchRequest(url=url, plan=plan(), spool=tmp_path / "spool", out=tmp_path / "out")
        try:
            (outcome,) = run_bench(request, session, on_progress=begin)
        finally:
            sys.setprofile(None)

    assert hit
    assert outcome.interrupted
    (kept,) = Spool(tmp_path / "spool").pending()
    assert Spool(tmp_path / "spool").read(kept).record == outcome.record
    assert [cell.requests_completed for cell in outcome.record.pooled()] == [8, 16]
    assert (tmp_path / "out" / "requests.jsonl").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("flags", "code"), [((), "SERVER_CHANGED"), (EAGLE3, "SERVER_RESTARTED")])
def test_a_server_that_is_started_anew_between_two_passes_is_found(
    tmp_path: Path, flags: tuple[str, ...], code: str
) -> None:
    port = free_port()
    servers = [_server(port, EAGLE3)]

    def restart(progress: Progress) -> None:
        if progress.done == 8 and len(servers) == 1:
            servers[0].kill()
            servers[0].wait()
            servers.append(_server(port, flags))

    session = Session(now=datetime.now(UTC), environ=dict(os.environ), cwd=tmp_path)
    request = BenchRequest(url=f"http://127.0.0.1:{port}", plan=plan(), spool=tmp_path / "spool")
    try:
        (outcome,) = run_bench(request, session, on_progress=restart)
    finally:
        for process in servers:
            process.kill()
            process.wait()

    codes = {finding.code for finding in outcome.record.findings}
    assert code in codes
    assert "SERVER_RESTARTED" in codes
    assert ("SERVER_CHANGED" in codes) == (code == "SERVER_CHANGED")
    if code == "SERVER_CHANGED":
        (changed,) = [finding for finding in outcome.record.findings if finding.code == code]
        assert "speculative_algorithm" in changed.message
        assert changed.voids == ("acceptance", "speed")


def _server(port: int, flags: tuple[str, ...]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [*LAUNCH, "--model-path", "target", *flags, "--port", str(port)],
        env={**os.environ, "PYTHONPATH": str(ENGINE), "FAKE_STEP_MS": "0.2"}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    with Control(f"http://127.0.0.1:{port}") as control:
        while not control.healthy():
            time.sleep(0.05)
    return process


def test_a_store_that_cannot_be_used_is_told_and_the_run_waits_in_the_spool(tmp_path: Path) -> None:
    environ = {**os.environ, "TRACKER_DATA_DIR": str(tmp_path)}
    session = Session(now=datetime.now(UTC), environ=environ, cwd=tmp_path, tracking_uri="nonsense://x")
    with shared(*EAGLE3) as url:
        request = BenchRequest(url=url, plan=plan())
        (outcome,) = run_bench(request, session, on_progress=lambda _: None)

    assert outcome.run_id is None
    assert "no store" in str(outcome.error)
    assert outcome.spooled is not None
    assert session.spool.read(outcome.spooled).record == outcome.record


def test_a_folder_that_cannot_be_written_costs_no_measurement(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with shared(*EAGLE3) as url, pytest.raises(InputError, match="cannot write here"):
        bench(url, tmp_path)

    assert len(Spool(tmp_path / "spool").pending()) == 1


def test_a_name_that_no_campaign_can_have_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    session = Session(now=datetime.now(UTC), environ=dict(os.environ), cwd=tmp_path)
    request = BenchRequest(url=f"http://127.0.0.1:{free_port()}", plan=plan(), experiment="a/b")

    with pytest.raises(InputError, match="cannot be a campaign's name"):
        run_bench(request, session, on_progress=lambda _: None)


BLOCKED = ("mlflow", "pandas", "pyarrow", "platformdirs", "jinja2", "scipy", "plotly", "matplotlib", "css_inline",
           "prometheus_client", "torch", "sglang")  # fmt: skip


@pytest.mark.parametrize("command", ["sweep", pytest.param("bench", marks=pytest.mark.slow)])
def test_a_gpu_host_needs_five_small_packages_only(tmp_path: Path, command: str) -> None:
    """Run the real command in a process in which everything else cannot be imported."""
    blocker = (
        f"import sys\nclass Block:\n    def find_spec(self, name, *_):\n        if name.split('.')[0] in {BLOCKED!r}:\n"
        "            raise ModuleNotFoundError(name)\nsys.meta_path.insert(0, Block())\n"
        "from tracker.cli.main import main\nmain()\n"
    )
    environment = {**os.environ, "TRACKER_DATA_DIR": str(tmp_path / "data")}
    with shared(*EAGLE3) as url:
        arguments = ["bench", url, "--requests", "4", "--output-tokens", "8", "--repeats", "1"]
        if command == "sweep":
            (tmp_path / "campaign.toml").write_text(
                'schema_version = 1\n[campaign]\nname = "c"\n[sweep]\ntarget = "t"\n'
                f'launch = ["{sys.executable}", "-m", "sglang.launch_server"]\n'
                "[sweep.workload]\noutput_tokens = 8\nloads = [{concurrency = 2, requests = 4}]\n"
                f'[[sweep.servers]]\nname = "a"\n[sweep.servers.environment]\nPYTHONPATH = "{Path(__file__).parents[1]}'
                '/fakes/engine"\n'
            )
            arguments = ["sweep", str(tmp_path), "--out", str(tmp_path / "out")]
        done = subprocess.run(
            [sys.executable, "-c", blocker, *arguments, "--spool", str(tmp_path / "spool")],
            cwd=Path(__file__).parents[2], env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert len(Spool(tmp_path / "spool").pending()) == 1
