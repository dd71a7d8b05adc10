"""Servers as submitit jobs: real processes of its local executor, since there is no Slurm where tests run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.servers import ENGINE, LAUNCH, free_port
from tests.fakes.slurm import install
from tracker.errors import ServerError, UsageError
from tracker.launchers import LaunchSpec, Started, Starting, wait_all
from tracker.launchers.slurm import LAUNCHER, SlurmServer
from tracker.load.control import Control
from tracker.workflows.session import Session
from tracker.workflows.sweep import SweepOptions, run_sweep
from tracker.workflows.sweep_plan import read_sweep

ROOT = Path(__file__).parents[2]
submitit = pytest.importorskip("submitit", reason="the extra [slurm] is not installed")


def _spec(folder: Path, port: int, *, options: dict[str, Any] | None = None, **variables: str) -> LaunchSpec:
    return LaunchSpec(
        name="a",
        argv=(*LAUNCH, "--model-path", "target", "--host", "0.0.0.0", "--port", str(port)),
        environment={"PYTHONPATH": str(ENGINE), **variables},
        folder=folder,
        log=folder / "a.log",
        options={"cluster": "local", "timeout_min": 5, **(options or {})},
    )


class Submitted:
    """One job under test."""

    def __init__(self, folder: Path, **kwargs: Any) -> None:
        self.port = free_port()
        self.spec = _spec(folder, self.port, **kwargs)
        self.server: SlurmServer = LAUNCHER.start(self.spec)

    def healthy(self) -> bool:
        return _healthy(self.port)

    def wait(self, timeout_s: float = 30) -> Started:
        item = Starting(
            server=self.server,
            log=self.spec.log,
            healthy=self.healthy,
            queued=lambda: self.server.host("x") is None and self.server.exit_code() is None,
        )
        return wait_all({"a": item}, timeout_s=timeout_s, on_change=lambda *_: None)["a"]


def _healthy(port: int) -> bool:
    with Control(f"http://127.0.0.1:{port}", timeout_s=1) as control:
        return control.healthy()


@pytest.fixture
def job(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Submitted]:
    started = Submitted(tmp_path, **getattr(request, "param", {}))
    yield started
    started.server.stop(2)
    assert started.server._job.done()


def _becomes(condition: Callable[[], bool], within_s: float = 15) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.1)
    return False


def test_a_job_says_where_it_runs_serves_and_is_gone_when_stopped(job: Submitted) -> None:
    started = job.wait()
    host = job.server.host("configured")
    job.server.stop(3)

    assert started.failure is None
    assert host not in (None, "configured")
    assert not job.healthy()
    assert job.server.exit_code() is not None
    assert job.server._job.done()


@pytest.mark.slow
@pytest.mark.parametrize("job", [{"FAKE_FAIL_START": "oom"}], indirect=True)
def test_a_server_that_fails_in_its_job_is_explained_by_its_log(job: Submitted) -> None:
    failure = job.wait().failure

    assert failure is not None
    assert failure.kind == "out_of_memory"


@pytest.mark.slow
@pytest.mark.parametrize("job", [{"options": {"local_setup": ["sleep 4"]}}], indirect=True)
def test_time_in_the_queue_is_no_hanging(job: Submitted) -> None:
    assert job.server.host("x") is None

    started = job.wait(timeout_s=3)

    assert started.failure is None
    assert started.waited_s < 3


@pytest.mark.slow
@pytest.mark.parametrize("job", [{"options": {"local_setup": ["sleep 3"]}}], indirect=True)
def test_a_job_told_to_end_in_the_queue_starts_no_server(job: Submitted) -> None:
    job.server.stop(2)

    assert _becomes(partial(job.server._job.done))
    assert job.spec.log.read_text() == ""


@pytest.mark.slow
def test_a_job_that_vanishes_is_an_end_with_a_reason_in_the_log(job: Submitted) -> None:
    job.wait()

    job.server._job.cancel(check=False)

    assert _becomes(lambda: job.server.exit_code() is not None)
    assert _becomes(lambda: not job.healthy())


@pytest.mark.slow
def test_a_job_ends_itself_when_its_sweep_was_killed(tmp_path: Path) -> None:
    port = free_port()
    script = f"""
