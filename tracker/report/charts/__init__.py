"""Figures as drawings: x in per cent and y in pixels, so that text keeps its size at any width."""

from tracker.report.charts.drawing import draw
from tracker.report.charts.marks import Drawing

__all__ = ["Drawing", "draw"]
