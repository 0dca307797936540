"""Label stored spectra and summarize them for drawing: one curve per seed, then mean, lowest and highest.

All draws of a seed are one quadrature. Spectra of parts of its batches are not drawn.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from lnlab.analyse.quantities.outliers import mark_outliers
from lnlab.analyse.quantities.spectra import SPECTRUM_KEYS, of_density, spectra_table
from lnlab.analyse.statistics.spectral_density import signed_log, weight_below, weight_bounds
from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.report.data.figure import POINT_SCHEMA, SEED_SCHEMA, FigureData, as_seeds
from lnlab.report.data.labels import SINGLE_SERIES, label_series
from lnlab.report.data.series import missing_runs_sentence
from lnlab.report.words.wording import format_short, in_variant, moment_in_words
from lnlab.select.rows import narrow_rows
from lnlab.select.select import runs_with
from lnlab.tables import Results

MOST_STEPS_DRAWN = 4
"""The most steps of a run that are all drawn. Of more steps the first and the last are."""


@dataclass(frozen=True)
class Spectra:
    """Spectra with the names of their series.

    Attributes:
        rows: of the table ``spectra``, with ``series line share outlier``. The shares of a seed sum to 1. ``outlier``
            is 1 for an outlier above the bulk, -1 for one below it, and 0 in the bulk.
        names: the series, in order.
        families: for each series, the place of its value of the first axis that varies.
        missing: a sentence about runs that have not finished, or nothing.
        source_rows: the stored rows that were read, by table.
        measured_steps: how many steps of a run have a spectrum, at most.
        only_steps: whether the series differ in their steps alone, after which they are then named.
    """

    rows: pl.DataFrame
    names: tuple[str, ...]
    families: tuple[int, ...]
    missing: str
    source_rows: Mapping[str, pl.DataFrame]
    measured_steps: int
    only_steps: bool

    def place(self, name: str) -> str:
        """``in Post-LN``, ``before training``: what a sentence says of a series after its numbers."""
        return name if self.only_steps else in_variant(name)

    def of(self, name: str) -> pl.DataFrame:
        """The rows of a series."""
        return self.rows.filter(pl.col("series") == name)

    @property
    def steps_sentence(self) -> str:
        """The sentence that says which steps are drawn. Empty if all are."""
        if self.measured_steps <= MOST_STEPS_DRAWN:
            return ""
        return f" Drawn: the first and the last of the {self.measured_steps} measured training steps."

    def figure(self, curves: pl.DataFrame, floor: float) -> FigureData:
        """The data of a figure: ``curves`` from ``spectrum_curves``, summarized over seeds by ``range_points``.

        Curves that have columns ``low`` and ``high`` are summarized by ``bounded_points``.
        """
        points = bounded_points(curves, floor) if "low" in curves.columns else range_points(curves, floor)
        cut = f"Bands are cut at {format_short(floor)}."
        return FigureData(
            seeds=curves,
            points=points,
            names=self.names,
            families=self.families,
            left_out=(cut,) if (points["low"] == floor).any() else (),
            missing=self.missing,
            rows=self.source_rows,
        )


def collect_spectra(results: Results, where: Mapping[str, Json], operator: str, scope: str) -> Spectra:
    """The spectra of one matrix in every series.

    Args:
        results: of an experiment.
        where: which runs and steps. Where a run has spectra at several steps, each step is a series of its own. Of more
            than ``MOST_STEPS_DRAWN`` steps only the first and the last are drawn.
        operator: of the matrix.
        scope: of the matrix.

    Raises:
        LabError: ``where`` selects nothing.
        ReportError: a run has two such spectra at one step.
    """
    runs = runs_with(results, where)
    names, families, labels = label_series(results, runs, "")
    rows = spectra_table(results).filter((pl.col("operator") == operator) & (pl.col("scope") == scope))
    rows = of_density(rows)
    rows = rows.filter(pl.col("part").is_null())
    rows = narrow_rows(results, rows, "step", where["step"]) if "step" in where else rows
    rows = rows.join(labels, on="run", how="inner", maintain_order="left")
    measured = rows.group_by("run", "step", maintain_order=True).agg(pl.col("measurement").n_unique())
    if (measured["measurement"] > 1).any():
        what = "a run has several spectra of this matrix, at one step"
        raise ReportError(Issue("ambiguous", "where", what, "list the probe that measures it once"))
    source_rows = {"spectra": rows.select(spectra_table(results).columns)}
    most = rows.group_by("run").agg(pl.col("step").n_unique())["step"].max()
    measured_steps = most if isinstance(most, int) else 0
    only_steps = measured_steps > 1 and names == (SINGLE_SERIES,)
    if measured_steps > 1:
        # a series for each variant and step
        step = pl.col("step")
        if measured_steps > MOST_STEPS_DRAWN:
            rows = rows.filter((step == step.min().over("run")) | (step == step.max().over("run")))
        split = rows.select("series", "line", "step").unique().sort("line", "step")
        variants, moments = split["series"].to_list(), [moment_in_words(at) for at in split["step"]]
        families = tuple(families[names.index(name)] for name in variants)
        names = tuple(m if v == SINGLE_SERIES else f"{v} {m}" for v, m in zip(variants, moments, strict=True))
        place = pl.int_range(pl.len()).cast(rows.schema["line"])
        split = split.with_columns(of_step=pl.Series(names, dtype=pl.String), place=place)
        columns = rows.columns
        rows = rows.join(split, on=["series", "line", "step"], how="left", maintain_order="left")
        rows = rows.with_columns(series="of_step", line="place").select(columns)
    share = pl.col("weight") / pl.col("draw").n_unique().over("series", "seed")
    seeds = rows.with_columns(share=share)
    marked = mark_outliers(seeds)
    others = seeds.join(marked, on=[*SPECTRUM_KEYS, "part", "draw"], how="anti", nulls_equal=True)
    flagged = pl.concat([marked, others.with_columns(outlier=pl.lit(0, marked.schema["outlier"]))])
    ordered = flagged.sort("line", "seed", "draw", "node", maintain_order=True)
    return Spectra(
        rows=ordered,
        names=names,
        families=families,
        missing=missing_runs_sentence(runs),
        source_rows=source_rows,
        measured_steps=measured_steps,
        only_steps=only_steps,
    )


LINEAR_SHARE = 1e-4
"""An axis of powers of ten on both sides of 0 is linear within this share of the largest eigenvalue."""


def spectrum_curves(
    spectra: Spectra, panel: str | None, x: np.ndarray, curve: Callable[[pl.DataFrame], np.ndarray]
) -> pl.DataFrame:
    """One curve per seed, as ``SEED_SCHEMA``. Without ``panel``, each series has a panel of its own."""
    parts = []
    for (name, line, seed), rows in spectra.rows.group_by("series", "line", "seed", maintain_order=True):
        lits = {"panel": panel or name, "series": name, "line": line, "seed": seed}
        made = pl.DataFrame({"x": x, "value": curve(rows)})
        parts.append(made.with_columns(**{k: pl.lit(v) for k, v in lits.items()}))
    return pl.concat(map(as_seeds, parts))


def beyond(rows: pl.DataFrame, x: np.ndarray, sign: int) -> np.ndarray:
    """``P · weight`` above x (1), or below -x (-1), of one seed.

    Outliers are steps, and all else goes through the midpoints of its steps.
    """
    bulk, alone = rows.filter(pl.col("outlier") == 0), rows.filter(pl.col("outlier") != 0)
    least = LINEAR_SHARE * (float(rows["node"].abs().max()) or 1.0)  # type: ignore[arg-type]
    inside = weight_below(signed_log(-x, least), signed_log(-sign * bulk["node"].to_numpy(), least), bulk["share"])
    outside = ((sign * alone["node"].to_numpy())[None, :] > x[:, None]) @ alone["share"].to_numpy()
    counts: np.ndarray = rows["size"][0] * (inside + outside)
    return counts


def counts_per_power(spectra: Spectra, least: float, grid: np.ndarray) -> pl.DataFrame:
    """How many eigenvalues of the bulk lie within half a power of ten of each place, a curve per seed.

    Args:
        spectra: with their outliers.
        least: an axis of powers of ten is linear within it.
        grid: places. Those of a series have its outliers among them.

    Returns:
        As ``SEED_SCHEMA``, with ``low high marks``. ``low`` and ``high`` are the least and the most that the stairs of
        the cumulative density allow. ``marks`` is the number of outliers of the series at x.
    """
    parts = []
    for (name, line), series in spectra.rows.group_by("series", "line", maintain_order=True):
        alone = series.filter(pl.col("outlier") != 0)["node"]
        x = np.unique(np.concatenate([grid, alone.to_numpy()]))
        marks = np.histogram(alone.to_numpy(), np.append(x, np.inf))[0]
        at = signed_log(x, least)
        for (seed, _), rows in series.group_by("seed", "draw", maintain_order=True):
            bulk = rows.filter(pl.col("outlier") == 0)
            measure = signed_log(bulk["node"], least), bulk["weight"].to_numpy()
            right, left = weight_below(at + 0.5, *measure), weight_below(at - 0.5, *measure)
            (right_low, right_high), (left_low, left_high) = (weight_bounds(at + h, *measure) for h in (0.5, -0.5))
            size = float(rows["size"][0])
            columns = {
                "x": x,
                "value": size * (right - left),
                "low": size * np.maximum(right_low - left_high, 0),
                "high": size * (right_high - left_low),
                "marks": marks,
            }
            made = pl.DataFrame(columns).with_columns(
                panel=pl.lit(name), series=pl.lit(name), line=pl.lit(line), seed=pl.lit(seed)
            )
            parts.append(as_seeds(made).with_columns(made.select("low", "high", "marks")))
    # The bounds hold for each draw, and so for the mean of those of a seed.
    return (
        pl.concat(parts)
        .group_by(*(name for name in SEED_SCHEMA if name != "value"), maintain_order=True)
        .agg(pl.col("value", "low", "high").mean(), pl.col("marks").first())
        .select(*SEED_SCHEMA, "low", "high", "marks")
    )


def bounded_points(seeds: pl.DataFrame, floor: float) -> pl.DataFrame:
    """Means of ``value``, ``low`` and ``high`` over seeds, as ``POINT_SCHEMA`` with ``marks``.

    For a logarithmic axis that ends at ``floor``: means below it are null, and the lower end of a band is clipped.
    """
    found = seeds.group_by("panel", "series", "line", "x", maintain_order=True).agg(
        estimate=pl.col("value").mean(),
        low=pl.col("low").mean(),
        high=pl.col("high").mean(),
        n=pl.len().cast(pl.Int64),
        marks=pl.col("marks").first(),
    )
    visible = (pl.col("estimate") > 0) & (pl.col("high") > floor)  # no band beyond both ends of the bulk
    return found.with_columns(
        estimate=pl.when(pl.col("estimate") > floor).then("estimate"),
        low=pl.when(visible).then(pl.col("low").clip(lower_bound=floor)),
        high=pl.when(visible).then("high"),
    ).select(*POINT_SCHEMA, "marks")


def range_points(seeds: pl.DataFrame, floor: float) -> pl.DataFrame:
    """Mean, lowest and highest over seeds, as ``POINT_SCHEMA``: for a logarithmic axis that ends at ``floor``.

    Means below it are null, and the lower end of a band is clipped to it. One seed has no band.
    """
    value = pl.col("value")
    several = pl.len() > 1
    summaries = seeds.group_by("panel", "series", "line", "x", maintain_order=True).agg(
        estimate=value.mean(),
        low=pl.when(several).then(value.min()),
        high=pl.when(several).then(value.max()),
        n=pl.len().cast(pl.Int64),
    )
    visible = pl.col("high") > floor
    return summaries.with_columns(
        estimate=pl.when(pl.col("estimate") > floor).then("estimate"),
        low=pl.when(visible).then(pl.col("low").clip(lower_bound=floor)),
        high=pl.when(visible).then("high"),
    ).select(list(POINT_SCHEMA))
