"""Results as one tidy table: a row for each number, with the settings that tell runs apart as columns.

The tables of a store hold keys in place of settings, and a quantity by its word alone. Here both are written out, with
what each column is, for whoever reads the numbers with another tool.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import polars as pl

from lnlab.errors import LabError, nearest
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.report.loss_units import fill_units, loss_item, mean_over
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.report.words.path_names import path_name
from lnlab.report.words.quantity_words import quantity_words, using_words
from lnlab.select.quantity import quantities, quantity_facts
from lnlab.select.select import select_measured_rows
from lnlab.select.selection import QUANTITY_TABLES
from lnlab.specfile.expressions import EXPRESSION, NoExpression, parse_name
from lnlab.tables import AXIS_PREFIX, WRITTEN_BY_THE_PLAN, WRITTEN_BY_WORKERS, Results, wide_axes

_KEYS = ("run", "variant", "trajectory", "measurement", "setting")
_FIRST = ("seed", "step", "split", "quantity")
_LAST = ("x", "value")
_ = FRAME_REGISTRIES["quantity"]  # importing it is what makes the derived quantities known


def tidy_rows(results: Results, name: str | None = None, beside: Sequence[pl.DataFrame] = ()) -> pl.LazyFrame:
    """The rows of a quantity, stored or derived, or of a table. None means every stored number.

    Frames ``beside`` have one further column each, the last, and are joined by the others where the rows have these.

    The columns are the axes of the sweep, ``seed step split quantity``, the place, ``x`` and ``value``. An axis whose
    name a column of the table has gets the prefix ``axis.``. Columns without any value are left out.

    Raises:
        LabError: nothing of that name was measured, nor can be derived.
    """
    rows = _rows(results, name)
    for more in beside:
        if set(by := more.columns[:-1]) <= set(rows.collect_schema().names()):
            rows = rows.join(more.lazy(), on=by, how="left", nulls_equal=True, maintain_order="left")
    columns = rows.collect_schema().names()
    # values that the spec writes without a point are whole numbers
    # axes hold floats, which have fifteen digits
    whole = results.axes.group_by("axis").agg(pl.col("value").str.contains(r"^-?\d{1,15}$").all()).filter("value")
    wide = wide_axes(results.axes).with_columns(pl.col(axis).cast(pl.Int64) for axis in whole["axis"])
    names = {axis: f"{AXIS_PREFIX}{axis}" if axis in columns else axis for axis in wide.columns if axis != "run"}
    joined = rows.join(wide.rename(names).lazy(), on="run", how="left", maintain_order="left")
    first = [column for column in _FIRST if column in columns]
    last = [column for column in _LAST if column in columns]
    keys = tuple(key for key in _KEYS if (name, key) != ("runs", "run"))
    place = [column for column in columns if column not in (*keys, *first, *last)]
    tidy = joined.select(*names.values(), *first, *place, *last)
    counts = tidy.select(pl.len().alias("rows of all"), pl.all().null_count()).collect(engine="streaming").row(0)
    kept = (
        column
        for column, nulls in zip((*names.values(), *first, *place, *last), counts[1:], strict=True)
        if nulls < counts[0] or counts[0] == 0
    )
    return tidy.select(*kept)


def _rows(results: Results, name: str | None) -> pl.LazyFrame:
    numbers = [table for table in QUANTITY_TABLES if table in results.tables]
    if name is None:
        return pl.concat((results.lazy(table) for table in numbers), how="diagonal_relaxed")
    if name == "runs":
        return results.runs.lazy()
    if name in results.tables and name not in numbers:
        return results.lazy(name)
    measured = results.row_counts()
    holder = next((table for table, words in measured.items() if name in words), None)
    if holder is not None and holder not in numbers:
        return results.lazy(holder).filter(pl.col("quantity") == name)
    known = [*(word for words in measured.values() for word in words), *quantities.entries]
    if holder is None and EXPRESSION.search(name):
        name = name_of_expression(name, known)
    if holder is not None or quantity_facts(name) is not None:
        return select_measured_rows(results, {"quantity": name}).lazy()
    known += ["runs", *(table for table in results.tables if table not in numbers)]
    raise LabError(Issue("unknown-name", "results", f"nothing called '{name}' was measured", nearest(name, known)))


def name_of_expression(text: str, known: Collection[str]) -> str:
    """The name of an expression as somebody typed it.

    Raises:
        LabError: it cannot be read, or names what is not ``known``.
    """
    try:
        expression = parse_name(text)
    except NoExpression as error:
        at = next((f", character {place + 1}" for place in error.issue.path if isinstance(place, int)), "")
        raise LabError(replace(error.issue, place=f"results: expression{at}")) from error
    if unknown := [part for part in expression.quantities if part not in known]:
        what = f"nothing called '{unknown[0]}' was measured"
        raise LabError(Issue("unknown-name", "results", what, nearest(unknown[0], known)))
    return expression.name


def described_columns(
    results: Results, rows: pl.LazyFrame, words: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, Json]]:
    """Describe each column of tidy rows, by its name.

    An axis has ``name`` and ``path``, ``quantity`` by word its name, unit and definition, ``value`` name and unit where
    all rows are of one quantity, and every other column a ``description``.

    Args:
        results: whose rows they are.
        rows: as of ``tidy_rows``.
        words: the words that a report has stored of its quantities.
    """
    tables = (*WRITTEN_BY_WORKERS.values(), WRITTEN_BY_THE_PLAN["runs"])
    known = {column: text for table in tables for column, (_, text) in table.items()}
    axes = set(results.axes["axis"])
    described: dict[str, dict[str, Json]] = {}
    columns = rows.collect_schema().names()
    for column in columns:
        axis = column.removeprefix(AXIS_PREFIX)
        if axis in axes and (column != axis or column not in known):
            described[column] = {"name": path_name(axis), "path": axis}
        else:
            described[column] = {"description": known[column]} if column in known else {}
    if "quantity" in columns:
        present = rows.select(pl.col("quantity").unique().sort()).collect(engine="streaming")["quantity"].to_list()
        with using_words(words), mean_over(loss_item(results)):
            of_word = {word: stated for word in present if (stated := quantity_words(word))}
            texts: dict[str, Json] = {
                word: {"name": q.name, "unit": fill_units(q.unit), "definition": fill_units(q.definition)}
                for word, q in of_word.items()
            }
        described["quantity"]["quantities"] = texts
        if "value" in columns and len(present) == 1 and present[0] in texts:
            described["value"] = {key: texts[present[0]][key] for key in ("name", "unit")}
    return described
