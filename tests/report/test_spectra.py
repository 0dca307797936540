"""Sections of spectra: one pair of axes for all arms, counts in powers of ten and from both ends."""

import math
from dataclasses import replace

import nbformat
import numpy as np
import polars as pl
import pytest
import torch

from lnlab.curvature.lanczos import lanczos
from lnlab.curvature.quadrature import gauss
from lnlab.errors import LabError
from lnlab.report.charts.axes import signed_logarithmic_axis
from lnlab.report.charts.render import to_svg
from lnlab.report.compose import ReportPart
from lnlab.report.page.figures import draw_parts, figure_files, spec_with_data
from lnlab.report.page.notebook import notebook_text
from lnlab.report.sections.spectra import cumulative_spectrum, spectral_density
from lnlab.tables import Results
from tests.support.results import results_of as made_by_hand
from tests.support.row_schemas import row_schema

SIZE = 1000
FACTORS = {"post": 3.0, "pre": 1.0}


def nodes_of(placement, seed, draw):
    """A bulk of weight .998 and an outlier at each end, of weight .001."""
    rng = np.random.default_rng([seed, draw])
    bulk = np.sort(rng.uniform(-0.2, 0.2, 6))
    nodes = FACTORS[placement] * np.concatenate([[-1.0 - 0.01 * seed], bulk, [2.0 + 0.02 * seed]])
    return nodes, np.array([0.001, *[0.998 / 6] * 6, 0.001]), np.array([1e-3, *[1.0] * 6, 1e-3])


def rows_of(placement, seed, operator="hessian", part=None, step=0, draws=(1, 2)):
    for draw in draws:
        for node, weight, residual in zip(*nodes_of(placement, seed + 10 * (part or 0), draw), strict=True):
            run, mark = f"{placement}-{seed}", f"{operator}-{part is None}-{step}"
            yield {"run": run, "variant": placement, "seed": seed, "step": step, "measurement": f"{run}-{mark}"} | {
                "operator": operator,
                "scope": "all",
                "part": part,
                "draw": draw,
                "node": node,
                "weight": weight,
                "residual": residual,
                "size": SIZE,
                "squared_norm": 1.0,
                "orthogonality_loss": 1e-15,
            }


def results_of(rows, seeds=(1, 2, 3)):
    runs = []
    for place in ("post", "pre"):
        stack = {"placement": {"kind": place}, "layers": 2}
        setting = {"encoder": stack, "decoder": stack}
        runs += [{"variant": place, "seed": seed, "setting": setting, "axes": {"placement": place}} for seed in seeds]
    made = made_by_hand(runs)
    spectra = pl.DataFrame(list(rows), schema=row_schema("spectra"))
    return replace(made, tables={**made.tables, "spectra": spectra})


@pytest.fixture(scope="module")
def spectra():
    parts = [row for p in FACTORS for s in (1, 2, 3) for part in (1, 2) for row in rows_of(p, s, part=part, draws=(1,))]
    return results_of([row for p in FACTORS for s in (1, 2, 3) for row in rows_of(p, s)] + parts)


def test_panels_share_axes_and_draws_of_a_seed_are_averaged(spectra, golden):
    section = spectral_density(spectra)
    (chart,) = section.charts
    across = [layer["encoding"].get(c, {}) for layer in chart.spec["spec"]["layer"] for c in "xy"]
    assert len([encoding for encoding in across if "scale" in encoding]) == 2, "one of x and one of y in all layers"
    assert set(chart.points["n"]) == {3}
    here = chart.seeds.filter(panel="Pre-LN", seed=1)
    u = np.sign(here["x"]) * np.log10(1 + np.abs(here["x"]) / chart.x.linear_within)
    assert np.trapezoid(here["value"], u) == pytest.approx(SIZE - 2, rel=1e-2), "of each draw all but its outliers"
    assert chart.points["marks"].sum() == 2 * 3 * 2 * 2  # arms, seeds, draws, ends
    golden([section.finding, chart.caption])
    assert "NaN" not in to_svg(spec_with_data(chart))


