"""A quantity against a size, and through it the laws that compete: which of them tells a size it was not fitted to?"""

from typing import Literal

import numpy as np

from lnlab.claims.laws import GrowthLaw, predicted_log
from lnlab.keys import Json
from lnlab.report.charts.axes import axis_at_values
from lnlab.report.data.figure import estimate_headings
from lnlab.report.data.series import collect_series
from lnlab.report.figures.findings import ComparedLaw, laws_finding, sizes_by_seed
from lnlab.report.figures.lines import Lines, value_axis
from lnlab.report.section import Section, sections, unmeasured
from lnlab.report.words.path_names import size_names
from lnlab.report.words.quantity_words import axis_title, quantity_definition, quantity_name, quantity_with_unit
from lnlab.report.words.statistic import GEOMETRIC_MEAN
from lnlab.report.words.wording import join_words
from lnlab.tables import Results

_STEPS = 60
"""Pieces of a drawn curve."""


@sections.register("law_plot")
def law_plot(
    results: Results,
    *,
    quantity: str,
    where: dict[str, Json] | None = None,
    x: str = "model.sublayers",
    laws: list[ComparedLaw] | None = None,
    scale: Literal["linear", "log"] = "linear",
) -> Section:
    """``a + b x and a + b log x`` beside the quantity at x: and by how much each misses what it has not seen.

    Marks are geometric means over seeds with 95 % Student intervals on a linear axis; ``scale`` is that of x. ``laws``
    are linear and logarithmic by default, fitted in log y: drawn through the means, and judged as by the claim
    ``fit``, by levels left out within each seed.
    """
    series = collect_series(results, quantity, where or {}, x, log=True, panels=False)
    if series.seeds.is_empty():
        return unmeasured(series, quantity)
    names = laws or ["linear", "logarithmic"]
    size = size_names(x)
    fits = []
    for name in series.names:
        if (complete := sizes_by_seed(series, name)) is None:
            continue
        sizes, numbers = complete
        spaced = np.geomspace if scale == "log" else np.linspace
        at = spaced(sizes[0], sizes[-1], _STEPS + 1)
        for law in names:  # fitted to the geometric means over seeds
            values = np.exp(predicted_log(GrowthLaw(law), sizes, np.log(numbers).mean(0), at))
            curve = zip(at, values, strict=True)
            fits += [{"series": name, "law": law, "x": float(a), "y": float(v)} for a, v in curve]
    return Lines(
        data=series,
        x=axis_at_values(
            f"{size.axis}{' (log scale)' if scale == 'log' else ''}", series.points["x"], log=scale == "log"
        ),
        y=value_axis(axis_title(quantity), series, log=False, beside=[0.0]),
        statistic=GEOMETRIC_MEAN,
        spread="bars",
        fits=fits,
        fitted=names,
        subject=f"{quantity_definition(quantity)} against {size.phrase}, on a linear axis",
        notes=(
            f"Thin lines: the {join_words(names)} law fitted to the means, in the colour of their series.",
            "The error of a law is the median over seeds, at a size that it was not fitted to.",
        ),
        shows=f"Scatter chart of the {quantity_with_unit(quantity)}, against {size.phrase}",
        finding=laws_finding(series, quantity, size.phrase, names),
        headings={"series": "variant", "x": size.axis, **estimate_headings(quantity_name(quantity))},
    ).section()
