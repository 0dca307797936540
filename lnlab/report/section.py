"""The content of a section: figures as typed data, tables, and what both read. Pages, notebooks and papers render it.

A section selects rows, names what they are, and returns a type of ``report/figures``. The type draws it and says it in
words, so that captions, alternative texts and notebooks speak of a statistic in one way.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import polars as pl

from lnlab.facts import SectionFacts
from lnlab.keys import Json
from lnlab.registry import Registry
from lnlab.report.charts.vega_lite import unchecked
from lnlab.report.data.downsample import thin_points
from lnlab.report.data.figure import FigureData
from lnlab.report.table import Grid, reader_grid
from lnlab.report.words.quantity_words import quantity_name
from lnlab.report.words.statistic import GEOMETRIC_MEAN, Statistic


@dataclass(frozen=True, kw_only=True)
class Figure(ABC):
    """A figure as typed data: what is drawn, of which statistic, and what a reader needs who cannot see it.

    Attributes:
        data: the numbers, over seeds and of each seed.
        headings: heading of each column of ``points`` that the folded table shows, in order.
        shows: ``Line chart of the loss, against training step t``: the drawing in a few words.
        finding: one sentence computed from the numbers.
        subject: the first sentence of the caption, without its full stop: what is drawn against what, with its unit.
        statistic: over replicates, or None if the drawing has none.
        replicate: what a replicate is, in the singular.
        notes: sentences of the caption after that of the statistic.
        seeds_drawn: whether each number of ``seeds`` has a mark.
    """

    data: FigureData
    headings: Mapping[str, str]
    shows: str
    finding: str
    subject: str
    statistic: Statistic | None
    replicate: str = "seed"
    notes: tuple[str, ...] = ()
    seeds_drawn: bool = False

    @abstractmethod
    def drawing(self) -> Mapping[str, Json]:
        """Vega-Lite whose layers read the named data set ``points`` (and ``seeds``, where single seeds are drawn)."""

    @property
    def marks(self) -> tuple[str, str]:
        """What shows the statistic, and what shows its spread, as the caption calls them."""
        return "Lines", "band"

    @cached_property
    def spec(self) -> Mapping[str, Json]:
        """The drawing, made once."""
        with unchecked():
            return self.drawing()

    @property
    def points(self) -> pl.DataFrame:
        """The table behind the figure, with one row for each mark."""
        return self.data.points

    @property
    def seeds(self) -> pl.DataFrame:
        """The replicates behind ``points``: ``panel series line x seed value``."""
        return self.data.seeds

    @property
    def log(self) -> bool:
        """Whether means and intervals were taken on the logarithmic scale."""
        return self.statistic == GEOMETRIC_MEAN

    @property
    def alt(self) -> str:
        """The drawing in words."""
        return f"{self.shows}. {self.finding}."

    @property
    def caption(self) -> str:
        """The caption: what is drawn, units, the statistic and its n, and what is left out or thinned."""
        statistic = ""
        if self.statistic is not None and not self.points.is_empty():
            statistic = self.statistic.sentence(self.points, *self.marks, of=self.replicate)
        thinned = thin_points(self.seeds if self.seeds_drawn else self.points)[1]
        sentences = (f"{self.subject}.", statistic, *self.notes, *self.data.left_out, thinned)
        return " ".join(filter(None, sentences))

    def section(self, *tables: "Table") -> "Section":
        """The section that shows this figure, and tables beside it."""
        return Section(self.finding, (self,), tables, missing=self.data.missing, rows=self.data.rows)


@dataclass(frozen=True)
class Table:
    """A table that stands in the page by itself, as typed data: its caption is written as that of a figure is.

    Attributes:
        rows: exact, for machines: one row an entry.
        headings: as in ``Figure``.
        subject: the first sentences of the caption, without the last full stop: what, and units.
        grid: how readers see it (its caption is not read), where that is not ``rows`` as they are.
        statistics: each with the entries that it was taken for.
        replicate: what a replicate is, in the singular.
        marks: which cells hold the statistic, where not all do.
        notes: sentences of the caption after that of the statistics.
    """

    rows: pl.DataFrame
    headings: Mapping[str, str]
    subject: str
    grid: Grid | None = None
    statistics: tuple[tuple[Statistic, pl.DataFrame], ...] = ()
    replicate: str = "seed"
    marks: str = ""
    notes: tuple[str, ...] = ()

    @property
    def caption(self) -> str:
        """The caption: what is shown, units, each statistic and its n, and what else a reader has to know."""
        over = [
            statistic.sentence(entries, self.marks, "in brackets", of=self.replicate)
            for statistic, entries in self.statistics
            if not entries.is_empty()  # nothing was taken
        ]
        return " ".join(filter(None, (f"{self.subject}.", *over, *self.notes)))

    def numbered(self, number: int) -> Grid:
        """The table as readers see it, with its number on the page and the name of its file."""
        stem, caption = f"table-{number}", f"Table {number}. {self.caption}"
        file = f"tables/{stem}.csv"
        if self.grid is None:  # the caption then says how many rows are not shown
            return reader_grid(self.rows, self.headings, caption, file, stem)
        return replace(self.grid, caption=caption, file=file, stem=stem)


@dataclass(frozen=True)
class Section:
    """The content of a section: its finding, figures and tables.

    Attributes:
        finding: one sentence computed from the numbers. It is the heading where the spec writes none.
        charts: the figures, in order.
        tables: tables that stand by themselves, in order.
        missing: which runs are not in it and why, or nothing.
        rows: the stored rows it read, by table. Of long curves a report keeps these.
    """

    finding: str
    charts: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    missing: str = ""
    rows: Mapping[str, pl.DataFrame] = field(default_factory=dict)


def empty_section(data: FigureData, finding: str) -> Section:
    """The section where there is nothing to draw."""
    return Section(finding, missing=" ".join(filter(None, (data.missing, *data.left_out))), rows=data.rows)


def unmeasured(data: FigureData, quantity: str) -> Section:
    """The section of a quantity that has no number yet."""
    return empty_section(data, f"There is no number of the {quantity_name(quantity)}")


sections: Registry[Callable[..., Section]] = Registry("section", SectionFacts)
"""Builders ``(results: Results, *, ...) -> Section``. A builder may have further positional parameters: ``decisions``
(what was chosen on tuning seeds), ``verdicts`` (of all claims), ``root`` (path from the page to the folder of all
reports, or None) and ``models`` (the boxes of whole models).
"""
