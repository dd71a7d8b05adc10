"""A sweep measured by the user's own benchmark."""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.fakes.servers import ENGINE, free_port
from tracker.domain.record import LoggedRun
from tracker.errors import InputError, ServerError
from tracker.store import Spool
from tracker.workflows.session import Session
from tracker.workflows.sweep import SweepOptions, run_sweep
from tracker.workflows.sweep_check import check_all
from tracker.workflows.sweep_command import run_command
from tracker.workflows.sweep_estimate import estimate
from tracker.workflows.sweep_plan import SweepPlan, read_sweep

# Asks as often as it is told and writes one line as SGLang's bench_serving does, texts included.
OWN = """
import json, sys, time, urllib.request as web
print("noise on stdout")
url, out, requests = sys.argv[1], sys.argv[2], int(sys.argv[3])
begun = time.perf_counter()
answers = []
for number in range(requests):
    body = json.dumps({"text": f"secret text {number}", "sampling_params": {"max_new_tokens": 16}}).encode()
    answers.append(json.load(web.urlopen(web.Request(url + "/generate", body))))
seconds = time.perf_counter() - begun
with open(out, "w") as file:
    file.write(json.dumps({
        "backend": "sglang", "dataset_name": "custom", "request_rate": "inf", "max_concurrency": 1,
        "duration": seconds, "completed": requests, "total_input_tokens": 3 * requests,
        "total_output_tokens": 16 * requests, "request_throughput": requests / seconds,
        "input_throughput": 3 * requests / seconds, "output_throughput": 16 * requests / seconds,
        "total_throughput": 19 * requests / seconds, "concurrency": 1.0, "accept_length": None,
        "generated_texts": ["secret answer"] * requests,
    }) + chr(10))
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "own.py"
    path.write_text(OWN)
    return path


def _plan(folder: Path, command: str, *, baseline: str = "[sweep.baseline]\nresident = true\n") -> SweepPlan:
    (folder / "campaign.toml").write_text(
        'schema_version = 1\n[campaign]\nname = "c"\n[hardware]\ngpu = "none"\n[sweep]\ntarget = "t"\n'
        f"launch = {json.dumps([sys.executable, '-m', 'sglang.launch_server'])}\nstart_port = {free_port()}\n"
        f"health_timeout_s = 20\nstop_grace_s = 2\ncommand = {json.dumps(command)}\ncommand_estimate_s = 60\n"
        f"[sweep.environment]\nPYTHONPATH = {json.dumps(str(ENGINE))}\n{baseline}"
        '[[sweep.servers]]\nname = "a"\nalgorithm = "NGRAM"\n'
    )
    return read_sweep(folder)


def _swept(folder: Path, plan: SweepPlan) -> dict[str, LoggedRun]:
    session = Session(now=datetime.now(UTC), environ=dict(os.environ), cwd=folder)
    options = SweepOptions(out=folder / "out", spool=folder / "spool")
    run_sweep(plan, options, session, tell=lambda _: None, on_progress=lambda _: None)
    spool = Spool(folder / "spool")
    return {run.record.name: run for run in map(spool.read, spool.pending())}


def test_candidates_and_the_resident_baseline_are_measured_by_the_same_benchmark(
    tmp_path: Path, script: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    runs = _swept(tmp_path, _plan(tmp_path, f"{sys.executable} {script} {{url}} {{out}} 5"))

    assert set(runs) == {"baseline-1-1", "a", "baseline-1-2"}
    for run in runs.values():
        (cell,) = run.record.pooled()
        assert (cell.requests_completed, cell.output_tokens) == (5, 80)
        assert run.record.validity == "ok"
    (cell,) = runs["a"].record.pooled()
    assert cell.extra["baseline_before_output_throughput_tok_s"] > 0
    assert cell.extra["baseline_after_output_throughput_tok_s"] > 0
    assert [runs[name].record.role for name in ("a", "baseline-1-1")] == ["candidate", "baseline"]
    assert "noise" not in capfd.readouterr().out


def test_its_result_is_kept_without_texts(tmp_path: Path, script: Path) -> None:
    runs = _swept(tmp_path, _plan(tmp_path, f"{sys.executable} {script} {{url}} {{out}} 2", baseline=""))

    attached = {item.name: item.content for item in runs["a"].attachments}
    assert json.loads(attached["server/a.jsonl"])["completed"] == 2
    assert b"noise on stdout" in attached["server/benchmark.log"]
    assert not [name for name, content in attached.items() if b"secret" in content]


def test_a_benchmark_that_fails_on_the_baseline_stops_the_sweep_with_its_reason(tmp_path: Path) -> None:
    plan = _plan(tmp_path, f"{sys.executable} -c 'raise SystemExit(4)' {{url}} {{out}}")

    with pytest.raises(ServerError, match="baseline cannot be measured: the benchmark ended with exit code 4"):
        _swept(tmp_path, plan)


def test_a_benchmark_that_fails_on_one_server_is_recorded_for_it(tmp_path: Path) -> None:
    plan = _plan(tmp_path, f"{sys.executable} -c 'import sys; sys.exit(\"no data set\")' {{url}}", baseline="")

    (run,) = _swept(tmp_path, plan).values()

    assert run.record.validity == "invalid"
    assert "exit code 1" in (run.record.validity_reason or "")
    assert "no data set" in (tmp_path / "out" / "results" / "a.log").read_text()


@pytest.mark.parametrize(
    ("command", "words", "hint"),
    [
        ("no-such-benchmark {url} {out}", "cannot be run", "command"),
        ("true {url} {out}", "wrote no result", "{out}"),
    ],
)
def test_what_goes_wrong_is_named_with_advice(tmp_path: Path, command: str, words: str, hint: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        run_command(command, "http://127.0.0.1:1", "a", tmp_path, lambda _: None, timeout_s=30)

    assert hint in (caught.value.hint or "")


def test_a_benchmark_that_is_not_there_costs_no_start(tmp_path: Path) -> None:
    plan = _plan(tmp_path, "no-such-benchmark {url} {out}")

    with pytest.raises(InputError, match="there is no program 'no-such-benchmark'"):
        _swept(tmp_path, plan)

    assert not list((tmp_path / "out").glob("logs/*"))


@pytest.mark.slow
def test_a_benchmark_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    marker = tmp_path / "still"
    (tmp_path / "loop.py").write_text(
        f"import time, pathlib\nwhile True:\n  pathlib.Path({str(marker)!r}).touch()\n  time.sleep(0.05)\n"
    )
    (tmp_path / "hangs.sh").write_text(f"{sys.executable} {tmp_path / 'loop.py'} &\nwait\n")
    command = f"sh {tmp_path / 'hangs.sh'}"

    with pytest.raises(InputError, match="did not end within 3 s") as caught:
        run_command(command, "http://127.0.0.1:1", "a", tmp_path, lambda _: None, timeout_s=3)

    assert "command_timeout_s" in (caught.value.hint or "")
    marker.unlink()
    time.sleep(0.3)
    assert not marker.exists()


def test_the_plan_counts_the_time_of_the_command(tmp_path: Path, script: Path) -> None:
    plan = _plan(tmp_path, f"{sys.executable} {script} {{url}} {{out}} 5")

    expected = estimate(plan, check_all(plan))
    assert expected.measure_s == 3 * 60  # the server, and the baseline before and after it
    assert "60 s for your command" in expected.assumes
