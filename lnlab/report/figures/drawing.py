"""Diagrams. They show no statistic, and a table beside each says the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from lnlab.keys import Json
from lnlab.report.charts.causal_graph import GraphEdge, GraphNode, causal_graph_chart
from lnlab.report.charts.module_graph import module_graph_chart
from lnlab.report.data.figure import SEED_SCHEMA, FigureData
from lnlab.report.section import Figure


@dataclass(frozen=True, kw_only=True)
class ModuleGraph(Figure):
    """Whole models, or sublayers opened, side by side."""

    panels: Sequence[Mapping[str, Json]]
    statistic: None = None

    def drawing(self) -> dict[str, Json]:
        """As ``charts.module_graph.module_graph_chart``."""
        return module_graph_chart(self.panels)


@dataclass(frozen=True, kw_only=True)
class CausalGraph(Figure):
    """Boxes, and arrows from cause to effect with two verdicts each, whose marks ``key`` explains."""

    nodes: Sequence[GraphNode]
    edges: Sequence[GraphEdge]
    key: str
    statistic: None = None

    def drawing(self) -> dict[str, Json]:
        """As ``charts.causal_graph.causal_graph_chart``."""
        return causal_graph_chart(self.nodes, self.edges, self.key)


def diagram_data(rows: pl.DataFrame) -> FigureData:
    """The data of a diagram. It is made from settings or verdicts, and so has no stored rows."""
    return FigureData(seeds=pl.DataFrame(schema=SEED_SCHEMA), points=rows, missing="", rows={})
