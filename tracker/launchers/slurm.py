"""A server as a Slurm job, submitted through submitit (extra `[slurm]`)."""

from __future__ import annotations

import importlib.util
import logging
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tracker.errors import ServerError, UsageError
from tracker.launchers._slurm_job import LEASE_FILE, STOP_FILE, read_state, serve
from tracker.launchers.base import LaunchSpec

JOBS_FOLDER = "slurm"
# submitit's own default is 5 minutes.
DEFAULT_TIMEOUT_MIN = 240
DEFAULT_LEASE_S = 300.0
_POLL_S = 0.2
# A request to stop reaches the job through a network file system, which may hold a folder's listing for a minute.
_SLACK_S = 75.0
_ENDING_S = 10.0
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_LOG = logging.getLogger(__name__)


class SlurmServer:
    """A submitted job."""

    def __init__(self, job: Any, mailbox: Path, log: Path, lease_s: float) -> None:
        """Hold the job and keep its lease renewed."""
        self._job, self._mailbox, self._log = job, mailbox, log
        self._stopped = threading.Event()
        self._vanished: int | None = None
        threading.Thread(target=self._renew, args=(lease_s / 10,), daemon=True).start()

    @property
    def job_id(self) -> str:
        """Return Slurm's number of the job."""
        return str(self._job.job_id)

    def host(self, configured: str) -> str | None:
        """Return the node it runs on; None while it is queued."""
        found = read_state(self._mailbox).get("host")
        return None if found is None else str(found)

    def exit_code(self) -> int | None:
        """Return the server's exit code; 1 for a job that ended without one, None while it is queued or runs."""
        code = read_state(self._mailbox).get("exit_code")
        if isinstance(code, int):
            return code
        if self._vanished is None and self._job.done():
            code = read_state(self._mailbox).get("exit_code")  # written between the two looks
            self._vanished = code if isinstance(code, int) else self._note_vanished()
        return self._vanished

    def request_stop(self) -> None:
        """Leave the job a request to end its server; a job that is still queued is cancelled."""
        if self.exit_code() is not None:
            return
        (self._mailbox / STOP_FILE).touch()
        if self.host("") is None:
            self._job.cancel(check=False)

    def stop(self, grace_s: float) -> None:
        """End the server, then the job."""
        self.request_stop()
        if self._stopped.is_set():
            return
        self._stopped.set()
        if self.host("") is not None:
            _wait(lambda: self.exit_code() is not None, grace_s + _SLACK_S)
            _wait(self._job.done, _ENDING_S)
        if not self._job.done():
            self._job.cancel(check=False)
            _wait(self._job.done, _ENDING_S)

    def kill(self) -> None:
        """Cancel the job."""
        self._stopped.set()
        self._job.cancel(check=False)

    def _renew(self, every_s: float) -> None:
        while not self._stopped.is_set():
            try:
                (self._mailbox / LEASE_FILE).touch()
            except OSError as error:
                _LOG.warning("the lease of job %s cannot be renewed: %s", self._job.job_id, error)
            self._stopped.wait(every_s)

    def _note_vanished(self) -> int:
        """Say in the server's log how its job ended, for whoever explains the failure."""
        state = str(self._job.state)
        words = "out of memory" if "OUT_OF_ME" in state else f"ended as {state}"
        try:
            with self._log.open("a", encoding="utf-8") as log:
                log.write(f"\nSlurm job {self._job.job_id}: {words}\n")
        except OSError as error:
            _LOG.warning("%s cannot be written: %s", self._log, error)
        return 1


class Slurm:
    """Starts each server as a Slurm job of one task.

    `[sweep.launcher_options]` goes to submitit: `slurm_partition`, `slurm_account`, `gpus_per_node`, `cpus_per_task`,
    `mem_gb`, `timeout_min`, ... Folders and this Python must be on a file system that the nodes share, and `host` be
    `0.0.0.0`: the server listens there and is reached by its node's name. Time in the queue does not count as hanging.
    A job ends with the sweep: it is told to, it is cancelled, and it ends itself when nobody has renewed its lease for
    `lease_s` seconds, however the sweep died.
    """

    name = "slurm"

    def start(self, spec: LaunchSpec) -> SlurmServer:
        """Submit the job and return at once.

        Raises:
            UsageError: submitit is not installed, the options are not understood, or nodes could not be reached.
            ServerError: There is no Slurm here, or it does not take the job.
        """
        submitit = _submitit()
        options = {"timeout_min": DEFAULT_TIMEOUT_MIN, "name": f"tracker-{spec.name}", **spec.options}
        cluster = str(options.pop("cluster", "slurm"))
        lease_s = float(options.pop("lease_s", DEFAULT_LEASE_S))
        if cluster == "slurm":
            _refuse_loopback(spec)
        mailbox = spec.log.parent / JOBS_FOLDER / f"{spec.log.stem}-{uuid.uuid4().hex[:8]}"
        try:
            mailbox.mkdir(parents=True)
            (mailbox / LEASE_FILE).touch()
            spec.log.write_bytes(b"")
            executor = submitit.AutoExecutor(folder=mailbox, cluster=cluster)
        except (OSError, RuntimeError) as error:
            raise ServerError(
                f"the server {spec.name!r} cannot be submitted: {error}",
                where=str(mailbox),
                hint="Run the sweep on a machine with Slurm's commands, and keep --out on the shared file system.",
            ) from error
        try:
            executor.update_parameters(**options)
        except (NameError, ValueError, TypeError, AssertionError) as error:
            raise UsageError(
                f"submitit does not understand the options: {error}",
                where="[sweep.launcher_options]",
                hint="Name Slurm's own options with the prefix `slurm_`, e.g. slurm_partition.",
            ) from error
        try:
            job = executor.submit(serve, spec, mailbox, lease_s=lease_s)
        except (OSError, RuntimeError, submitit.core.utils.FailedJobError) as error:
            raise ServerError(
                f"Slurm does not take the server {spec.name!r}: {error}",
                where=str(mailbox),
                hint="Check partition, account and resources in [sweep.launcher_options].",
            ) from error
        return SlurmServer(job, mailbox, spec.log, lease_s)


def _wait(condition: Callable[[], bool], within_s: float) -> None:
    deadline_s = time.monotonic() + within_s
    while not condition() and time.monotonic() < deadline_s:
        time.sleep(_POLL_S)


def _submitit() -> Any:
    if importlib.util.find_spec("submitit") is None:
        raise UsageError(
            "the launcher `slurm` needs submitit", where="[sweep] launcher", hint="Run: pip install 'tracker[slurm]'"
        )
    import submitit

    return submitit


def _refuse_loopback(spec: LaunchSpec) -> None:
    words = list(spec.argv)
    host = words[words.index("--host") + 1] if "--host" in words[:-1] else None
    if host in _LOOPBACK:
        raise UsageError(
            f"a server on a Slurm node cannot be reached at {host}",
            where="[sweep] host",
            hint='Write host = "0.0.0.0": it listens on its node and is reached by the node\'s name.',
        )


LAUNCHER = Slurm()
