"""Spectra of curvature: log-densities with one kernel and a rug of outliers, and numbers of eigenvalues beyond x."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

import numpy as np
import polars as pl
from pydantic import Field

from lnlab.analyse.quantities.outliers import mark_outliers
from lnlab.analyse.quantities.spectra import LOSS_UNIT
from lnlab.analyse.statistics.spectral_density import GRID_REACH, density_on_grid, papyan_width
from lnlab.keys import Json
from lnlab.report.charts import line_charts
from lnlab.report.charts.axes import linear_axis, logarithmic_axis
from lnlab.report.data.figure import estimate_headings
from lnlab.report.data.spectra import Band, Spectra, band_sentence, collect_spectra, spectrum_curves
from lnlab.report.loss_units import fill_units
from lnlab.report.section import Chart, Section, sections
from lnlab.report.words.spectral_words import matrix_in_words
from lnlab.report.words.wording import count_noun, format_number, format_short, join_words, two_at_most
from lnlab.tables import Results

_MAX_KERNELS = 400
"""Kernels that lie side by side on the axis at most: a finer one would be lost on the page."""
_LEAST_HEIGHT = 0.1
"""Of the height of a single eigenvalue, what is the least that is drawn."""
_DECADES, _POINTS = 4, 160
"""Below so many decades under the largest eigenvalue float32 is near its noise; and places on the axis."""
_LEAST_COUNT = 0.1
_END_SHARE = 1e-3
"""Of all eigenvalues: nearer to 0 one node of the quadrature stands for most of them, and only its steps would show."""
_SIDES = ("positive, above x", "negative, below −x")


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
    over seeds, over the start vectors of one seed (``draws``), or over the ``parts`` of its batches. Where a run has
    spectra at several steps, each step has a panel; of more than four, the first and the last have.
    """
    spectra = collect_spectra(results, where or {}, operator, scope, band)
    name = matrix_in_words(operator, scope)
    if spectra.rows.is_empty():
        return spectra.unmeasured(name)
    sigma = width or _width(spectra)
    chart = _density_chart(spectra, sigma, name, band)
    return Section(f"The {name} {_reach(spectra)}", (chart,), missing=spectra.missing, rows=spectra.source_rows)


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


def _density_chart(spectra: Spectra, sigma: float, name: str, band: Band) -> Chart:
    low, high = _bounds(spectra.rows)
    left, right = low - GRID_REACH * sigma, high + GRID_REACH * sigma
    grid = np.linspace(left, right, min(1200, max(200, math.ceil(1.5 * (right - left) / sigma))))
    seeds = spectrum_curves(spectra, None, grid, lambda nodes, shares, _: density_on_grid(grid, nodes, shares, sigma))
    largest = spectra.rows["size"].max()
    floor = _LEAST_HEIGHT / (float(largest or 1) * sigma * math.sqrt(2 * math.pi))  # type: ignore[arg-type]
    curves = spectra.figure(seeds, floor)
    points = curves.points
    top = max(points.select(pl.max_horizontal("estimate", "high")).to_series().drop_nulls().to_list())
    marks, marks_text = _marks(spectra)
    marked = replace(curves, points=points.with_columns(_counts_of_marks(marks, points, grid)))
    x_axis = linear_axis(f"eigenvalue, in {fill_units(LOSS_UNIT)}", [left, right])
    y_axis = logarithmic_axis("density (log scale)", [floor, top])
    numbers = estimate_headings("density", "lowest", "highest", "curves") | {"marks": "ticks"}
    return marked.chart(
        line_charts.spectrum_chart(x_axis, y_axis, marked.style),
        {"panel": "variant", "x": "eigenvalue", **numbers},
        alt=f"Densities of the eigenvalues of the {name}, on a logarithmic scale, for {join_words(spectra.names)}. "
        f"{name} {_reach(spectra)}.",
        caption=f"{_density_caption(spectra, sigma, name, band, points)} {marks_text}",
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


def _density_caption(spectra: Spectra, sigma: float, name: str, band: Band, points: pl.DataFrame) -> str:
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
        f"tenth of the height of a single eigenvalue nothing is drawn.{spectra.steps_sentence}"
    )


def _reach(spectra: Spectra) -> str:
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
                f"from {format_short(low)} to {format_short(high)}"
                + (f" {spectra.place(name)}" if len(spectra.names) > 1 else "")
            )
    return f"reaches {two_at_most(texts, sentences=False)}"


