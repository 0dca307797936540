"""Laws through numbers: what is drawn is the fit, what is said is the error at a size that was left out."""

import json
import re

import numpy as np
import polars as pl
import pytest

from lnlab.claims.kinds.fit import fit
from lnlab.report.charts.render import to_svg
from lnlab.report.page.figures import spec_with_data
from lnlab.report.sections.plots import law_plot
from lnlab.tables import Results, frame, table_schema

SIZES = (2, 4, 8, 16, 32, 64)
METHODS = {"Post-LN": lambda n: 3 + 2.0 * n, "Pre-LN": lambda n: 3 + 2.0 * np.log(n), "odd": lambda n: 3 + np.sin(n)}
OVER = "encoder.sublayers"


def made(methods=tuple(METHODS), sizes=SIZES, seeds=5, noise=0.02):
    """The change of an encoder's output: each method's curve, with noise."""
    runs, axes, sites = [], [], []
    for method in methods:
        for n in sizes:
            for seed in range(1, seeds + 1):
                run = f"{method}-{n}-{seed}"
                setting = {"encoder": {"layers": n // 2, "placement": {"kind": "post"}}, "decoder": {"layers": 1}}
                told = {"variant": f"{method}-{n}", "seed": seed}
                runs.append({"run": run, "trajectory": run, "steps": 0, **told, "setting": json.dumps(setting)})
                axes += [{"run": run, "axis": "method", "value": json.dumps(method), "label": method}]
                axes += [{"run": run, "axis": "encoder.layers", "value": str(n // 2), "number": n / 2, "label": str(n)}]
                value = METHODS[method](n) * np.exp(noise * np.random.default_rng([seed, n]).normal())
                at = {"quantity": "output_change_random", "stack": "encoder", "tensor": "out", "value": float(value)}
                sites.append({"run": run, **told, "step": 0, **at})
    status = {"status": pl.String, "reason": pl.String}
    finished = pl.DataFrame(
        [{**run, "status": "finished", "reason": None} for run in runs], schema=dict(table_schema("runs")) | status
    )
    front = {"run": pl.String, "variant": pl.String, "seed": pl.Int64, "step": pl.Int64}
    return Results(
        finished, frame("axes", axes), {"sites": pl.DataFrame(sites, schema=front | dict(table_schema("sites")))}
    )


@pytest.fixture(scope="module")
def measured():
    return made()


def curves(chart):
    """The drawn laws, as rows ``series law x y``."""
    return chart.spec["datasets"][chart.spec["layer"][0]["data"]["name"]]


ASKED = {"quantity": "output_change_random", "x": OVER}


def test_the_heading_says_which_law_comes_nearest_and_by_how_much_each_misses(measured, golden):
    finding = law_plot(measured, **ASKED).finding
    golden(finding)
    assert re.search(r"Pre-LN is logarithmic: .* missed by \d %, linear by \d\d %", finding)
    golden(finding)


def test_a_series_that_follows_no_law_is_said_to(measured, golden):
    finding = law_plot(measured, **ASKED, where={"method": "odd"}).finding
    golden(finding)


def test_errors_are_those_that_the_claim_tells(measured):
    """``fit`` prints the medians of the same errors."""
    of = {"quantity": "output_change_random", "method": "Pre-LN"}
    told = fit(measured, of=of, over=OVER, law="logarithmic", against="linear").reason
    claimed = re.search(r"median error (\d+)% logarithmic, (\d+)% linear", told).groups()
    said = re.search(r"Pre-LN is logarithmic: .* by (\d+) %, linear by (\d+) %", law_plot(measured, **ASKED).finding)
    assert said.groups() == claimed


@pytest.mark.parametrize(("scale", "kind"), [("linear", "linear"), ("log", "log")])
def test_a_curve_is_the_law_through_the_means(measured, scale, kind):
    """Without noise the curve of the right law is the truth at every x."""
    (chart,) = law_plot(made(noise=0.0), **ASKED, scale=scale).charts
    for method, law in (("Post-LN", "linear"), ("Pre-LN", "logarithmic")):
        line = [(row["x"], row["y"]) for row in curves(chart) if (row["series"], row["law"]) == (method, law)]
        assert len(line) > 50
        assert [y for _, y in line] == pytest.approx([METHODS[method](x) for x, _ in line])
    assert chart.spec["layer"][0]["encoding"]["x"]["scale"]["type"] == kind
    assert chart.spec["layer"][0]["encoding"]["y"]["scale"]["type"] == "linear"
    assert chart.log


def test_laws_can_be_chosen_and_the_drawing_is_valid(measured, golden):
    section = law_plot(measured, **ASKED, where={"method": "Post-LN"}, laws=["linear"])
    (chart,) = section.charts
    assert {row["law"] for row in curves(chart)} == {"linear"}
    assert "<svg" in to_svg(spec_with_data(chart))
    assert "linear law" in chart.caption
    golden(chart.headings.values())


def test_too_few_sizes_have_no_law(golden):
    section = law_plot(made(("Post-LN",), SIZES[:3]), **ASKED)
    golden(section.finding)
    assert to_svg(spec_with_data(section.charts[0]))


def test_a_seed_without_all_sizes_has_no_error(measured):
    sites = measured.tables["sites"].filter(~((pl.col("seed") == 2) & (pl.col("variant") == "Post-LN-8")))
    partial = Results(measured.runs, measured.axes, {"sites": sites})
    assert law_plot(partial, **ASKED, where={"method": "Post-LN"}).charts[0].points["n"].to_list() == [5, 5, 4, 5, 5, 5]


def test_nothing_measured_is_said(golden):
    empty = made(("Post-LN",))
    section = law_plot(Results(empty.runs, empty.axes, {"sites": empty.tables["sites"].clear()}), **ASKED)
    golden(section.finding)
