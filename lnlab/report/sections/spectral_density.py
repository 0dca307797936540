"""Spectra of curvature side by side: log-densities on one pair of axes with one kernel, and a rug of outliers."""

import math
from collections import Counter
from typing import Annotated

import numpy as np
import polars as pl
from pydantic import Field

from lnlab.analyse.quantities.outliers import mark_outliers
from lnlab.analyse.quantities.spectra import LOSS_UNIT
from lnlab.analyse.statistics.spectral_density import GRID_REACH, density_on_grid, papyan_width
from lnlab.keys import Json
from lnlab.report.charts import spectrum, theme
from lnlab.report.charts.axes import linear_axis, logarithmic_axis
from lnlab.report.charts.downsample import thin_points
from lnlab.report.data.spectra import Band, Spectra, band_sentence, collect_spectra, range_points, spectrum_curves
from lnlab.report.loss_units import fill_units
from lnlab.report.section import Chart, Section, sections
from lnlab.report.words.headings import two_at_most
from lnlab.report.words.spectral_words import matrix_in_words
from lnlab.report.words.wording import count_noun, format_short, join_words
from lnlab.tables import Results

_MAX_KERNELS = 400
"""Kernels that lie side by side on the axis at most: a finer one would be lost on the page."""
_LEAST_HEIGHT = 0.1
"""Of the height of a single eigenvalue, what is the least that is drawn."""


@sections.register("spectral_density")
def spectral_density(
    results: Results,
    *,
    operator: str = "hessian",
    scope: str = "all",
    where: dict[str, Json] | None = None,
    width: Annotated[float, Field(gt=0)] | None = None,
    band: Band = "seeds",
) -> Section:
    """``p(t) = Σ_j w_j N(t; θ_j, σ²)``: log-density, one panel per variant, one σ for all (Ghorbani et al., 2019).

    ``width`` is σ, in units of the eigenvalues; by default it is Papyan's (2018) of the narrowest spectrum, but
    no less than a 400th of the widest. Ticks below are outliers where they can be told, else both ends. ``band`` is
    over seeds, over the start vectors of one seed (``draws``), or over the ``parts`` of its batches.
    """
    spectra = collect_spectra(results, where or {}, operator, scope, band)
    name = matrix_in_words(operator, scope)
    if spectra.rows.is_empty():
        return Section(f"No spectrum of the {name} has been measured yet", missing=spectra.missing)
    sigma = width or _width(spectra)
    chart = _chart(spectra, sigma, name, band)
    return Section(f"The {name} {_finding(spectra)}", (chart,), (), spectra.missing, spectra.source_rows)


def _width(spectra: Spectra) -> float:
    """One for all variants, by the narrowest of their spectra."""
    bounds = spectra.rows.group_by("series", "replicate", maintain_order=True).agg(
        low=pl.col("node").min(), high=pl.col("node").max(), steps=pl.len() // pl.col("draw").n_unique()
    )
    low, high = _bounds(spectra.rows)
    widths = [papyan_width(a, b, max(2, min(m, 100))) for a, b, m in bounds.select("low", "high", "steps").iter_rows()]
    return max(min(widths), (high - low) / _MAX_KERNELS) or 1.0


def _bounds(rows: pl.DataFrame) -> tuple[float, float]:
    low, high = rows.select(low=pl.col("node").min(), high=pl.col("node").max()).row(0)
    return float(low), float(high)