import sys, time
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from tests.launchers.test_slurm import _spec
from tracker.launchers.slurm import LAUNCHER
LAUNCHER.start(_spec(Path({str(tmp_path)!r}), {port}, options={{"lease_s": 2}}))
time.sleep(120)
"""
    sweep = subprocess.Popen([sys.executable, "-c", script])
    assert _becomes(partial(_healthy, port), within_s=30)

    os.kill(sweep.pid, signal.SIGKILL)
    sweep.wait()

    assert _becomes(lambda: not _healthy(port))


def test_options_that_submitit_does_not_know_are_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="slurm_partitions") as caught:
        LAUNCHER.start(_spec(tmp_path, 1, options={"slurm_partitions": "gpu"}))

    assert caught.value.where == "[sweep.launcher_options]"


def test_without_slurm_there_is_advice(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="srun") as caught:
        LAUNCHER.start(_spec(tmp_path, 1, options={"cluster": "slurm"}))

    assert "machine with Slurm" in (caught.value.hint or "")


def test_a_loopback_address_is_refused_because_nobody_would_reach_it(tmp_path: Path) -> None:
    spec = LaunchSpec(name="a", argv=("x", "--host", "127.0.0.1"), folder=tmp_path, log=tmp_path / "a.log")

    with pytest.raises(UsageError, match="cannot be reached") as caught:
        LAUNCHER.start(spec)

    assert "0.0.0.0" in (caught.value.hint or "")


@pytest.mark.slow
def test_a_sweep_runs_its_servers_as_jobs_and_leaves_none(tmp_path: Path) -> None:
    (tmp_path / "campaign.toml").write_text(
        'schema_version = 1\n[campaign]\nname = "c"\n[sweep]\ntarget = "t"\nlauncher = "slurm"\nhost = "0.0.0.0"\n'
        f"launch = {json.dumps(list(LAUNCH))}\nstart_port = {free_port()}\nstop_grace_s = 2\n"
        '[sweep.launcher_options]\ncluster = "local"\ntimeout_min = 5\n'
        f'[sweep.environment]\nPYTHONPATH = "{ENGINE}"\n[sweep.baseline]\nresident = true\n'
        "[sweep.workload]\noutput_tokens = 8\nloads = [{concurrency = 2, requests = 8}]\n"
        '[[sweep.servers]]\nname = "a"\nalgorithm = "NGRAM"\n'
    )
    session = Session(now=datetime.now(UTC), environ=dict(os.environ), cwd=tmp_path)
    options = SweepOptions(out=tmp_path / "out", spool=tmp_path / "spool")
    told: list[str] = []

    result = run_sweep(read_sweep(tmp_path), options, session, tell=told.append, on_progress=lambda _: None)

    assert {record.name: record.validity for record in result.records} == {"a": "ok", "baseline-1": "ok"}, told
    states = [json.loads(path.read_text()) for path in (tmp_path / "out" / "logs" / "slurm").glob("*/job.json")]
    assert len(states) == 2
    assert all("exit_code" in state for state in states)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Slurm's commands for this machine, first on PATH; returns the folder of the jobs' states."""
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    monkeypatch.setenv("PATH", f"{install(tmp_path / 'bin')}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_SLURM", str(jobs))
    return jobs


@pytest.mark.slow
def test_resources_reach_the_batch_file_and_the_job_serves_and_ends(cluster: Path, tmp_path: Path) -> None:
    options = {"cluster": "slurm", "slurm_partition": "gpu", "gpus_per_node": 8, "timeout_min": 90}
    job = Submitted(tmp_path, options=options)

    started = job.wait()
    job.server.stop(2)

    (batch,) = tmp_path.glob("slurm/*/*_submission.sh")
    assert started.failure is None
    for line in ("--partition=gpu", "--gpus-per-node=8", "--time=90", "--job-name=tracker-a"):
        assert f"#SBATCH {line}" in batch.read_text()
    assert not job.healthy()
    state = cluster / f"{job.server.job_id}.state"
    assert _becomes(lambda: state.read_text() in ("COMPLETED", "CANCELLED"))


@pytest.mark.slow
def test_a_job_that_slurm_has_not_started_is_cancelled(
    cluster: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_SLURM_QUEUE_S", "600")
    job = Submitted(tmp_path, options={"cluster": "slurm"})
    assert job.server.host("x") is None
    assert job.server.exit_code() is None

    job.server.stop(2)

    assert (cluster / "cancelled").read_text().split() == [job.server.job_id] * 2
    assert job.spec.log.read_text() == ""
