"""Charts of a comparison as Vega-Lite: verdicts and samples in, plain dicts out, the most telling first.

Names that people chose are only ever data, never part of an expression. What
cannot be placed is named below the title instead of being drawn at one or zero.
"""

from __future__ import annotations

from flowgauge.report.charts import Spec
from flowgauge.report.compare_chart_nodes import node_chart
from flowgauge.report.compare_chart_rates import rate_chart
from flowgauge.report.compare_chart_ratios import ratio_chart
from flowgauge.report.compare_chart_spread import spread_chart
from flowgauge.report.compare_source import CompareSource
from flowgauge.report.compare_tables import ranked_metrics

MOST_SPREADS = 8


def compare_charts(source: CompareSource, *, width: int = 620) -> dict[str, Spec]:
    """By name, those that there is something to draw for."""
    comparison = source.comparison
    charts: dict[str, Spec | None] = {
        "ratios": ratio_chart(comparison, width),
        "nodes": node_chart(comparison, width),
        "rates": rate_chart(comparison, width),
    }
    drawn = [metric for metric in ranked_metrics(comparison) if metric.metric in source.distributions]
    for index, metric in enumerate(drawn[:MOST_SPREADS]):
        charts[f"spread {index}"] = spread_chart(metric, *source.distributions[metric.metric], width)
    return {name: one for name, one in charts.items() if one is not None}