def test_both_tails_are_counted_by_weight(spectra, golden):
    section = cumulative_spectrum(spectra)
    (chart,) = section.charts
    here = chart.points.filter((pl.col("panel") == "positive, above x") & (pl.col("series") == "Pre-LN"))
    middle = here.filter((pl.col("x") > 0.3) & (pl.col("x") < 1.5))
    assert middle["estimate"].to_list() == pytest.approx([1.0] * len(middle))
    golden(section.finding)
    assert "NaN" not in to_svg(spec_with_data(chart))


def test_they_are_made_again_from_their_own_rows(spectra):
    for section in (spectral_density, cumulative_spectrum):
        made = section(spectra)
        again = section(Results(spectra.runs, spectra.axes, {**spectra.tables, **made.rows}))
        assert again.finding == made.finding
        assert [t.rows.rows() for t in again.tables] == [t.rows.rows() for t in made.tables]


def test_nothing_measured_is_a_sentence_and_two_spectra_of_one_step_are_refused(spectra, golden):
    for section in (spectral_density, cumulative_spectrum):
        golden(section(spectra, operator="ggn").finding)
    later = results_of([*rows_of("post", 1), *rows_of("post", 1, step=5)])
    twice = rows_of("post", 1)
    with pytest.raises(LabError, match="at one step"):
        spectral_density(results_of([*rows_of("post", 1), *(row | {"measurement": "other"} for row in twice)]))
    assert spectral_density(later, where={"step": 5}).charts
    golden(spectral_density(later, where={"step": 5}).charts[0].caption)


@pytest.mark.parametrize("section", [spectral_density, cumulative_spectrum])
@pytest.mark.parametrize("places", [("post",), ("post", "pre")])
def test_several_steps_of_a_run_are_drawn_each_as_if_it_were_alone(section, places):
    rows = [r for p in places for s in (1, 2, 3) for step in (0, 5) for r in rows_of(p, s, step=step)]
    later = [r | {"node": 0.5 * r["node"]} if r["step"] else r for r in rows]
    made = section(results_of(later), where={"placement": places[0]} if len(places) == 1 else None)
    moments = ("before training", "after 5 training steps")
    (chart,) = made.charts
    assert chart.points["series"].unique(maintain_order=True).to_list() == (
        list(moments) if len(places) == 1 else [f"{p} {m}" for p in ("Post-LN", "Pre-LN") for m in moments]
    )
    assert all(n == 3 for n in chart.points["n"])
    assert made.finding.count("training") >= 2
    assert "in before" not in made.finding
    assert "in after" not in made.finding
    assert "NaN" not in to_svg(spec_with_data(chart))


@pytest.mark.parametrize("section", [spectral_density, cumulative_spectrum])
def test_of_many_steps_the_ends_are_drawn_and_the_caption_says_so(section, golden):
    rows = [r for s in (1, 2) for step in (0, 1, 2, 3, 40) for r in rows_of("post", s, step=step)]
    made = section(results_of(rows), where={"placement": "post"})
    (chart,) = made.charts
    assert set(chart.points["series"]) == {"before training", "after 40 training steps"}
    golden(chart.caption)
    assert set(made.rows["spectra"]["step"]) == {0, 1, 2, 3, 40}


def test_a_cumulative_spectrum_shows_its_ends_alone():
    """Nearer to 0 one node stands for nearly all of a million eigenvalues."""
    nodes, weights = (-2.0, 1e-3, 0.2, 2.0), (1e-5, 0.99998, 5e-6, 5e-6)
    rows = [row | {"size": 1_000_000} for row in rows_of("post", 1, draws=(1,))][: len(nodes)]
    placed = [row | {"node": node, "weight": w} for row, node, w in zip(rows, nodes, weights, strict=True)]
    (chart,) = cumulative_spectrum(results_of(placed)).charts
    assert 0.2 <= chart.seeds["x"].min() < 0.21, "between this node and the last, half of a million are anywhere"
    positive, negative = (chart.seeds.filter(panel=panel).sort("x") for panel in chart.data.panels)
    # five lie at 0.2 and five at 2: half a step above each, straight between them on powers of ten from 1e-4 of 2 on
    steps = [math.log10(1 + at / 2e-4) for at in (0.2, positive["x"][0], 2.0)]
    assert positive["value"][0] == pytest.approx(7.5 - 5 * (steps[1] - steps[0]) / (steps[2] - steps[0]), rel=1e-9)
    assert set(negative.filter(pl.col("x") < 2)["value"].round(9)) == {10.0}, "the outlier is one step of all ten"


