"""From analysis to memo: view, figures, renderers.

The package is also the public call `tracker.report(since="last-week")`: the room and the function share one name.
"""

import sys
from types import ModuleType
from typing import Any

from tracker.report.build import build
from tracker.report.context import EarlierMemo, MemoContext
from tracker.report.explore import render_explore
from tracker.report.html import render_html
from tracker.report.index import IndexEntry, entry_from, render_index
from tracker.report.mail import compose
from tracker.report.memo_json import render_json, with_report_run
from tracker.report.text import render_text
from tracker.report.view import MemoView

__all__ = [
    "EarlierMemo",
    "IndexEntry",
    "MemoContext",
    "MemoView",
    "build",
    "compose",
    "entry_from",
    "render_explore",
    "render_html",
    "render_index",
    "render_json",
    "render_text",
    "with_report_run",
]


class _CallableRoom(ModuleType):
    """A package that can be called."""

    def __call__(self, **options: Any) -> Any:
        """Write memos; see `tracker.write_reports`."""
        # Looked up, not imported: the function lives above this room.
        return sys.modules["tracker"].write_reports(**options)


sys.modules[__name__].__class__ = _CallableRoom
