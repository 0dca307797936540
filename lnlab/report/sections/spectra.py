"""Spectra of curvature: numbers of eigenvalues in powers of ten, with outliers as sticks, and numbers beyond x."""

from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from lnlab.analyse.quantities.spectra import LOSS_UNIT
from lnlab.analyse.statistics.spectral_density import signed_log
from lnlab.keys import Json
from lnlab.report.charts.axes import logarithmic_axis, signed_logarithmic_axis
from lnlab.report.data.figure import estimate_headings
from lnlab.report.data.spectra import (
    Spectra,
    beyond,
    collect_spectra,
    counts_per_power,
    spectrum_curves,
)
from lnlab.report.figures.lines import Lines
from lnlab.report.figures.spectrum import StickFigure
from lnlab.report.loss_units import fill_units
from lnlab.report.section import Section, sections
from lnlab.report.words.spectral_words import matrix_in_words
from lnlab.report.words.statistic import MEAN_AND_BOUNDS, MEAN_AND_RANGE
from lnlab.report.words.wording import (
    MAX_NAMED,
    format_number,
    format_short,
    join_words,
    moment_in_words,
    two_at_most,
)
from lnlab.seed_words import seed_word
from lnlab.tables import Results

_DECADES, _POINTS = 4, 160
"""Decades below the largest eigenvalue, under which float32 is near its noise, and places on the axis."""
_LEAST_COUNT = 0.1
_END_SHARE = 1e-3
"""The axis starts where this share of all eigenvalues lies beyond it. Nearer to 0 one node stands for most of them."""
_NOISE_SHARE, _LEAST_STICK, _POINTS_PER_PANEL = 3e-7, 0.3, 260
"""Share of the largest eigenvalue within which float32 is rounding, the least count drawn, and places on the axis."""
_SIDES = ("positive, above x", "negative, below −x")


@sections.register("spectral_density")
def spectral_density(
    results: Results,
    *,
    operator: str = "hessian",
    scope: str = "all",
    where: dict[str, Json] | None = None,
) -> Section:
    """``∫ p(t) dt`` over a power of ten: how many eigenvalues lie there, one panel per variant (Ghorbani et al., 2019).

    Outliers are sticks, and the bulk is one curve on an axis of powers of ten, through the midpoints of the steps of
    its cumulative density, so that it needs no kernel. The band is what these steps allow. Where a run has spectra at
    several steps, each step has a panel; of more than four, the first and the last have.
    """
    spectra = collect_spectra(results, where or {}, operator, scope)
    name = matrix_in_words(operator, scope)
    if spectra.rows.is_empty():
        return _unmeasured(spectra, name)
    radius = float(spectra.rows["node"].abs().max())  # type: ignore[arg-type]
    noise = _NOISE_SHARE * (radius or 1.0)
    least = 10 * noise  # the shaded part is then narrow, and can be seen
    x = signed_logarithmic_axis("eigenvalue (powers of ten on both sides of 0)", spectra.rows["node"], least)
    left, right = signed_log(x.domain, least)
    logs = np.linspace(left, right, _POINTS_PER_PANEL)
    grid = np.sign(logs) * least * (10 ** np.abs(logs) - 1)
    counts = counts_per_power(spectra, least, grid)
    data = spectra.figure(counts, _LEAST_STICK)
    top = max(data.points.select(pl.max_horizontal("estimate", "high")).to_series().drop_nulls(), default=1.0)
    sticks = spectra.rows.filter(pl.col("outlier") != 0).height
    counted = sorted(spectra.rows.group_by("series", "seed").len()["len"].unique().to_list())
    nodes = f"{counted[0]}" if len(counted) == 1 else f"{counted[0]} to {counted[-1]}"
    draws = spectra.rows["draw"].n_unique()
    nodes += " nodes" if draws == 1 else f" nodes of {draws} start vectors"
    sizes = sorted(spectra.rows["size"].unique().to_list())
    size = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    alone = (
        "Sticks of height 1: isolated eigenvalues, that is, outer Ritz values with a residual of at most a tenth of "
        f"the distance to the next, of every {seed_word()}."
        if sticks
        else "No eigenvalue is known to be isolated: there are no sticks."
    )
    return StickFigure(
        data=data,
        x=x,
        # 1 is on the axis whatever the bulk is, as a stick is that high
        y=logarithmic_axis("eigenvalues per power of ten (log scale)", [_LEAST_STICK, 1.0, top]),
        noise=noise,
        statistic=MEAN_AND_BOUNDS,
        subject=f"The {size} eigenvalues of the {name}, in {fill_units(LOSS_UNIT)}, from {nodes}: number "
        "within half a power of ten on either side, from the midpoints of the cumulative density's steps, without a "
        "kernel",
        notes=(
            "Bounds: Gauss quadrature, with a step at each node; every spectrum with these moments lies between them. "
            "They hold for each start vector and are no interval over draws.",
            alone,
            f"Shaded: within {format_short(noise)} of 0, float32 products are rounding errors. The axis is linear "
            f"within {format_short(least)} of 0."
            f"{spectra.steps_sentence}",
        ),
        shows=f"Numbers of eigenvalues of the {name} by their size, on a signed logarithmic axis, outliers as sticks, "
        f"for {join_words(spectra.names)}",
        finding=_reach_sentence(spectra, name),
        headings={
            "panel": "variant",
            "x": "eigenvalue",
            **estimate_headings("eigenvalues within half a power of ten", "least", "most", "spectra"),
            "marks": "sticks",
        },
    ).section()