def test_a_caption_says_where_a_band_is_cut_and_only_there(golden):
    """Of one seed no eigenvalue lies as far out as those of the other."""
    placed = [
        row | {"size": 1_000_000, "node": node * far, "weight": weight}
        for seed, far in ((1, 1.0), (2, 0.5))
        for row, node, weight in zip(
            rows_of("post", seed, draws=(1,)), (-2.0, 1e-3, 0.2, 2.0), (1e-5, 0.99998, 5e-6, 5e-6), strict=False
        )
    ]
    (chart,) = cumulative_spectrum(results_of(placed)).charts
    beyond = chart.seeds.filter(pl.col("x") > 1.1, pl.col("x") < 1.9)
    assert beyond.filter(seed=2)["value"].max() == 0, "and the band goes down to nothing"
    golden(chart.caption)
    (alone,) = cumulative_spectrum(results_of([row for row in placed if row["seed"] == 1])).charts
    assert "cut" not in alone.caption


def budget_rows(placement, seed, outliers=((-1.0, 1e-4), (2.0, 1e-4)), bulk=12):
    """Two outliers of weight 1/n that have converged, a bulk over four decades of either sign, and two draws."""
    rng = np.random.default_rng([7, seed])
    sizes = np.sort(10 ** rng.uniform(-5, -1, bulk)) * np.tile([1, -1], bulk)[:bulk]
    nodes = [(node * (1 + 0.01 * seed), 1 / SIZE, r) for node, r in outliers]
    nodes += [(node, (SIZE - len(outliers)) / SIZE / bulk, 1.0) for node in sizes]
    (template,) = list(rows_of(placement, seed, draws=(1,)))[:1]
    for draw, measure in ((0, sorted(nodes)), (1, [(-0.1, 0.5, None), (0.1, 0.5, None)])):
        for node, weight, residual in measure:
            node = FACTORS[placement] * node
            yield template | {"draw": draw, "node": node, "weight": weight, "residual": residual}


@pytest.fixture(scope="module")
def budgets():
    return results_of([row for p in FACTORS for s in (1, 2, 3) for row in budget_rows(p, s)])


def test_a_budget_is_drawn_as_sticks_and_a_bulk_between_its_stairs(budgets, golden):
    (chart,) = spectral_density(budgets).charts
    for place, factor in (("Post-LN", 3.0), ("Pre-LN", 1.0)):
        here = chart.points.filter(pl.col("panel") == place)
        sticks = here.filter(pl.col("marks") > 0)["x"].to_list()
        wanted = [factor * end * (1 + 0.01 * s) for end in (-1.0, 2.0) for s in (1, 2, 3)]
        assert sorted(sticks) == pytest.approx(sorted(wanted))
        drawn = here.filter(pl.col("estimate").is_not_null())
        assert (drawn["low"] <= drawn["estimate"]).all()
        assert (drawn["estimate"] <= drawn["high"]).all()
        assert drawn["x"].abs().max() < factor * 0.9, "outliers are no part of the bulk"
        # windows of one power of ten count every eigenvalue as often as there are places in one
        u = np.sign(here["x"]) * np.log10(1 + np.abs(here["x"]) / chart.x.linear_within)
        values = chart.seeds.filter(pl.col("panel") == place, pl.col("seed") == 1)["value"].to_numpy()
        assert np.trapezoid(values, u) == pytest.approx(SIZE - 2, rel=1e-2)
    golden(chart.caption)
    svg = to_svg(spec_with_data(chart))
    assert "NaN" not in svg
    assert svg.count('stroke-width="1.2"') >= 12, "a stick for each outlier of each seed"


