"""ui: the MLflow web interface on the right store."""

from __future__ import annotations

import socket
import subprocess
import sys
from dataclasses import dataclass

from tracker.errors import UsageError
from tracker.store.mlflow_view import VIEW_ID, VIEW_TAG
from tracker.workflows.session import Session

HOST = "127.0.0.1"
# Without these a plain `mlflow server` is 16 processes, three quarters of a minute from start to first page.
_LEAN = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}


@dataclass(frozen=True, slots=True, kw_only=True)
class UiPlan:
    """How the web interface is reached."""

    url: str
    """Address to open, at the campaign when one was named; it opens the interface made for runs, not for agents."""
    command: tuple[str, ...] | None
    """Server to start; None when the store is a server already."""


def plan_ui(session: Session, *, experiment: str | None, port: int) -> UiPlan:
    """Return the address and, for an embedded store, the server to start.

    Without a name the only campaign there is opens; of several the list.

    Raises:
        StoreError: The store is unreachable, or holds no such campaign.
        UsageError: The port is taken; names one that is free.
    """
    store = session.store()
    if experiment is None and len(known := store.experiments()) == 1:
        experiment = known[0]
    if store.uri.startswith(("http://", "https://")):
        return UiPlan(url=_address(store.uri, experiment, session), command=None)
    _require_free(port)
    base = f"http://{HOST}:{port}"
    command = (
        *(sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(port), "--workers", "1"),
        *("--backend-store-uri", store.uri),
    )
    return UiPlan(url=_address(base, experiment, session), command=command)


def serve_ui(plan: UiPlan, session: Session) -> int:
    """Run the server until it is stopped and return its exit code; 0 when there is none to run."""
    if plan.command is None:
        return 0
    # A terminal's Ctrl-C goes to a whole group. Told to end twice, the server shows a traceback; it is told from here.
    process = subprocess.Popen(plan.command, env={**session.environ, **_LEAN}, process_group=0)
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        return 0


def _require_free(port: int) -> None:
    """Find out before the server starts: it would say so after ten seconds, among much else.

    Raises:
        UsageError: Something listens there.
    """
    try:
        with socket.create_server((HOST, port)):
            return
    except OSError as error:
        with socket.create_server((HOST, 0)) as other:
            free = other.getsockname()[1]
        raise UsageError(
            f"port {port} cannot be used: {error.strerror}",
            hint=f"Add --port {free}, or open what listens there already: http://{HOST}:{port}.",
        ) from error


def _address(base: str, experiment: str | None, session: Session) -> str:
    """Return the page's address.

    MLflow 3.17 reads the query behind the `#` route: in front of it, the interface made for agents opens. That one
    opens too where the address names a view which the experiment lacks, as a trainer's own does (seen in Chromium).
    """
    address = f"{base.rstrip('/')}/#/experiments"
    if experiment is None:
        return f"{address}?workflowType=machine_learning"
    store = session.mlflow_store()
    number = store.experiment_id(experiment)
    with store.speaking(f"the campaign {experiment!r} could not be read") as client:
        has_view = VIEW_TAG in client.get_experiment(number).tags
    view = f"&viewStateShareKey={VIEW_ID}" if has_view else ""
    return f"{address}/{number}/runs?workflowType=machine_learning{view}"
