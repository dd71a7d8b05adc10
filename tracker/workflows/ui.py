"""ui: the MLflow web interface on the right store."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

from tracker.store.mlflow_view import VIEW_ID
from tracker.workflows.session import Session

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

    Raises:
        StoreError: The store is unreachable, or holds no such campaign.
    """
    store = session.store()
    if store.uri.startswith(("http://", "https://")):
        return UiPlan(url=_address(store.uri, store.experiment_id(experiment) if experiment else None), command=None)
    base = f"http://127.0.0.1:{port}"
    command = (
        *(sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"),
        *("--backend-store-uri", store.uri),
    )
    return UiPlan(url=_address(base, store.experiment_id(experiment) if experiment else None), command=command)


def serve_ui(plan: UiPlan, session: Session) -> int:
    """Run the server until it is stopped and return its exit code; 0 when there is none to run."""
    if plan.command is None:
        return 0
    process = subprocess.Popen(plan.command, env={**session.environ, **_LEAN})
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        return 0


def _address(base: str, experiment_id: str | None) -> str:
    """Return the page's address.

    MLflow 3.17 reads the query behind the `#` route: in front of it, the interface made for agents opens.
    """
    page = f"experiments/{experiment_id}/runs" if experiment_id else "experiments"
    view = f"&viewStateShareKey={VIEW_ID}" if experiment_id else ""
    return f"{base.rstrip('/')}/#/{page}?workflowType=machine_learning{view}"
