"""A memo as whoever reads memo.json has it."""

from __future__ import annotations

import json
from typing import Any

from tracker.report import MemoView, render_json


def payload(view: MemoView) -> dict[str, Any]:
    """Return what memo.json says."""
    read: dict[str, Any] = json.loads(render_json(view))
    return read
