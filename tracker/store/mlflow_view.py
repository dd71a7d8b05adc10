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
VIEW_TAG = f"mlflow.sharedViewState.{VIEW_ID}"
COLUMNS = (
    "attributes.`Created`",
    "metrics.`output_throughput_tok_s`",
    "metrics.`accept_length`",
    "metrics.`step_time_ms`",
    "metrics.`train/samples`",
    "tags.`tracker.role`",
    "tags.`validity`",
    "tags.`drafter.name`",
    "tags.`hw.gpu`",
    "params.`speculation.algorithm`",
    "params.`speculation.num_steps`",
    "params.`speculation.num_draft_tokens`",
)


def house_view() -> Mapping[str, str]:
    """Return the tag that holds the view."""
    state = {
        "searchFilter": "",
        "orderByKey": "metrics.`output_throughput_tok_s`",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": list(COLUMNS),
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
    view = {"name": "tracker", "createdAt": 0, "updatedAt": 0, "state": f"deflate;{packed}"}
    return {VIEW_TAG: json.dumps(view, sort_keys=True)}