@sections.register("cumulative_spectrum")
def cumulative_spectrum(
    results: Results,
    *,
    operator: str = "hessian",
    scope: str = "all",
    where: dict[str, Json] | None = None,
) -> Section:
    """``P Σ w_j over θ_j > x``, and over θ_j < -x: numbers of eigenvalues, both axes logarithmic (Papyan, 2018).

    As most eigenvalues are near 0, the usual distribution function is a step there; counted from its ends it shows
    both. It has no kernel: outliers are steps, and all else is read through the midpoints of the steps of the
    quadrature, which is two to three times as close.
    """
    spectra = collect_spectra(results, where or {}, operator, scope)
    name = matrix_in_words(operator, scope)
    radius = spectra.rows["node"].abs().max()
    if spectra.rows.is_empty() or not isinstance(radius, float) or not radius:
        return _unmeasured(spectra, name)
    # a little beyond the last eigenvalue, where the count comes down to 0
    x = np.geomspace(radius * 10.0**-_DECADES, radius * 1.02, _POINTS)

    curves = pl.concat(
        [
            spectrum_curves(spectra, side, x, partial(beyond, x=x, sign=sign))
            for side, sign in zip(_SIDES, (1, -1), strict=True)
        ]
    )
    # from the first x on beyond which every curve has at most a thousandth of its eigenvalues, or the last decade
    most = curves.group_by("x").agg(pl.col("value").max()).sort("x")
    size = float(spectra.rows["size"].min() or 0.0)  # type: ignore[arg-type]
    few = most.filter(pl.col("value") <= _END_SHARE * size)["x"]
    last: float = most["x"].max()  # type: ignore[assignment]
    start = min(few.min() if few.len() else last, last / 10)  # type: ignore[type-var]
    seeds = curves.filter(pl.col("x") >= start)
    counts = replace(spectra.figure(seeds, _LEAST_COUNT), panels=_SIDES)
    top = max(counts.points.select(pl.max_horizontal("estimate", "high")).to_series().drop_nulls().to_list())
    return Lines(
        data=counts,
        x=logarithmic_axis(f"x, {fill_units(LOSS_UNIT)}", [seeds["x"].min(), x[-1]]),  # type: ignore[list-item]
        y=logarithmic_axis("eigenvalues beyond x (log scale)", [_LEAST_COUNT, top]),
        statistic=MEAN_AND_RANGE,
        outlines=True,
        subject=f"Number of eigenvalues of the {name} above x and below −x: P times the quadrature weight there, "
        "without a kernel, in steps at outliers and through the midpoints of its steps elsewhere; both axes are "
        "logarithmic",
        notes=(
            "Numbers below a tenth of an eigenvalue are not drawn. The x-axis begins where at most a thousandth of all "
            f"eigenvalues lie beyond x.{spectra.steps_sentence}",
        ),
        shows=f"Numbers of eigenvalues of the {name} beyond x, on both sides, on logarithmic axes, for "
        f"{join_words(spectra.names)}",
        finding=_beyond_narrowest_sentence(spectra, name),
        headings={
            "panel": "side",
            "series": "variant",
            "x": "x",
            **estimate_headings("eigenvalues", "lowest drawn", "highest", "curves"),
        },
    ).section()


def _reach_sentence(spectra: Spectra, name: str) -> str:
    """The sentence on the smallest and the largest node of each variant, as means over its spectra."""
    ends = spectra.rows.group_by("series", "seed", maintain_order=True).agg(
        low=pl.col("node").min(), high=pl.col("node").max()
    )
    spans = []
    for variant in spectra.names:
        of_variant = ends.filter(pl.col("series") == variant)
        if not of_variant.is_empty():
            first, last = of_variant.select(pl.col("low").mean(), pl.col("high").mean()).row(0)
            place = f" {spectra.place(variant)}" if len(spectra.names) > 1 else ""
            spans.append(f"from {format_short(first)} to {format_short(last)}{place}")
    if spectra.measured_steps > 1 and len(spans) > MAX_NAMED:  # each variant at the last step, rather than one at all
        last_moment = moment_in_words(int(spectra.rows["step"].max()))  # type: ignore[arg-type]
        spans = [span for span in spans if span.endswith(last_moment)] or spans
    average = " on average" if ends.group_by("series").len()["len"].max() != 1 else ""
    return f"The spectrum of the {name} extends{average} {two_at_most(spans, sentences=False)}"


def _unmeasured(spectra: Spectra, name: str) -> Section:
    finding = f"There is no spectrum of the {name}"
    return Section(finding, missing=spectra.missing, rows=spectra.source_rows)


def _beyond_narrowest_sentence(spectra: Spectra, name: str) -> str:
    """The sentence on how many eigenvalues the other variants have beyond the largest one of the narrowest spectrum."""
    radii = {}
    for variant in spectra.names:
        nodes = spectra.of(variant)["node"].abs()
        if nodes.len():
            radii[variant] = float(nodes.max())  # type: ignore[arg-type]
    narrowest = min(radii, key=radii.__getitem__)
    beyond = pl.col("size") * pl.col("share") * (pl.col("node").abs() > radii[narrowest])
    parts = []
    for variant in (other for other in radii if other != narrowest):
        counts = spectra.of(variant).group_by("seed", maintain_order=True).agg(beyond.sum().alias("count"))["count"]
        parts.append(f"{format_number(float(counts.mean()))} {spectra.place(variant)}")  # type: ignore[arg-type]
    if not parts:
        return f"No eigenvalue of the {name} lies beyond ±{format_short(radii[narrowest])}"
    where = f"Beyond ±{format_short(radii[narrowest])}, where the {name} ends {spectra.place(narrowest)}"
    return f"{where}, the number of eigenvalues is {join_words(parts)}"
