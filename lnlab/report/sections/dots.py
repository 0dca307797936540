"""One number of each variant as a sorted row of marks: itself, or its difference from a named reference."""

from dataclasses import replace
from typing import Annotated, Literal

import polars as pl
from pydantic import Field

from lnlab.claims.bounded import is_fraction, is_rate
from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.report.data.figure import FigureData, as_seeds, estimate_headings, merged_rows
from lnlab.report.data.series import (
    labelled_values,
    mean_points,
    missing_runs_sentence,
    refuse_duplicates,
    source_rows_of,
    undrawn_numbers,
)
from lnlab.report.data.table_cells import unfinished_places
from lnlab.report.figures.dots import Dots, dots_finding
from lnlab.report.section import Section, sections, unmeasured
from lnlab.report.theme import MOST_INKED
from lnlab.report.words.path_names import path_name
from lnlab.report.words.quantity_words import axis_title, quantity_definition, quantity_name
from lnlab.report.words.statistic import mean_statistic
from lnlab.report.words.wording import axis_value_name, even_lines, join_words, moment_in_words
from lnlab.seed_words import seed_word, seeds_word
from lnlab.select.select import Selected
from lnlab.tables import Results

_Rows = dict[str, Json]
_TITLE = 40
"""Letters of a line below the axis, as a phone has room for."""


