"""Numbers of spectra against the eigenvalues themselves: ends, moments, negative part, outliers, the GGN's share."""

import numpy as np
import polars as pl
import pytest

from lnlab.analyse.quantities.curvature import spectral_number
from lnlab.analyse.quantities.outliers import mark_outliers
from lnlab.errors import LabError
from lnlab.select.quantity import quantities
from lnlab.select.select import select_measured_rows
from lnlab.select.series import select_series
from lnlab.tables import Results
from tests.support.results import results_of

VALUES = {"hessian": [-3.0, -0.5, 0.0, 0.0, 0.25, 4.0], "ggn": [0.0, 0.0, 0.0, 0.0, 0.25, 3.0]}
VALUES["hessian_minus_ggn"] = [-3.0, -0.5, 0.0, 0.0, 0.0, 1.0]


def spectrum_rows(run, nodes, weights, draw=1, operator="hessian", **given):
    variant, _, seed = run.rpartition("-")
    size = len(nodes)
    return [
        {"run": run, "variant": variant, "seed": int(seed), "step": 0, "measurement": f"{run}-{operator}"}
        | {"operator": operator, "scope": "all", "part": None, "draw": draw, "node": node, "weight": weight}
        | {"residual": 1e-6, "size": size, "squared_norm": 9.0, "orthogonality_loss": 1e-14, **given}
        for node, weight in zip(nodes, weights, strict=True)
    ]


def exact(run, factor=1.0, **given):
    """Every eigenvalue of the three operators, all of one factor."""
    for operator, values in VALUES.items():
        yield from spectrum_rows(run, [factor * v for v in values], [1 / 6] * 6, operator=operator, **given)


def spectral_results(rows):
    """Runs of Post-LN and Pre-LN that differ in nothing else, as methods."""
    runs = {}
    for row in rows:
        place = row["variant"].partition("-")[0]
        setting = {stack: {"placement": {"kind": place}, "layers": 2} for stack in ("encoder", "decoder")}
        run = {"variant": row["variant"], "seed": row["seed"], "setting": setting, "axes": {"method": place}}
        runs.setdefault(row["run"], {**run, "run": row["run"], "spectra": []})["spectra"].append(row)
    return results_of(runs.values())


def value(results, name, **where):
    found = quantities[name].build(results).filter(**{"operator": "hessian", "run": "post-1", **where})
    assert found.height == 1
    return found["value"][0]


def outliers(results):
    return mark_outliers(results.tables["spectra"]).filter(pl.col("outlier") != 0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("largest_eigenvalue", 4.0), ("smallest_eigenvalue", -3.0), ("negative_curvature", 3.0),
        ("end_symmetry", 0.75), ("frobenius_norm", np.linalg.norm(VALUES["hessian"])),
        ("relative_sharpness", 36.0),
    ],
)  # fmt: skip
def test_numbers_are_those_of_the_eigenvalues(name, expected):
    assert value(spectral_results([*exact("post-1")]), name) == pytest.approx(expected, rel=1e-12)


def test_draws_are_one_quadrature_and_ends_those_of_all():
    """Two draws of one measure each: their mean, and the outermost of their nodes."""
    rows = spectrum_rows("post-1", [-1.0, 5.0], [0.9, 0.1], size=10)
    rows += spectrum_rows("post-1", [-2.0, 1.0], [0.25, 0.75], draw=2, size=10, residual=0.5)
    found = spectral_results(rows)
    squares = 10 * (0.9 + 2.5 + 1.0 + 0.75) / 2
    assert value(found, "frobenius_norm") == pytest.approx(squares**0.5)
    assert (value(found, "largest_eigenvalue"), value(found, "smallest_eigenvalue")) == (5.0, -2.0)
    each = spectral_number(found.tables["spectra"], "frobenius_norm", ("run", "draw"))
    assert each["value"].to_list() == pytest.approx([34.0**0.5, 17.5**0.5])


def test_ghosts_change_no_number_but_are_no_outliers():
    """A node split in two of half its weight; without a basis no node is counted."""
    plain = spectral_results(spectrum_rows("post-1", [-1.0, 0.0, 5.0], [0.2, 0.7, 0.1], size=50))
    ghost = spectrum_rows("post-1", [-1.0, 0.0, 5.0, 5.0], [0.2, 0.7, 0.05, 0.05], size=50, orthogonality_loss=None)
    split = spectral_results(ghost)
    for name in ("frobenius_norm", "largest_eigenvalue"):
        assert value(split, name) == pytest.approx(value(plain, name))
    assert mark_outliers(plain.tables["spectra"]).height == 3
    assert mark_outliers(split.tables["spectra"]).is_empty()


def test_eigenvalues_are_counted_by_weight_beyond_each_bound():
    found = spectral_results([*exact("post-1")])
    for bound in (0.01, 0.1, 1.0, 2.0, 5.0):
        here = float((np.abs(VALUES["hessian"]) > bound).sum())
        assert value(found, "eigenvalues_beyond", x=bound) == pytest.approx(here)
    rows = select_measured_rows(
        found, {"quantity": "eigenvalues_beyond", "operator": "hessian", "scope": "all", "x": 0.1}
    )
    assert rows.height == 1


