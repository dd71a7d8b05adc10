"""The house view: columns and charts that a campaign opens with, as one of MLflow's saved views.

MLflow keeps a saved view in an experiment tag in an internal format (read from 3.17 and 3.18), so this is best effort:
a version that does not understand it ignores it.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping

VIEW_ID = "tracker-house-view"
MEMOS_VIEW_ID = "tracker-memos-view"
SHARED_VIEW = "mlflow.sharedViewState."
VIEW_TAG = f"{SHARED_VIEW}{VIEW_ID}"
RUNS_FILTER = "tags.`tracker.kind` != 'report'"
MEMOS_FILTER = "tags.`tracker.kind` = 'report'"
COLUMNS = (
    "attributes.`Created`",
    "metrics.`output_throughput_tok_s`",
    "metrics.`accept_length`",
    "metrics.`speedup_over_baseline`",
    "metrics.`step_time_ms`",
    "metrics.`train/samples`",
    "tags.`tracker.vs_baseline`",
    "tags.`validity`",
    "tags.`drafter.name`",
    "params.`speculation.algorithm`",
    "params.`speculation.num_steps`",
)


MEMO_COLUMNS = (
    "attributes.`Created`",
    "metrics.`report/speedup`",
    "metrics.`report/speedup_low`",
    "metrics.`report/speedup_high`",
    "metrics.`report/accept_length`",
    "metrics.`report/break_even`",
    "tags.`verdict`",
    "tags.`tracker.decision`",
    "tags.`report.memo_number`",
)


def house_view() -> Mapping[str, str]:
    """Return the tags that hold the views: the runs, fastest first, and the memos, newest first."""
    return {
        VIEW_TAG: _view("tracker", RUNS_FILTER, "metrics.`output_throughput_tok_s`", COLUMNS),
        f"{SHARED_VIEW}{MEMOS_VIEW_ID}": _view("tracker memos", MEMOS_FILTER, "attributes.start_time", MEMO_COLUMNS),
    }


def _view(name: str, condition: str, order: str, columns: tuple[str, ...]) -> str:
    state = {
        "searchFilter": condition,
        "orderByKey": order,
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": list(columns),
        "runsExpanded": {},
        "runsPinned": [],
        "runsHidden": [],
        "runsHiddenMode": "FIRST_10_RUNS",
        "viewMaximized": False,
        "runListHidden": False,
        "hideEmptyCharts": True,
        "groupBy": None,
        "groupsExpanded": {},
        "isAccordionReordered": False,
        "useGroupedValuesInCharts": True,
    }
    packed = base64.b64encode(zlib.compress(json.dumps(state, sort_keys=True).encode())).decode()
    view = {"name": name, "createdAt": 0, "updatedAt": 0, "state": f"deflate;{packed}"}
    return json.dumps(view, sort_keys=True)