@pytest.mark.parametrize("outliers", [(), ((-1.0, 0.9), (2.0, 0.9))], ids=["none", "not converged"])
def test_a_budget_without_a_known_outlier_has_no_stick_and_says_so(outliers, golden):
    rows = [row for s in (1, 2) for row in budget_rows("post", s, outliers)]
    (chart,) = spectral_density(results_of(rows), where={"placement": "post"}).charts
    assert chart.points["marks"].sum() == 0
    golden(chart.caption)


def test_a_matrix_of_zeros_by_budget_is_drawn():
    rows = [row | {"node": 0.0, "residual": 0.0} for row in budget_rows("post", 1)]
    assert spectral_density(results_of(rows), where={"placement": "post"}).charts


def test_an_axis_of_both_signs_is_ticked_in_powers_of_ten():
    axis = signed_logarithmic_axis("x", [-12.0, 30.0], 1e-5)
    assert list(axis.ticks) == [-10, -0.1, -0.001, 0, 0.001, 0.1, 10]
    assert axis.axis["format"] == ",.3~f"
    positive = signed_logarithmic_axis("x", [0.0, 200.0], 1e-3)
    assert min(positive.ticks) == 0
    assert max(positive.ticks) == 100
    with pytest.raises(ValueError, match="needs values"):
        signed_logarithmic_axis("x", [], 1e-5)


def test_the_bulk_of_a_cumulative_spectrum_is_read_through_midpoints():
    """Of a known matrix, from a start that sees each of its eigenvalues alike: closer than the steps of the same."""
    values = np.concatenate([[-9.0, 12.0], np.geomspace(1e-2, 5, 498) * np.tile([1, -1], 249)])
    (run,) = lanczos(lambda block: block * torch.tensor(values), torch.ones(1, 500), 30)
    found = gauss(run)
    template = next(iter(rows_of("post", 1, draws=(1,)))) | {"size": 500}
    columns = zip(*(part.tolist() for part in (found.nodes, found.weights, found.residuals)), strict=True)
    rows = [template | {"node": node, "weight": w, "residual": r} for node, w, r in columns]
    (chart,) = cumulative_spectrum(results_of(rows), where={"placement": "post"}).charts
    errors = {"midpoints": [], "steps": []}
    for sign, panel in ((1, "positive, above x"), (-1, "negative, below −x")):
        curve = chart.seeds.filter(pl.col("panel") == panel, pl.col("x") < 4)
        truth = (sign * values[None] > curve["x"].to_numpy()[:, None]).sum(1)
        steps = 500 * ((sign * found.nodes.numpy())[None] > curve["x"].to_numpy()[:, None]) @ found.weights.numpy()
        errors["midpoints"] += np.abs(curve["value"] - truth).to_list()
        errors["steps"] += np.abs(steps - truth).tolist()
    assert np.mean(errors["midpoints"]) < 0.6 * np.mean(errors["steps"])


@pytest.mark.parametrize(("section", "runs"), [(cumulative_spectrum, "spectra"), (spectral_density, "budgets")])
def test_a_notebook_computes_what_the_caption_names(section, runs, request, facts, tmp_path, monkeypatch):
    made = section(request.getfixturevalue(runs))
    (chart,) = made.charts
    (shown,) = draw_parts([ReportPart(1, "", (), made)])
    cells = nbformat.reads(notebook_text(facts, [], [shown]), as_version=4).cells
    opening, figure = [cell.source for cell in cells if cell.cell_type == "code"][:2]
    (tmp_path / "figures").mkdir()
    (tmp_path / "tables").mkdir()
    for name, content in figure_files(shown.figures[0]).items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(opening, names)
    exec(figure, names)
    points, exact = names["points"], [c for c in chart.points.columns if chart.points.schema[c] != pl.Float64]
    assert points.select(exact).equals(chart.points.select(exact))
    for column in ("x", "estimate", "low", "high"):
        assert points[column].null_count() == chart.points[column].null_count()
        np.testing.assert_allclose(points[column].drop_nulls(), chart.points[column].drop_nulls(), rtol=1e-5)