def test_outliers_are_isolated_from_the_ends_inward():
    """Two above, one below; the isolated one amid the bulk is not counted."""
    nodes, residuals = [-8.0, -1.0, 0.0, 0.2, 6.0, 9.0], [0.1, 2.0, 0.01, 0.3, 0.2, 0.1]
    rows = spectrum_rows("post-1", nodes, [1 / 6] * 6, size=99)
    rows = [row | {"residual": residual} for row, residual in zip(rows, residuals, strict=True)]
    rows += spectrum_rows("post-1", [-8.0, 0.0, 5.0], [0.3, 0.3, 0.4], draw=2, size=99, residual=3.0)
    found = spectral_results(rows)
    assert outliers(found).select("node", "outlier").rows() == [(-8.0, -1), (6.0, 1), (9.0, 1)]
    assert outliers(spectral_results([*exact("post-1")])).is_empty()


def test_the_share_of_the_extra_is_over_pairs_of_one_seed():
    """Pre-LN with half of the GGN and a quarter of the Hessian: ``(3 - 1.5) / (4 - 1)``, and so for squares."""
    half = [row | ({"node": 0.5 * row["node"]} if row["operator"] == "ggn" else {}) for row in exact("pre-1")]
    rows = [row | ({"node": 0.25 * row["node"]} if row["operator"] == "hessian" else {}) for row in half]
    found = spectral_results([*exact("post-1"), *rows, *exact("post-2"), *exact("pre-2", 2.0)])
    assert value(found, "ggn_share_of_extra_sharpness") == pytest.approx(1.5 / 3)
    squares = [sum(v * v for v in VALUES[kind]) for kind in ("ggn", "hessian")]
    expected = squares[0] * (1 - 1 / 4) / (squares[1] * (1 - 1 / 16))
    assert value(found, "ggn_share_of_extra_frobenius") == pytest.approx(expected)
    assert np.isnan(value(found, "ggn_share_of_extra_sharpness", run="post-2"))
    made = select_series(found, {"quantity": "ggn_share_of_extra_sharpness", "scope": "all", "seed": 1})
    assert made.numbers["value"].to_list() == pytest.approx([0.5])


def test_rows_without_residuals_have_no_outliers_without_a_pair_no_share_and_spectra_stand_alone():
    assert quantities["ggn_share_of_extra_sharpness"].build(spectral_results([*exact("post-1")])).is_empty()
    rows = spectrum_rows("post-1", [-1.0, 5.0], [0.9, 0.1], size=10, residual=None, orthogonality_loss=None)
    assert outliers(spectral_results(rows)).is_empty()
    assert value(spectral_results(rows), "largest_eigenvalue") == 5.0
    whole = spectral_results(list(exact("post-1")))
    alone = Results(whole.runs, whole.axes, {"spectra": whole.tables["spectra"]})
    chosen = {"quantity": "largest_eigenvalue", "operator": "hessian"}
    assert select_measured_rows(alone, chosen)["value"].to_list() == [4.0]


def test_parts_of_the_batches_are_no_spectrum_of_their_own_and_two_probes_of_one_matrix_are_refused(golden):
    rows = [*exact("post-1"), *spectrum_rows("post-1", [-9.0, 9.0], [0.5, 0.5], part=1, measurement="other")]
    found = spectral_results(rows)
    assert value(found, "largest_eigenvalue") == 4.0
    rows = [*exact("post-1"), *spectrum_rows("post-1", [-9.0, 9.0], [0.5, 0.5], measurement="other")]
    with golden.raises(LabError):
        select_series(spectral_results(rows), {"quantity": "largest_eigenvalue", "operator": "hessian", "scope": "all"})


def test_of_a_budget_draws_tell_moments_and_draw_0_all_else():
    rows = []
    for seed, factor in (("1", 1.0), ("2", 2.0)):
        values = [factor * v for v in VALUES["hessian"]]
        rows += spectrum_rows(f"post-{seed}", values, [1 / 6] * 6, draw=0)
        # Two draws whose traces are 5 and 7 and whose squared norms are 24 and 26, as symmetric pairs of nodes.
        for draw, (t, f) in enumerate([(5.0, 24.0), (7.0, 26.0)], 1):
            radius = (f / 6) ** 0.5
            lean = t / (6 * radius)
            pair = spectrum_rows(f"post-{seed}", [-radius, radius], [(1 - lean) / 2, (1 + lean) / 2], draw=draw)
            rows += [{**row, "size": 6, "residual": None} for row in pair]
    results = spectral_results(rows)
    expected = {"frobenius_norm": [5.0, 5.0], "largest_eigenvalue": [4.0, 8.0], "smallest_eigenvalue": [-3.0, -6.0]}
    for name, values in expected.items():
        found = quantities[name].build(results).sort("seed")
        assert found["value"].to_list() == pytest.approx(values), name
    beyond = quantities["eigenvalues_beyond"].build(results).filter(pl.col("x") == 2).sort("seed")
    assert beyond["value"].to_list() == pytest.approx([2, 2])
