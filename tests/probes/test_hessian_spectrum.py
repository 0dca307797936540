"""The probe of spectra against the operators themselves: scopes, draws, the exact case, Adam's coordinates."""

import pytest
import torch

from lnlab.catalogue import REGISTRIES
from lnlab.curvature.dense import dense
from lnlab.curvature.hessian import hessian
from lnlab.errors import LabError
from lnlab.nn.sites import parameter_uses
from lnlab.probes.hessian_spectrum import hessian_spectrum
from lnlab.probes.support.scopes import parameters_of
from lnlab.tables import frame


def quadratures(rows):
    """By draw, as nodes and weights."""
    found = frame("spectra", rows)
    return {
        draw: (torch.tensor(part["node"].to_list()), torch.tensor(part["weight"].to_list()))
        for (draw,), part in found.group_by("draw", maintain_order=True)
    }


def test_a_small_scope_has_all_its_eigenvalues(state):
    made = state("post", layers=1, width=4, d_ff=4)
    rows = list(hessian_spectrum(made, scope="attention_qk", batches=2, precision="float64"))
    made.model.double()
    operator = hessian(made.model, made.task.loss, made.batches(2), parameters_of(made.model, "attention_qk"))
    expected = torch.linalg.eigvalsh(dense(operator.matvec, operator.size))
    nodes, weights = quadratures(rows)[1]
    torch.testing.assert_close(nodes.double(), expected, rtol=1e-5, atol=1e-7)
    assert weights.tolist() == pytest.approx([1 / operator.size] * operator.size)
    assert {(row["operator"], row["scope"]) for row in rows} == {("hessian", "attention_qk")}


@pytest.mark.parametrize("lanczos", ["full", "papyan"])
def test_every_draw_is_a_measure_of_its_own_and_repeats(state, lanczos):
    made = state("pre")
    options = {"draws": 2, "steps": 6, "batches": 1, "lanczos": lanczos}
    found = quadratures(list(hessian_spectrum(made, **options)))
    assert list(found) == [1, 2]
    for nodes, weights in found.values():
        assert len(nodes) == 6
        assert weights.sum().item() == pytest.approx(1, abs=1e-6)
    assert not torch.equal(found[1][0], found[2][0])
    again = quadratures(list(hessian_spectrum(made, **options, keep=False)))
    assert all(torch.equal(a, b) for draw in found for a, b in zip(again[draw], found[draw], strict=True))


def test_scopes_share_the_parameters_among_them(state):
    model = state("pre", tied="none").model
    sets = {s: {id(p) for p in parameters_of(model, s)} for s in ("embeddings", "attention", "feed_forward", "norms")}
    assert sum(map(len, sets.values())) == len(set.union(*sets.values())) == len(list(model.parameters()))
    qk, vo = ({id(p) for p in parameters_of(model, s)} for s in ("attention_qk", "attention_vo"))
    assert qk | vo == sets["attention"]
    assert {s.tensor for s, p in parameter_uses(model) if id(p) in qk} == {"q", "k", "bq", "bk"}
    rest = {id(p) for p in parameters_of(model, "without_embeddings")}
    assert rest == {id(p) for p in model.parameters()} - sets["embeddings"]


def test_what_has_no_spectrum_is_refused_in_a_line(state, golden, trained):
    made = state("post")
    with torch.no_grad():
        made.model.output.table.fill_(torch.nan)
    with golden.raises(LabError):
        list(hessian_spectrum(made, scope="norms", batches=1))
    with golden.raises(LabError):
        list(hessian_spectrum(state("pre", norm="none"), scope="norms"))
    rows = list(hessian_spectrum(trained(state("post")), operator="preconditioned_ggn", scope="norms", batches=1))
    nodes, _ = quadratures(rows)[1]
    assert nodes.min() > -1e-3 * nodes.max()
    with golden.raises(LabError):
        list(hessian_spectrum(state("post"), operator="preconditioned_hessian", scope="norms", batches=1))
    with pytest.raises(LabError, match=r"3 parts of 2 batches.*set batches: 3"):
        list(hessian_spectrum(state("pre"), batches=2, parts=3))


def test_an_eigenvalue_lies_within_the_residual_of_every_node(state):
    """At both ends too, and for a run that is far from converged."""
    made = state("post", layers=1, width=4, d_ff=4)
    made.model.double()
    operator = hessian(made.model, made.task.loss, made.batches(2), parameters_of(made.model, "all"))
    exact = torch.linalg.eigvalsh(dense(operator.matvec, operator.size))
    rows = list(hessian_spectrum(made, batches=2, draws=1, steps=6, lanczos="papyan"))
    assert len(rows) == 6
    assert {row["size"] for row in rows} == {operator.size}
    assert {row["orthogonality_loss"] for row in rows} == {None}
    away = [float((exact - row["node"]).abs().min()) for row in rows]
    assert all(a <= row["residual"] + 1e-9 for a, row in zip(away, rows, strict=True))
    assert rows[-1]["residual"] > 0


