"""Does one thing with a store in a process of its own; writes its peak memory, and its seconds once all is imported."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.benchmarks import many_runs
from tracker.store.mlflow_open import configure_mlflow
from tracker.workflows.browse import list_runs
from tracker.workflows.compare import compare_sides
from tracker.workflows.report import ReportRequest, write_reports
from tracker.workflows.session import Session


def main(what: str, uri: str, folder: str, count: str) -> None:
    """Do it."""
    if what == "search_runs":
        # A page of fluent search_runs can take longer than the 30 s that tracker allows a request.
        os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] = "600"
    configure_mlflow(os.environ)
    nights = int(count) // many_runs.RUNS_A_NIGHT
    now = many_runs.FIRST_NIGHT + timedelta(days=nights, hours=8)
    session = Session(now=now, environ={}, cwd=Path.cwd(), tracking_uri=uri, folder=Path(folder))
    session.store().experiments()
    # Importing it is start-up, as importing MLflow and pandas is, which connecting did.
    import plotly.graph_objects
    import plotly.offline  # noqa: F401

    found: dict[str, Any] = {}
    start = time.perf_counter()
    if what == "search_runs":
        import mlflow

        mlflow.set_tracking_uri(uri)
        found["runs"] = len(mlflow.search_runs(experiment_names=["nightly"]))
    elif what == "runs":
        found["runs"] = len({line.run_id for line in list_runs(session, experiment="nightly", since=None)})
    elif what == "compare":
        found["runs"] = len(compare_sides("d10000", "d300000", session, experiment="nightly").duels)
    else:
        request = ReportRequest(since="7d", out=Path(folder) / "memos", experiment="nightly")
        (memo,) = write_reports(request, session).memos
        found["runs"] = len(memo.content["evidence"])
        found["memo_kb"] = memo.path.stat().st_size / 1000
    found["seconds"] = time.perf_counter() - start
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
