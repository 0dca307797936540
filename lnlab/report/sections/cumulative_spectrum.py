"""How many eigenvalues lie beyond x, on either side: the cumulative spectrum from its two ends, without a kernel."""

from collections.abc import Callable

import numpy as np
import polars as pl

from lnlab.keys import Json
from lnlab.report.charts import line_charts, theme
from lnlab.report.charts.axes import logarithmic
from lnlab.report.charts.downsample import thin
from lnlab.report.data.spectra import Band, Spectra, collect, curves, ranges, said
from lnlab.report.loss_units import in_unit
from lnlab.report.section import Chart, Section, sections
from lnlab.report.words.spectral_words import LOSS, matrix
from lnlab.report.words.wording import listing, number, short
from lnlab.tables import Results

DECADES, POINTS = 4, 160
"""Below so many decades under the largest eigenvalue float32 is near its noise; and places on the axis."""
_FEWEST = 0.1
SIDES = ("positive, above x", "negative, below −x")


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
    found = collect(results, where or {}, operator, scope, band)
    name = matrix(operator, scope)
    if found.rows.is_empty() or not found.rows["node"].abs().max():
        return Section(f"No spectrum of the {name} has been measured yet", missing=found.missing, rows=found.kept)
    finding = _finding(found, name)
    return Section(finding, (_chart(found, name, band, finding),), (), found.missing, found.kept)


def _beyond(x: np.ndarray, sign: int) -> Callable[[np.ndarray, np.ndarray, float], np.ndarray]:
    def counts(nodes: np.ndarray, shares: np.ndarray, size: float) -> np.ndarray:
        found: np.ndarray = size * ((sign * nodes)[None, :] > x[:, None]) @ shares
        return found

    return counts


def _chart(found: Spectra, name: str, band: Band, finding: str) -> Chart:
    radius = float(found.rows["node"].abs().max() or 1.0)  # type: ignore[arg-type]
    x = np.geomspace(radius * 10.0**-DECADES, radius * 1.02, POINTS)
    seeds = pl.concat([curves(found, side, x, _beyond(x, sign)) for side, sign in zip(SIDES, (1, -1), strict=True)])
    points = ranges(seeds, _FEWEST)
    top = max(points.select(pl.max_horizontal("estimate", "high")).to_series().drop_nulls().to_list())
    across = logarithmic(f"x, in {in_unit(LOSS)} (log scale)", [x[0], x[-1]])
    up = logarithmic("eigenvalues beyond x (log scale)", [_FEWEST, top])
    numbers = {"estimate": "eigenvalues", "low": "lowest", "high": "highest", "n": "curves"}
    return Chart(
        line_charts.densities(SIDES, across, up, theme.look(found.names, found.families)),
        points,
        seeds,
        {"panel": "side", "series": "variant", "x": "x", **numbers},
        f"Numbers of eigenvalues of the {name} beyond x, on both sides, on logarithmic axes, for "
        f"{listing(found.names)}. {finding}.",
        f"How many eigenvalues of the {name} lie above x, and how many below −x: P times the weight of the quadrature "
        f"there, without a kernel. {said(band, points)} Below a tenth of an eigenvalue nothing is drawn. "
        f"{thin(points)[1]}".strip(),
        log=False,
    )


def _finding(found: Spectra, name: str) -> str:
    """How many eigenvalues the wider arms have where the narrowest one ends."""
    reach = {}
    for arm in found.names:
        nodes = found.of(arm)["node"].abs()
        if nodes.len():
            reach[arm] = float(nodes.max())  # type: ignore[arg-type]
    narrow = min(reach, key=reach.__getitem__)
    beyond = pl.col("size") * pl.col("share") * (pl.col("node").abs() > reach[narrow])
    told = []
    for arm in (each for each in reach if each != narrow):
        counts = found.of(arm).group_by("replicate", maintain_order=True).agg(beyond.sum().alias("count"))["count"]
        told.append(f"{number(float(counts.mean()))} in {arm}")  # type: ignore[arg-type]
    if not told:
        return f"No eigenvalue of the {name} lies beyond ±{short(reach[narrow])}"
    where = f"Beyond ±{short(reach[narrow])}, where the {name} ends in {narrow}"
    return f"{where}, the number of eigenvalues is {listing(told)}"