def test_the_rest_of_the_hessian_is_the_hessian_without_the_ggn(state):
    """Their traces differ by its trace, and not by nothing."""
    made = state("post", layers=1, width=4, d_ff=4)
    options = {"scope": "feed_forward", "batches": 2, "precision": "float64"}
    kinds = ("hessian", "ggn", "hessian_minus_ggn")
    traces = {kind: sum(row["node"] for row in hessian_spectrum(made, operator=kind, **options)) for kind in kinds}
    assert traces["hessian_minus_ggn"] == pytest.approx(traces["hessian"] - traces["ggn"], abs=1e-9)
    assert abs(traces["hessian_minus_ggn"]) > 1e-6


def test_a_kept_basis_says_how_orthogonal_it_is_and_an_error_that_is_asked_for_ends_the_draws(state):
    rows = list(hessian_spectrum(state("pre"), draws=1, steps=4, batches=1))
    assert all(0 < row["orthogonality_loss"] < 1e-12 for row in rows)
    made = state("post", layers=1, width=4, d_ff=4)
    few, many = (len(list(hessian_spectrum(made, batches=1, relative_error=error, most=240))) for error in (0.5, 0.01))
    assert few < many


def test_parts_of_the_batches_have_spectra_of_their_own(state):
    """Each that of its own batches; weighted by tokens their traces make that of all."""
    made = state("post", layers=1, width=4, d_ff=4)
    options = {"scope": "attention_qk", "batches": 4, "precision": "float64"}
    whole, dealt = (list(hessian_spectrum(made, **options, **given)) for given in ({}, {"parts": 2}))
    assert {row["part"] for row in whole} == {None}
    assert {row["part"] for row in dealt} == {1, 2}
    batches = made.batches(4)
    tokens = {part: sum(b.tokens for b in batches[part - 1 :: 2]) for part in (1, 2)}
    traces = {part: sum(row["node"] for row in dealt if row["part"] == part) for part in (1, 2)}
    mean = sum(tokens[part] * traces[part] for part in (1, 2)) / sum(tokens.values())
    assert mean == pytest.approx(sum(row["node"] for row in whole), rel=1e-9)
    assert traces[1] != pytest.approx(traces[2], rel=1e-3)
    parameters_ = parameters_of(made.model, "attention_qk")
    expected = sum(float(p.detach().double().square().sum()) for p in parameters_)
    assert all(row["squared_norm"] == pytest.approx(expected) for row in dealt)


def test_a_budget_tells_trace_norm_ends_and_density_of_the_whole_matrix(state):
    made = state("post", layers=1, width=4, d_ff=4)
    made.model.double()
    operator = hessian(made.model, made.task.loss, made.batches(2), parameters_of(made.model, "all"))
    exact = torch.linalg.eigvalsh(dense(operator.matvec, operator.size))
    found = frame("spectra", list(hessian_spectrum(made, batches=2, precision="float64", products=90)))
    draws = found.filter(found["draw"] > 0)
    moments = {
        power: operator.size * (draws["weight"] * draws["node"] ** power).sum() / draws["draw"].n_unique()
        for power in (1, 2)
    }
    # 30 of some 400 dimensions are left out of the variance: both are within a few per cent.
    assert moments[1] == pytest.approx(float(exact.sum()), abs=0.1 * float(exact.norm()))
    assert moments[2] == pytest.approx(float(exact.square().sum()), rel=0.02)
    density = found.filter(found["draw"] == 0).sort("node")
    assert density["weight"].sum() == pytest.approx(1)
    ends = torch.tensor([density["node"][0], density["node"][-1]], dtype=torch.float64)
    torch.testing.assert_close(ends, exact[[0, -1]], rtol=1e-6, atol=0)
    assert found.filter(found["draw"] > 0)["residual"].null_count() == 2 * 30


@pytest.mark.parametrize("other", [{"lanczos": "papyan"}, {"tolerance": 0.1}, {"relative_error": 0.1}])
def test_two_ways_to_spend_products_are_refused(state, other):
    with pytest.raises(LabError, match="exclude each other"):
        list(hessian_spectrum(state("post"), products=30, **other))


def test_a_parameter_that_came_later_moves_no_key():
    registry = REGISTRIES["probe"]
    choice = registry.resolve("hessian_spectrum")
    before = {name: value for name, value in choice.items() if name not in ("products", "relative_error", "most")}
    assert registry.key(before) == registry.key(choice)
    assert registry.key(registry.resolve({"kind": "hessian_spectrum", "products": 30})) != registry.key(choice)
    registry.builder(before)