def _chart(spectra: Spectra, sigma: float, name: str, band: Band) -> Chart:
    low, high = _bounds(spectra.rows)
    left, right = low - GRID_REACH * sigma, high + GRID_REACH * sigma
    grid = np.linspace(left, right, min(1200, max(200, math.ceil(1.5 * (right - left) / sigma))))
    seeds = spectrum_curves(spectra, None, grid, lambda nodes, shares, _: density_on_grid(grid, nodes, shares, sigma))
    largest = spectra.rows["size"].max()
    floor = _LEAST_HEIGHT / (float(largest or 1) * sigma * math.sqrt(2 * math.pi))  # type: ignore[arg-type]
    points = range_points(seeds, floor)
    top = max(points.select(pl.max_horizontal("estimate", "high")).to_series().drop_nulls().to_list())
    marks, marks_text = _marks(spectra)
    points = points.with_columns(_counts_of_marks(marks, points, grid))
    x_axis = linear_axis(f"eigenvalue, in {fill_units(LOSS_UNIT)}", [left, right])
    y_axis = logarithmic_axis("density (log scale)", [floor, top])
    numbers = {"estimate": "density", "low": "lowest", "high": "highest", "n": "curves", "marks": "ticks"}
    return Chart(
        spectrum.spectrum_chart(x_axis, y_axis, theme.series_style(spectra.names, spectra.families)),
        points,
        seeds,
        {"panel": "variant", "x": "eigenvalue", **numbers},
        f"Densities of the eigenvalues of the {name}, on a logarithmic scale, for {join_words(spectra.names)}. "
        f"{name} {_finding(spectra)}.",
        " ".join((_caption(spectra, sigma, name, band, points), marks_text, thin_points(points)[1])).strip(),
        log=False,
    )


def _marks(spectra: Spectra) -> tuple[pl.DataFrame, str]:
    """The eigenvalues that are marked, ``series node``, and what they are."""
    outlying = mark_outliers(spectra.rows).filter(pl.col("outlier") != 0)
    if not outlying.is_empty():
        return outlying.select("series", "node"), (
            "Ticks below mark outliers: Ritz values from either end inward whose residual is at most a tenth of the "
            "distance to the next, of every draw."
        )
    bounds = spectra.rows.group_by("series", "replicate", maintain_order=True).agg(
        low=pl.col("node").min(), high=pl.col("node").max()
    )
    rows = bounds.unpivot(index="series", on=["low", "high"], value_name="node").select("series", "node")
    return rows, "Ticks below mark both ends of each spectrum."


def _counts_of_marks(marks: pl.DataFrame, points: pl.DataFrame, grid: np.ndarray) -> pl.Series:
    """How many of them lie nearest to each place, which is less than a kernel away."""
    step = grid[1] - grid[0]
    places = ((marks["node"] - grid[0]) / step).round().cast(pl.Int64)
    counts = Counter(zip(marks["series"], places, strict=True))
    at = ((points["x"] - grid[0]) / step).round().cast(pl.Int64)
    return pl.Series("marks", [counts[place] for place in zip(points["series"], at, strict=True)], dtype=pl.Int64)


def _caption(spectra: Spectra, sigma: float, name: str, band: Band, points: pl.DataFrame) -> str:
    draws, nodes = spectra.rows.select(pl.col("draw").n_unique(), pl.len()).row(0)
    replicates = spectra.rows.select("series", "replicate").n_unique()
    sizes = sorted(spectra.rows["size"].unique().to_list())
    size = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    exact = (
        spectra.rows.group_by("series", "replicate", maintain_order=True)
        .agg(whole=pl.len() == pl.col("size").first())["whole"]
        .all()
    )
    nodes_text = f"{count_noun(draws, 'start vector')}, {round(nodes / replicates)} nodes in all,"
    source = "every eigenvalue" if exact else nodes_text
    return (
        f"Density of the {size} eigenvalues of the {name}, from {source} smoothed by normal kernels whose standard "
        f"deviation is {format_short(sigma)} in every panel: nothing narrower can be seen. "
        f"{band_sentence(band, points)} Below a "
        "tenth of the height of a single eigenvalue nothing is drawn."
    )


def _finding(spectra: Spectra) -> str:
    """From where to where each variant's spectrum goes, means over replicates."""
    texts = []
    for name in spectra.names:
        bounds = (
            spectra.of(name)
            .group_by("replicate", maintain_order=True)
            .agg(low=pl.col("node").min(), high=pl.col("node").max())
        )
        if not bounds.is_empty():
            low, high = bounds.select(pl.col("low").mean(), pl.col("high").mean()).row(0)
            texts.append(
                f"from {format_short(low)} to {format_short(high)}" + (f" in {name}" if len(spectra.names) > 1 else "")
            )
    return f"reaches {two_at_most(texts, sentences=False)}"
