"""A part of a report as one frozen value, made of frames alone; page, notebook, figures and tables all render it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from lnlab.facts import SectionFacts
from lnlab.keys import Json
from lnlab.registry import Registry
from lnlab.report.table import Grid


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite drawing with everything a reader needs who cannot see it.

    Attributes:
        spec: Vega-Lite whose layers read the named data set ``points`` (and ``seeds``, where single seeds are drawn).
        points: what is drawn, one row a mark: the table behind the figure.
        seeds: the replicates behind ``points``: ``panel series line x seed value``.
        headings: heading of each column of ``points`` that the folded table shows, in order.
        alt: the drawing in words.
        caption: what, units, the statistic of the band and its n, what was dropped or thinned.
        log: whether means and intervals were taken on the logarithmic scale.
        statistic: over seeds: the mean with its interval, or the median between the lowest and the highest.
    """

    spec: Mapping[str, Json]
    points: pl.DataFrame
    seeds: pl.DataFrame
    headings: Mapping[str, str]
    alt: str
    caption: str
    log: bool
    statistic: Literal["mean", "median"] = "mean"


@dataclass(frozen=True)
class Table:
    """A table that stands in the page by itself.

    Attributes:
        rows: exact, for machines: one row an entry.
        headings: as in ``Chart``.
        caption: what, units, the statistic and its n.
        grid: how readers see it (its caption is not read), where that is not ``rows`` as they are.
    """

    rows: pl.DataFrame
    headings: Mapping[str, str]
    caption: str
    grid: Grid | None = None


@dataclass(frozen=True)
class Section:
    """The content of a section: its finding, figures and tables.

    Attributes:
        finding: one sentence computed from the numbers; the heading.
        charts: the drawings, in order.
        tables: tables that stand by themselves, in order.
        missing: which runs are not in it and why, or nothing.
        rows: the stored rows it read, by table; a report keeps these and no others.
    """

    finding: str
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    missing: str = ""
    rows: Mapping[str, pl.DataFrame] = field(default_factory=dict)


sections: Registry[Callable[..., Section]] = Registry("section", SectionFacts)
"""Builders ``(results: Results, *, ...) -> Section``. Beside the results a builder may name, as positional parameters,
``decisions``, what was chosen on tuning seeds; ``verdicts``, of all claims; ``root``, the path of the folder of all
reports from the page, or None; and ``formulas``, what each placement computes, by its name.
"""
