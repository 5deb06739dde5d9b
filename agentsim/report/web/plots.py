"""Plots of the lab as SVG documents, drawn as the charts of pages are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim.report.figures import short
from agentsim.report.web.charts import Bar, bars, lines, picture

if TYPE_CHECKING:
    from agentsim.engine.lab.experiment import Plot


def svg(plot: Plot) -> str:
    """A plot as an SVG document."""
    from agentsim.engine.lab.experiment import LinePlot

    if isinstance(plot, LinePlot):
        series = [(one.name, one.points) for one in plot.series]
        return picture(lines(series, plot.title, plot.x, plot.y, log_x=plot.log_x, log_y=plot.log_y), plot.title)
    drawn = bars([Bar(name, value, short(value)) for name, value in plot.bars], plot.title, log=plot.log_y)
    return picture(drawn, plot.title, plot.y + ", logarithmic" * plot.log_y)