@sections.register("dots")
def dots(
    results: Results,
    *,
    quantity: str,
    rows: str,
    where: _Rows | None = None,
    to: _Rows | None = None,
    called: str | None = None,
    beside: str | None = None,
    scale: Literal["linear", "log"] = "linear",
    ink: Annotated[list[str], Field(max_length=MOST_INKED)] | None = None,
    lines: dict[str, float] | None = None,
) -> Section:
    """``y - y(to)``, or ``y / y(to)`` on the log scale, within each seed: a sorted row of marks for each of ``rows``.

    Means over seeds, geometric on the log scale, with 95 % Student intervals (1908) and their numbers; dots are seeds.
    ``to`` says what is different in the reference, and ``called`` how it is named; without it the quantity itself is
    drawn. ``beside`` is a second quantity of the same unit in the same rows. ``ink`` names the rows that have a colour,
    by default all of at most four, else the first and the last. ``lines`` are levels by name.

    Raises:
        ReportError: a seed has several numbers in a row, or ``ink`` names none of the rows.
    """
    log, selection = scale == "log", {"quantity": quantity, **(where or {})}
    taken = Selected(results, selection, columns=[rows])
    of_row = bool(to) and rows in (to or {})
    # one of the rows, where nothing but the row is different
    is_row = of_row and all(selection.get(key) == value for key, value in (to or {}).items() if key != rows)
    reference = None
    parts, stored = [], []
    for place, name in enumerate(filter(None, (quantity, beside))):
        own = {**selection, "quantity": name}
        found = _numbers(results, own, rows).with_columns(x=pl.lit(float(place)))
        stored.append(source_rows_of(results, name, found))
        if to:
            other = _numbers(results, {**own, **to}, rows)
            stored.append(source_rows_of(results, name, other))
            keys = ["seed"] if of_row else ["row", "seed"]
            found = found.join(other.select(*keys, against="value"), on=keys, maintain_order="left")
            change = pl.col("value") / pl.col("against") if log else pl.col("value") - pl.col("against")
            found = found.with_columns(value=change)
            reference = other["row"][0] if is_row and other.height else None
        parts.append(found.select("run", "row", "seed", "step", "x", "value"))
    every = pl.concat(parts)
    if every.is_empty():
        what = f"There is no number of the {quantity_name(quantity)}"
        return Section(what, missing=missing_runs_sentence(taken.runs), rows=merged_rows(*stored))
    finite = every.filter(pl.col("value").is_finite())
    drawn = finite.filter(pl.col("value") > 0) if log else finite
    counts = {} if is_rate(selection) else unfinished_places(results, taken.rows, (rows, "quantity"), selection)
    lost = {str(row): f"{k} of {n} runs finished" for (row, _), (k, n) in counts.items()}
    labels = {str(value): name for value, name in labelled_values(results, taken.rows, rows).items()}
    drawn = drawn.filter(~pl.col("row").is_in(list(lost)))
    level = pl.col("value").log().mean() if log else pl.col("value").mean()  # as their means are taken
    centre = drawn.filter(x=0).group_by("row").agg(level).sort("value", "row")
    order = [*centre["row"], *(row for row in labels if row in lost)]
    names = tuple(labels[row] for row in order)
    data = FigureData(
        seeds=as_seeds(
            drawn.with_columns(
                panel=pl.lit(None, pl.String),
                series=pl.col("row").replace_strict(labels, return_dtype=pl.String),
                line=pl.col("row").replace_strict(order, range(len(order)), return_dtype=pl.Int32),
            )
        ).sort("line", "x", "seed"),
        points=pl.DataFrame(),
        names=names,
        families=tuple([*labels].index(row) for row in order),
        left_out=undrawn_numbers(every.height - finite.height, finite.height - drawn.height if log and not lost else 0),
        missing=missing_runs_sentence(taken.runs),
        rows=merged_rows(*stored),
    )
    data = replace(data, points=mean_points(data.seeds, log=log, fraction=is_fraction(selection) and not to))
    if data.seeds.is_empty():
        return unmeasured(data, quantity)
    if ink and not set(ink) & set(names):
        raise ReportError(
            Issue("unknown-name", "ink", f"no row is called {join_words(ink, 'or')}", f"there is {join_words(names)}")
        )
    against = called or labels.get(str(reference)) or _moment(to or {})
    of = against if reference is None and "step" in (to or {}) else f"of {against}"  # that before training
    compared = (f"as a multiple of that {of}" if log else f"minus that {of}") if to else ""
    title = [axis_title(quantity, where) if beside is None else _both(quantity, beside)]
    subject = (
        quantity_definition(quantity)
        if beside is None
        else f"{quantity_definition(quantity)}, and {quantity_name(beside)},"
    )
    figure = Dots(
        data=data,
        title=[line for text in (*title, compared) for line in even_lines(text, _TITLE)],
        on_log_axis=log,
        signed=bool(to) and not log,
        times=bool(to) and log,
        reference=labels.get(str(reference), ""),
        ink=ink,
        lost={labels[row]: words for row, words in lost.items()},
        # a reference that is one of the rows is named there
        levels={**({"" if is_row else against: 1.0 if log else 0.0} if to else {}), **(lines or {})},
        statistic=mean_statistic(log=log),
        subject=f"{subject} {f'{compared} on the same {seed_word()}' if to else f'by {path_name(rows)}'}",
        notes=(f"Small dots: single {seeds_word()}.",),
        shows=f"Dot plot of the {quantity_name(quantity)}, a row for each {path_name(rows)}",
        finding="",
        headings={"series": path_name(rows), **estimate_headings(quantity_name(quantity))},
    )
    what = f"The {quantity_name(quantity)}" + (f", {compared}," if to else "")
    return replace(figure, finding=dots_finding(data.points.filter(x=0), figure, what)).section()


def _numbers(results: Results, selection: _Rows, rows: str) -> pl.DataFrame:
    """The numbers of a selection, ``row`` being the value of the path that makes the rows."""
    found = Selected(results, selection, columns=[rows]).rows.drop_nulls(rows)
    named = found.with_columns(row=pl.col(rows).cast(pl.String))
    refuse_duplicates(named.with_columns(panel=pl.lit(None), series="row", x=pl.lit(0.0)), "x")
    return named


def _moment(to: _Rows) -> str:
    """The reference in words where it is no row: ``at initialization``, ``width 64``."""
    words = [
        moment_in_words(v) if k == "step" and isinstance(v, int) else axis_value_name(k, v, str(v))
        for k, v in to.items()
    ]
    return join_words(words)


def _both(quantity: str, beside: str) -> str:
    return f"{quantity_name(quantity)} and {axis_title(beside)}"
