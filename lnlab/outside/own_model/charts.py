"""Charts of measurements for a notebook, in which every seed is drawn."""

from dataclasses import dataclass
from pathlib import Path

import altair as alt
import polars as pl

from lnlab.analyse.quantities.spectra import of_density
from lnlab.keys import Json
from lnlab.report.charts.render import to_png, to_svg
from lnlab.report.charts.vega_lite import vega_lite
from lnlab.report.theme import THEME
from lnlab.report.words.quantity_words import quantity_with_unit
from lnlab.specfile.expressions import expression_of

AnyChart = alt.TopLevelMixin
"""Any chart of altair: one that stands alone."""
_BINS = 80
"""The bins of the chart of a spectrum."""
_LEGEND_COLUMNS = 3
_FEW_POINTS = 30
"""The most points of a line that are each drawn with a mark."""


@dataclass(frozen=True, repr=False)
class Chart:
    """A chart that a notebook shows as a drawing, which this machine makes.

    Attributes:
        altair: the chart as an object of altair, to be changed there.
    """

    altair: AnyChart

    def to_dict(self) -> dict[str, Json]:
        """The chart as Vega-Lite with its data."""
        with alt.data_transformers.enable("default", max_rows=None):
            legend = {**THEME["legend"], "columns": _LEGEND_COLUMNS}
            return vega_lite(self.altair, background="white", padding=8, legend=legend)

    def save(self, path: str | Path) -> Path:
        """Write it as SVG, or as PNG where the file ends so. Returns the path.

        Raises:
            OSError: the file cannot be written.
        """
        file = Path(path)
        png = file.suffix.lower() == ".png"
        file.write_bytes(to_png(self.to_dict()) if png else to_svg(self.to_dict()).encode())
        return file

    def __repr__(self) -> str:
        return f"Chart({type(self.altair).__name__})"

    def _repr_svg_(self) -> str:
        return to_svg(self.to_dict())


def layer_chart(rows: pl.DataFrame, quantity: str) -> AnyChart:
    """A chart by layer where the sites have layers, else by parameter."""
    positive = bool((rows["value"] > 0).all())
    value = alt.Scale(type="log", nice=False, padding=8) if positive else alt.Scale(type="linear")
    title = quantity_with_unit(quantity) if expression_of(quantity) else quantity.replace("_", " ")
    # columns that are null in every row of a derived quantity are not there
    layered = rows.filter(pl.col("layer").is_not_null()) if "layer" in rows.columns else rows.clear()
    if layered.is_empty():
        path = pl.col("path") if "path" in rows.columns else pl.lit(None, pl.String)
        shown = rows.with_columns(path=path.fill_null("all parameters"))
        color = alt.Color("setting:N") if rows["setting"].n_unique() > 1 else alt.Undefined
        base = alt.Chart(shown, width=360).encode(
            alt.X("value:Q", title=title, scale=value), alt.Y("path:N", title=None, sort=None), color=color
        )
        by_parameter: AnyChart = base.mark_point(filled=True, opacity=0.6)
        return by_parameter
    words = [word for word in ("stack", "sublayer", "tensor") if word in layered.columns]
    label = pl.concat_str(words, separator=".", ignore_nulls=True) if words else pl.lit(quantity)
    base = alt.Chart(layered.with_columns(weight=label), width=360).encode(alt.X("layer:O"), alt.Color("weight:N"))
    points = base.mark_point(opacity=0.5).encode(
        alt.Y("value:Q", title=title, scale=value), alt.Shape("setting:N", legend=None)
    )
    means = base.mark_line().encode(alt.Y("mean(value):Q", title=title, scale=value), alt.StrokeDash("setting:N"))
    return alt.layer(means, points)


def line_chart(rows: pl.DataFrame, quantity: str, x: str) -> AnyChart:
    """Over steps or a setting: a thin line a seed and a thick one for their mean, a panel for each other setting."""
    columns = set(rows.columns)
    words = [pl.col(c) for c in ("split", "stack", "layer", "sublayer", "tensor", "index") if c in columns]
    place = pl.concat_str([w.cast(pl.String) for w in words], separator=" ", ignore_nulls=True) if words else pl.lit("")
    shown = rows.with_columns(place=place).with_columns(pl.col(x).alias("x"))
    alone = shown["place"].n_unique() == 1
    color = alt.Color("setting:N") if alone else alt.Color("place:N", title="place", sort=None)
    positive = bool((rows["value"] > 0).all())
    scale = alt.Scale(type="log", nice=False, padding=8) if positive else alt.Scale(type="linear")
    number = rows.schema[x].is_numeric()
    axis = alt.X("x:Q" if number else "x:N", title=x)
    base = alt.Chart(shown, width=300).encode(axis, color)
    title = quantity_with_unit(quantity) if expression_of(quantity) else quantity.replace("_", " ")
    seeds = base.mark_line(opacity=0.3, strokeWidth=1).encode(
        alt.Y("value:Q", title=title, scale=scale), alt.Detail(["seed:N", "setting:N", "place:N"])
    )
    means = base.mark_line(point=not number or shown["x"].n_unique() < _FEW_POINTS).encode(
        alt.Y("mean(value):Q", title=title, scale=scale), alt.Detail(["setting:N", "place:N"])
    )
    layers = alt.layer(seeds, means)
    if alone or shown["setting"].n_unique() == 1:
        return layers
    return layers.facet(column=alt.Column("setting:N", title=None))


def eigenvalue_chart(rows: pl.DataFrame) -> AnyChart:
    """The share of eigenvalues in each of ``_BINS`` equal intervals, on a logarithmic scale, averaged over draws."""
    rows = of_density(rows)
    low, high = float(rows["node"].min()), float(rows["node"].max())  # type: ignore[arg-type]
    width = (high - low or 1.0) / _BINS
    number = ((pl.col("node") - low) / width).floor().clip(0, _BINS - 1)
    share = pl.col("weight").sum() / pl.col("draws").max()
    binned = rows.with_columns(
        eigenvalue=low + (number + 0.5) * width, draws=pl.col("draw").n_unique().over("setting", "seed")
    )
    shares = binned.group_by("setting", "seed", "eigenvalue", maintain_order=True).agg(share=share)
    chart: AnyChart = (
        alt.Chart(shares.filter(pl.col("share") > 0).with_columns(pl.col("seed").cast(pl.String)))
        .mark_point(opacity=0.6)
        .encode(
            alt.X("eigenvalue:Q"),
            alt.Y("share:Q", title="share of eigenvalues", scale=alt.Scale(type="log")),
            alt.Color("setting:N"),
            alt.Shape("seed:N"),
        )
    )
    return chart
