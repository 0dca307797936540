"""The ends and moments of spectra as a table: what seeds, start vectors and batches do to each, kept apart."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from lnlab.analyse.quantities.curvature import spectral_number
from lnlab.analyse.quantities.outliers import bulk_radius, outliers
from lnlab.analyse.quantities.spectra import (
    LOSS_UNIT,
    SPECTRUM_KEYS,
    full_batch_spectra,
    part_spectra,
    spectra_table,
)
from lnlab.analyse.statistics.intervals import t_interval
from lnlab.keys import Json
from lnlab.report.data.labels import label_series
from lnlab.report.data.series import missing_runs_sentence
from lnlab.report.loss_units import fill_units
from lnlab.report.section import Section, Table, sections
from lnlab.report.table import Cell, Grid
from lnlab.report.words.quantity_words import quantity_name
from lnlab.report.words.spectral_words import matrix_in_words
from lnlab.report.words.statistic import MEAN
from lnlab.report.words.wording import format_interval, format_short, join_words, nonbreaking
from lnlab.select.rows import narrow_rows
from lnlab.select.select import runs_with
from lnlab.tables import Results

_RESIDUAL_OF_END: Mapping[str, str] = {
    "largest_eigenvalue": "largest_residual",
    "smallest_eigenvalue": "smallest_residual",
}
"""The ends of a spectrum -> the names of their residuals."""
_MEAN_QUANTITIES = ("curvature_trace", "frobenius_norm", "negative_mass")
"""Quantities that are means over start vectors, and so have a standard error."""
_OUTLIER_QUANTITIES = ("outliers", "bulk_radius")
OVER_SEEDS, RESIDUAL, OVER_START_VECTORS, OVER_BATCH_PARTS = "seeds", "residual", "vectors\u00a0±", "batches\u00a0±"
_MEAN_THAT_JUDGES = replace(MEAN, spread=f"{MEAN.spread}, the only one for comparing variants")
_SCHEMA: dict[str, Any] = dict.fromkeys(("variant", "matrix", "number", "statistic"), pl.String)
_SCHEMA |= {"estimate": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64}
_HEADINGS = dict(
    zip(_SCHEMA, ("variant", "matrix", "number", "statistic", "value", "95 % low", "95 % high", "n"), strict=True)
)


@dataclass(frozen=True)
class _Entry:
    """One number of one matrix in one variant: a mean over seeds with its interval, or a spread."""

    variant: str
    matrix: str
    number: str
    statistic: str
    estimate: float
    n: int
    low: float | None = None
    high: float | None = None

    @property
    def text(self) -> str:
        """As readers see it."""
        if self.statistic == OVER_SEEDS:
            return nonbreaking(format_interval(self.estimate, self.low, self.high))
        return format_short(self.estimate)


@sections.register("extremes")
def extremes(
    results: Results,
    *,
    where: dict[str, Json] | None = None,
    operators: list[str] | None = None,
    scopes: list[str] | None = None,
) -> Section:
    """``λ_max, λ_min, tr H, ‖H‖_F``: with Ritz residuals and three kinds of spread, never mixed (Student, 1908).

    A table for each matrix, its variants below each other: means over seeds with their 95 % interval; how far an end
    may lie from an eigenvalue; the standard error over start vectors, of what is a mean over them; the standard
    deviation over parts of the batches, where they were measured. ``operators`` and ``scopes`` are by default
    all that were measured.
    """
    selection = where or {}
    runs = runs_with(results, selection)
    names, _, labels = label_series(results, runs, "")
    rows = spectra_table(results).join(labels, on="run", how="inner", maintain_order="left")
    rows = narrow_rows(results, rows, "step", selection["step"]) if "step" in selection else rows
    for column, chosen in (("operator", operators), ("scope", scopes)):
        rows = rows if chosen is None else rows.filter(pl.col(column).is_in(chosen))
    stored_rows = {"spectra": rows.select(spectra_table(results).columns)}
    if rows.is_empty():
        return Section("There is no spectrum", missing=missing_runs_sentence(runs), rows=stored_rows)
    selected = Results(results.runs, results.axes, {**results.tables, "spectra": rows.drop("series", "line")})
    entries = [entry for name in names for entry in _variant_entries(name, selected, labels)]
    tables: list[Table] = []
    for matrix in dict.fromkeys(e.matrix for e in entries):
        group = [e for e in entries if e.matrix == matrix]
        texts_by_entry = {(e.variant, e.statistic, e.number): e.text for e in group}
        columns = [
            quantity
            for quantity in (*_RESIDUAL_OF_END, *_MEAN_QUANTITIES, *_OUTLIER_QUANTITIES)
            if any(e.number == quantity for e in group)
        ]
        grid_rows: list[tuple[Cell, ...]] = []
        for variant in dict.fromkeys(e.variant for e in group):
            head = variant
            for statistic in (OVER_SEEDS, RESIDUAL, OVER_START_VECTORS, OVER_BATCH_PARTS):
                texts = [texts_by_entry.get((variant, statistic, quantity)) for quantity in columns]
                if any(texts):
                    grid_rows.append(((head, False), (statistic, False), *((text or "–", True) for text in texts)))
                    head = ""  # the variant stands once, beside its first line
        exact = pl.DataFrame([vars(e) for e in group], schema=_SCHEMA, orient="row")
        grid = Grid("", ("", "", *map(quantity_name, columns)), tuple(grid_rows))
        if tables:
            tables.append(Table(exact, _HEADINGS, f"{matrix}, as above", grid))
            continue
        vectors, parts = (
            max((e.n for e in group if e.statistic == spread), default=0)
            for spread in (OVER_START_VECTORS, OVER_BATCH_PARTS)
        )
        notes = []
        if any(e.statistic == RESIDUAL for e in group):
            notes.append("Residual: largest distance from the end to an eigenvalue, over seeds.")
        if vectors:
            notes.append(f"Vectors: standard error of the estimate over {vectors} start vectors within a seed.")
        if parts:
            notes.append(f"Batches: standard deviation over {parts} parts of the data within a seed.")
        if any(e.number == "outliers" for e in group):
            notes.append(
                "Outliers: isolated eigenvalues at either end, a lower bound. Bulk radius: extent of all others. "
                "Neither is reported without re-orthogonalization, which would count ghost eigenvalues."
            )
        tables.append(
            Table(
                exact,
                _HEADINGS,
                f"{matrix}: ends and moments in {fill_units(LOSS_UNIT)}; the negative mass is the share of "
                "eigenvalues below zero, beyond float32 rounding",
                grid,
                statistics=((_MEAN_THAT_JUDGES, exact.filter(statistic=OVER_SEEDS)),),
                marks="Seeds",
                notes=tuple(notes),
            )
        )
    # how large the largest eigenvalue of the first matrix is, and how far the ends may be off
    first = entries[0].matrix
    maxima = [e for e in entries if (e.matrix, e.number, e.statistic) == (first, "largest_eigenvalue", OVER_SEEDS)]
    by_variant = join_words(f"{format_short(e.estimate)} in {e.variant}" for e in maxima)
    finding = f"The largest eigenvalue of the {first} is {by_variant}"
    if residuals := [e.estimate for e in entries if (e.matrix, e.statistic) == (first, RESIDUAL)]:
        finding += f"; an eigenvalue lies within {format_short(max(residuals))} of each estimated end"
    return Section(finding, tables=tuple(tables), missing=missing_runs_sentence(runs), rows=stored_rows)


def _variant_entries(variant: str, results: Results, labels: pl.DataFrame) -> Iterator[_Entry]:
    """Every entry of one variant, matrix by matrix."""
    in_variant = pl.col("run").is_in(labels.filter(pl.col("series") == variant)["run"].implode())
    whole_spectra = full_batch_spectra(results).filter(in_variant)
    spectra_of_parts = part_spectra(results).filter(in_variant)
    outlier_numbers = {
        "outliers": outliers(results).filter(in_variant),
        "bulk_radius": bulk_radius(results).filter(in_variant),
    }
    for (operator, scope), rows in whole_spectra.group_by("operator", "scope", maintain_order=True):
        matrix = matrix_in_words(str(operator), str(scope))
        of_matrix = (pl.col("operator") == operator) & (pl.col("scope") == scope)
        values_by_quantity = {
            quantity: spectral_number(rows, quantity)["value"] for quantity in (*_RESIDUAL_OF_END, *_MEAN_QUANTITIES)
        }
        values_by_quantity |= {name: frame.filter(of_matrix)["value"] for name, frame in outlier_numbers.items()}
        for quantity, values in values_by_quantity.items():
            if values.count():
                mean = t_interval(values.drop_nulls().to_list())
                ends = {"low": mean.low, "high": mean.high} if mean.n > 1 else {}
                yield _Entry(variant, matrix, quantity, OVER_SEEDS, estimate=mean.estimate, n=values.count(), **ends)
        for end, residual in _RESIDUAL_OF_END.items():
            if (values := spectral_number(rows, residual)["value"]).count():
                largest = float(values.max())  # type: ignore[arg-type]
                yield _Entry(variant, matrix, end, RESIDUAL, estimate=largest, n=values.count())
        for quantity, size, draws in _spreads(_MEAN_QUANTITIES, rows, "draw"):
            yield _Entry(variant, matrix, quantity, OVER_START_VECTORS, estimate=size, n=draws)
        in_parts = spectra_of_parts.filter(of_matrix)
        for quantity, size, parts in _spreads((*_RESIDUAL_OF_END, *_MEAN_QUANTITIES), in_parts, "part"):
            yield _Entry(variant, matrix, quantity, OVER_BATCH_PARTS, estimate=size, n=parts)


def _spreads(quantities: Sequence[str], rows: pl.DataFrame, over: str) -> Iterator[tuple[str, float, int]]:
    """``(quantity, spread, n)`` of the quantities that have several values in one seed.

    ``over`` is the column that tells these values apart. Over ``draw`` the spread is the standard error of their mean,
    as the number of a seed is that mean. Over ``part`` it is their standard deviation. It is the root mean square over
    seeds. n is the largest number of values in a seed.
    """
    by = [column for column in SPECTRUM_KEYS if over == "draw" or column != "measurement"]
    for quantity in quantities if not rows.is_empty() else ():
        groups = spectral_number(rows, quantity, (*by, over)).group_by(by, maintain_order=True)
        variances = groups.agg(pl.col("value").var(), n=pl.len()).drop_nulls("value")
        if variances.height:
            variance = variances["value"] / variances["n"] if over == "draw" else variances["value"]
            size = math.sqrt(max(0.0, float(variance.mean())))  # type: ignore[arg-type]
            yield quantity, size, int(variances["n"].max())  # type: ignore[arg-type]