@sections.register("cumulative_spectrum")
def cumulative_spectrum(
    results: Results,
    *,
    operator: str = "hessian",
    scope: str = "all",
    where: dict[str, Json] | None = None,
    band: Band = "seeds",
) -> Section:
    """``P Σ w_j over θ_j > x``, and over θ_j < -x: numbers of eigenvalues, both axes logarithmic (Papyan, 2018).

    As most eigenvalues are near 0, the usual distribution function is a step there; counted from its ends it shows
    both. It has no kernel, and its steps are those of the quadrature. ``band`` is as in ``spectral_density``.
    """
    spectra = collect_spectra(results, where or {}, operator, scope, band)
    name = matrix_in_words(operator, scope)
    if spectra.rows.is_empty() or not spectra.rows["node"].abs().max():
        return spectra.unmeasured(name)
    finding = _beyond_narrowest(spectra, name)
    chart = _cumulative_chart(spectra, name, band, finding)
    return Section(finding, (chart,), missing=spectra.missing, rows=spectra.source_rows)


def _beyond(x: np.ndarray, sign: int) -> Callable[[np.ndarray, np.ndarray, float], np.ndarray]:
    def counts(nodes: np.ndarray, shares: np.ndarray, size: float) -> np.ndarray:
        tail_counts: np.ndarray = size * ((sign * nodes)[None, :] > x[:, None]) @ shares
        return tail_counts

    return counts


def _cumulative_chart(spectra: Spectra, name: str, band: Band, finding: str) -> Chart:
    radius = float(spectra.rows["node"].abs().max() or 1.0)  # type: ignore[arg-type]
    x = np.geomspace(radius * 10.0**-_DECADES, radius * 1.02, _POINTS)
    seeds = pl.concat(
        [spectrum_curves(spectra, side, x, _beyond(x, sign)) for side, sign in zip(_SIDES, (1, -1), strict=True)]
    )
    seeds = _ends(seeds, spectra)
    counts = replace(spectra.figure(seeds, _LEAST_COUNT), panels=_SIDES)
    top = max(counts.points.select(pl.max_horizontal("estimate", "high")).to_series().drop_nulls().to_list())
    x_axis = logarithmic_axis(f"x, {fill_units(LOSS_UNIT)}", [seeds["x"].min(), x[-1]])  # type: ignore[list-item]
    y_axis = logarithmic_axis("eigenvalues beyond x (log scale)", [_LEAST_COUNT, top])
    numbers = estimate_headings("eigenvalues", "lowest", "highest", "curves")
    return counts.chart(
        line_charts.density_chart(counts.panels, x_axis, y_axis, counts.style),
        {"panel": "side", "series": "variant", "x": "x", **numbers},
        alt=f"Numbers of eigenvalues of the {name} beyond x, on both sides, on logarithmic axes, for "
        f"{join_words(spectra.names)}. {finding}.",
        caption=f"How many eigenvalues of the {name} lie above x, and how many below −x: P times the weight of the "
        f"quadrature there, without a kernel; both axes are logarithmic. {band_sentence(band, counts.points)} Nothing "
        "is drawn below a tenth of an eigenvalue, nor nearer to 0 than a thousandth of all lie on either side."
        f"{spectra.steps_sentence}",
    )


def _ends(seeds: pl.DataFrame, spectra: Spectra) -> pl.DataFrame:
    """From the first x on beyond which every curve has at most a thousandth of its eigenvalues, or the last decade."""
    most = seeds.group_by("x").agg(pl.col("value").max()).sort("x")
    size = float(spectra.rows["size"].min() or 0.0)  # type: ignore[arg-type]
    few = most.filter(pl.col("value") <= _END_SHARE * size)["x"]
    last: float = most["x"].max()  # type: ignore[assignment]
    start = min(few.min() if few.len() else last, last / 10)  # type: ignore[type-var]
    return seeds.filter(pl.col("x") >= start)


def _beyond_narrowest(spectra: Spectra, name: str) -> str:
    """How many eigenvalues the wider spectra have where the narrowest one ends."""
    radii = {}
    for variant in spectra.names:
        nodes = spectra.of(variant)["node"].abs()
        if nodes.len():
            radii[variant] = float(nodes.max())  # type: ignore[arg-type]
    narrowest = min(radii, key=radii.__getitem__)
    beyond = pl.col("size") * pl.col("share") * (pl.col("node").abs() > radii[narrowest])
    parts = []
    for variant in (other for other in radii if other != narrowest):
        counts = (
            spectra.of(variant).group_by("replicate", maintain_order=True).agg(beyond.sum().alias("count"))["count"]
        )
        parts.append(f"{format_number(float(counts.mean()))} {spectra.place(variant)}")  # type: ignore[arg-type]
    if not parts:
        return f"No eigenvalue of the {name} lies beyond ±{format_short(radii[narrowest])}"
    where = f"Beyond ±{format_short(radii[narrowest])}, where the {name} ends {spectra.place(narrowest)}"
    return f"{where}, the number of eigenvalues is {join_words(parts)}"
