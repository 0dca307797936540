"""How many eigenvalues lie beyond x, on either side: the cumulative spectrum from its two ends, without a kernel."""

from collections.abc import Callable

import numpy as np
import polars as pl

from lnlab.analyse.quantities.spectra import LOSS_UNIT
from lnlab.keys import Json
from lnlab.report.charts import line_charts, theme
from lnlab.report.charts.axes import logarithmic_axis
from lnlab.report.charts.downsample import thin_points
from lnlab.report.data.spectra import Band, Spectra, band_sentence, collect_spectra, range_points, spectrum_curves
from lnlab.report.loss_units import fill_units
from lnlab.report.section import Chart, Section, sections
from lnlab.report.words.spectral_words import matrix_in_words
from lnlab.report.words.wording import format_number, format_short, join_words
from lnlab.tables import Results

_DECADES, _POINTS = 4, 160
"""Below so many decades under the largest eigenvalue float32 is near its noise; and places on the axis."""
_LEAST_COUNT = 0.1
_END_SHARE = 1e-3
"""Of all eigenvalues: nearer to 0 one node of the quadrature stands for most of them, and only its steps would show."""
_SIDES = ("positive, above x", "negative, below −x")


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
        return Section(
            f"No spectrum of the {name} has been measured yet", missing=spectra.missing, rows=spectra.source_rows
        )
    finding = _finding(spectra, name)
    return Section(finding, (_chart(spectra, name, band, finding),), (), spectra.missing, spectra.source_rows)


def _beyond(x: np.ndarray, sign: int) -> Callable[[np.ndarray, np.ndarray, float], np.ndarray]:
    def counts(nodes: np.ndarray, shares: np.ndarray, size: float) -> np.ndarray:
        tail_counts: np.ndarray = size * ((sign * nodes)[None, :] > x[:, None]) @ shares
        return tail_counts

    return counts


def _chart(spectra: Spectra, name: str, band: Band, finding: str) -> Chart:
    radius = float(spectra.rows["node"].abs().max() or 1.0)  # type: ignore[arg-type]
    x = np.geomspace(radius * 10.0**-_DECADES, radius * 1.02, _POINTS)
    seeds = pl.concat(
        [spectrum_curves(spectra, side, x, _beyond(x, sign)) for side, sign in zip(_SIDES, (1, -1), strict=True)]
    )
    seeds = _ends(seeds, spectra)
    points = range_points(seeds, _LEAST_COUNT)
    top = max(points.select(pl.max_horizontal("estimate", "high")).to_series().drop_nulls().to_list())
    x_axis = logarithmic_axis(f"x, {fill_units(LOSS_UNIT)}", [seeds["x"].min(), x[-1]])  # type: ignore[list-item]
    y_axis = logarithmic_axis("eigenvalues beyond x (log scale)", [_LEAST_COUNT, top])
    numbers = {"estimate": "eigenvalues", "low": "lowest", "high": "highest", "n": "curves"}
    return Chart(
        line_charts.density_chart(_SIDES, x_axis, y_axis, theme.series_style(spectra.names, spectra.families)),
        points,
        seeds,
        {"panel": "side", "series": "variant", "x": "x", **numbers},
        f"Numbers of eigenvalues of the {name} beyond x, on both sides, on logarithmic axes, for "
        f"{join_words(spectra.names)}. {finding}.",
        f"How many eigenvalues of the {name} lie above x, and how many below −x: P times the weight of the quadrature "
        f"there, without a kernel; both axes are logarithmic. {band_sentence(band, points)} Nothing is drawn below "
        f"a tenth of an eigenvalue, nor nearer to 0 than a thousandth of all lie on either side. "
        f"{thin_points(points)[1]}".strip(),
        log=False,
    )


def _ends(seeds: pl.DataFrame, spectra: Spectra) -> pl.DataFrame:
    """From the first x on beyond which every curve has at most a thousandth of its eigenvalues, or the last decade."""
    most = seeds.group_by("x").agg(pl.col("value").max()).sort("x")
    size = float(spectra.rows["size"].min() or 0.0)  # type: ignore[arg-type]
    few = most.filter(pl.col("value") <= _END_SHARE * size)["x"]
    last: float = most["x"].max()  # type: ignore[assignment]
    start = min(few.min() if few.len() else last, last / 10)  # type: ignore[type-var]
    return seeds.filter(pl.col("x") >= start)


def _finding(spectra: Spectra, name: str) -> str:
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
        parts.append(f"{format_number(float(counts.mean()))} in {variant}")  # type: ignore[arg-type]
    if not parts:
        return f"No eigenvalue of the {name} lies beyond ±{format_short(radii[narrowest])}"
    where = f"Beyond ±{format_short(radii[narrowest])}, where the {name} ends in {narrowest}"
    return f"{where}, the number of eigenvalues is {join_words(parts)}"
