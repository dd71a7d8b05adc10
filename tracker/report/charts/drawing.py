"""Which drawing belongs to which figure."""

from __future__ import annotations

from tracker.report.charts.gap import draw_gap
from tracker.report.charts.history import draw_history
from tracker.report.charts.load import draw_load
from tracker.report.charts.marks import Drawing
from tracker.report.charts.options import draw_options
from tracker.report.charts.rows import draw_dot_rows, draw_share
from tracker.report.charts.scaling import draw_scaling
from tracker.report.charts.spread import draw_spread
from tracker.report.charts.step_time import draw_step_time
from tracker.report.charts.strip import draw_strip
from tracker.report.charts.throughput import draw_throughput
from tracker.report.figures import (
    DotRowsData,
    FigureData,
    GapData,
    LoadData,
    OptionsData,
    ShareData,
    StepTimeData,
    StripData,
    ThroughputData,
)
from tracker.report.figures_history import HistoryData
from tracker.report.figures_scaling import ScalingData
from tracker.report.figures_spread import SpreadData


def draw(data: FigureData) -> Drawing:
    """Return the drawing of a figure."""
    match data:
        case StripData():
            return draw_strip(data)
        case ThroughputData():
            return draw_throughput(data)
        case GapData():
            return draw_gap(data)
        case StepTimeData():
            return draw_step_time(data)
        case ShareData():
            return draw_share(data)
        case DotRowsData():
            return draw_dot_rows(data)
        case ScalingData():
            return draw_scaling(data)
        case OptionsData():
            return draw_options(data)
        case LoadData():
            return draw_load(data)
        case HistoryData():
            return draw_history(data)
        case SpreadData():
            return draw_spread(data)
