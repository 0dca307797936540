"""Lines are named at their ends: no name over another, and a legend where there is no room."""

import re
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize

from lnlab.report.charts import axes, line_charts, render
from lnlab.report.charts.end_names import end_names, spread_apart
from lnlab.report.theme import series_style


def drawn(ends, *, log=False, last=None):
    """Lines from 1 to their ends over 1, 2, 3, or up to another last place."""
    rows = [
        {"series": name, "line": k, "x": float(x), "estimate": 1 + (end - 1) * x / 3, "low": None, "high": None, "n": 5}
        for k, (name, end) in enumerate(ends.items())
        for x in range(1, 1 + (last or {}).get(name, 3))
    ]
    points = pl.DataFrame(rows, schema_overrides={"low": pl.Float64, "high": pl.Float64})
    x = axes.axis_at_values("x", [1.0, 2.0, 3.0])
    make = axes.logarithmic_axis if log else axes.linear_axis
    y = make("y", [0.5, 1.0, *ends.values()])
    return points, series_style(list(ends), range(len(ends))), x, y


@pytest.mark.parametrize("seed", range(8))
def test_names_are_as_near_to_their_lines_as_they_can_be(seed):
    """Against a general solver of the same least squares."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    wanted = np.sort(rng.uniform(-5, 235, n)) if seed % 2 else np.sort(rng.normal(200, 6, n))
    heights = rng.choice([14, 28], n).astype(float)
    middles = np.array(spread_apart(list(wanted), list(heights), 230))
    gaps = (heights[1:] + heights[:-1]) / 2
    assert np.all(np.diff(middles) >= gaps - 1e-9)
    assert middles[0] >= heights[0] / 2 - 1e-9
    assert middles[-1] <= 230 - heights[-1] / 2 + 1e-9
    solved = minimize(
        lambda m: float(((m - wanted) ** 2).sum()),
        np.linspace(heights[0] / 2, 230 - heights[-1] / 2, n),
        jac=lambda m: 2 * (m - wanted),
        method="SLSQP",
        bounds=[(heights[0] / 2, None)] + [(None, None)] * (n - 2) + [(None, 230 - heights[-1] / 2)],
        constraints=[{"type": "ineq", "fun": lambda m: np.diff(m) - gaps}],
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert ((middles - wanted) ** 2).sum() <= solved.fun + 1e-3


@pytest.mark.parametrize("log", [False, True])
def test_no_name_lies_on_another_and_none_stands_twice(log):
    ends = {"Post-LN": 5.0, "Post-LN, slow q and k": 5.0, "Pre-LN": 4.99, "no norm": 0.7, "AdamW, cosine": 4.9}
    points, style, x, y = drawn(ends, log=log)
    names = end_names(points, style, x, y)
    spec = line_charts.lines_chart([], x, y, style, names=names)
    spec["datasets"]["points"] = points.to_dicts()
    words = re.findall(r">([^<>]+)</t", render.to_svg(spec))
    assert [words.count(word) for word in ("Post-LN", "Post-LN,", "slow q and k", "Pre-LN", "no norm")] == [1] * 5
    rows = sorted(names.rows, key=lambda row: row["at"])
    low, high = np.log(y.domain) if log else y.domain
    tops = [((np.log(row["at"]) if log else row["at"]) - low) / (high - low) * 230 for row in rows]
    lines = [1 + row["label"].count("↵") for row in rows]
    for (below, _), (above, count) in pairwise(zip(tops, lines, strict=True)):
        assert above - 14 * (count - 1) - below >= 14 - 1e-6, "the last line of a name stands above the next name"
    assert {row["series"]: row["y"] for row in rows} == ends


@pytest.mark.parametrize(
    ("ends", "last"),
    [
        ({"alone": 2.0}, {}),
        ({"a": 2.0, "b": 3.0}, {"b": 2}),
        ({"a": 2.0, "a name that is far too long for the edge of a phone": 3.0}, {}),
        ({f"variant {n}": float(n + 1) for n in range(17)}, {}),
    ],
    ids=["one line", "ends apart", "a long name", "too many"],
)
def test_lines_without_room_for_names_have_a_legend(ends, last):
    assert end_names(*drawn(ends, last=last)) is None


def test_a_line_that_leaves_the_axis_or_has_no_number_has_its_name_in_the_legend():
    points, style, x, y = drawn({"a": 2.0, "b": 3.0})
    low = axes.linear_axis("y", [0.0, 2.5])
    assert end_names(points, style, x, y) is not None
    assert end_names(points, style, x, low) is None
    assert end_names(points.filter(series="a"), style, x, y) is None
