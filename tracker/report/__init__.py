"""From analysis to memo: view, figures, renderers."""

from tracker.report.build import build
from tracker.report.context import MemoContext
from tracker.report.html import render_html
from tracker.report.memo_json import render_json
from tracker.report.text import render_text
from tracker.report.view import MemoView

__all__ = ["MemoContext", "MemoView", "build", "render_html", "render_json", "render_text"]
