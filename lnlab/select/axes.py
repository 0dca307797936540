"""The table ``axes``: what tells runs apart, of a plan's runs and of those from elsewhere."""

from collections.abc import Iterable, Mapping

import polars as pl

from lnlab.keys import Json, canonical
from lnlab.specfile.values import value_label
from lnlab.tables import Results, table_schema

EVERY_RUN = "every run"
"""The name of a variant where nothing varies."""


def axes_frame(points: Mapping[str, Mapping[str, Json]], runs: Iterable[tuple[str, str]]) -> pl.DataFrame:
    """The table ``axes``: a row for each run and axis, with the value that the run's variant has there.

    Args:
        points: variant -> axis -> value.
        runs: key and variant of each run.
    """
    cells = {
        variant: [
            (axis, canonical(value), float(value) if type(value) in (int, float) else None, value_label(value))
            for axis, value in point.items()
        ]
        for variant, point in points.items()
    }
    rows = [(run, *cell) for run, variant in runs for cell in cells[variant]]
    return pl.DataFrame(rows, schema=table_schema("axes"), orient="row")


def variant_names(results: Results) -> dict[str, str]:
    """Variant key -> its axes in words: ``placement=post model.layers=6``."""
    points: dict[str, str] = {}
    named = results.axes.join(results.runs.select("run", "variant"), on="run", how="inner", maintain_order="left")
    for variant, axis, label in (
        named.unique(["variant", "axis"], maintain_order=True).select("variant", "axis", "label").iter_rows()
    ):
        points[variant] = f"{points.get(variant, '')} {axis}={label}".lstrip()
    return {variant: points.get(variant, EVERY_RUN) for variant in results.runs["variant"].unique(maintain_order=True)}
