"""The memo as one self-contained page: no script, no request, no clock."""

from __future__ import annotations

from tracker.report.charts import draw
from tracker.report.jinja import environment
from tracker.report.view import MemoView


def render_html(view: MemoView) -> str:
    """Return memo.html; the same view gives the same bytes."""
    shorts = {run.run_id: run.short for run in view.runs}
    return environment().get_template("memo.html").render(view=view, draw=draw, shorts=shorts)
