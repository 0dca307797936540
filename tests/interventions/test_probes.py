"""Probes see the function with its arrow cut: by hooks, on copies of the weights, on parts of a table, in float64."""

import pytest
import torch

from lnlab.nn.sites import separated
from lnlab.probes.probe import State, probes
from lnlab.randomness import Draw
from lnlab.tasks.random_tokens import RandomTokens

BRANCHES = {"tensor": "branch"}


@pytest.fixture
def state(model):
    def make(placement: str, **given) -> State:
        draw = Draw(1)
        return State(model(placement, **given).float(), RandomTokens(draw, 23, 2, 6, "uniform", None), draw, 0)

    return make


def values(state: State, kind: str, quantity: str, **given) -> dict[tuple, float]:
    rows = probes.builder(probes.resolve({"kind": kind, "batches": 1, **given}))(state)
    site = ("stack", "layer", "sublayer", "tensor", "index")
    return {tuple(row.get(key) for key in site): row["value"] for row in rows if row["quantity"] == quantity}


def test_without_branches_a_stack_is_the_identity_and_no_matrix_moves_the_output_also_on_copies(state, intervene):
    """``io_jacobian`` runs a copy of the weights by ``functional_call``, and differentiates many rows at once."""
    made = state("pre")
    with intervene("rescale", made.model, where=BRANCHES, factor=0):
        found = values(made, "io_jacobian", "jacobian_singular_value")
    layers = [value for site, value in found.items() if site[2] is None]
    assert len(layers) == 2 * 4 * 16
    assert layers == pytest.approx([1.0] * len(layers), abs=1e-12)
    # ``output_perturbation`` differentiates forward, on copies of the weights that it disturbs.
    made = state("pre")
    found = {}
    for factor in (1, 0):
        with intervene("rescale", made.model, where=BRANCHES, factor=factor):
            found[factor] = values(made, "output_perturbation", "output_change_random", tables=False)
    assert all(value > 0 for value in found[1].values())
    assert set(found[0].values()) == {0.0}


def test_forward_differentiation_sees_what_is_detached(state, intervene):
    """The output still changes, but to first order nothing is seen to change."""
    made = state("pre")
    with intervene("rescale", made.model, where=BRANCHES, factor=0, through="backward"):
        changes = values(made, "output_perturbation", "output_change_random", tables=False)
        errors = values(made, "output_perturbation", "first_order_error_random", tables=False)
    assert all(value > 0 for value in changes.values())
    assert list(errors.values()) == pytest.approx([1.0] * len(errors), abs=1e-9)


def test_parts_of_a_tied_table_are_told_apart_while_an_arrow_is_cut(state, intervene):
    """Where nothing goes back into the decoder, its embedding has no gradient, and the output's part is as before."""
    made = state("post", tied="target")
    before = values(made, "gradient_norm", "gradient_norm")
    cut = {"stack": "decoder", "layer": "last", "sublayer": "feed_forward", "tensor": "out"}
    with intervene("rescale", made.model, where=cut, factor=0, through="backward"):
        after = values(made, "gradient_norm", "gradient_norm")
    table = ("decoder", None, "embedding", "table", None), (None, None, "output", "table", None)
    assert before[table[0]] > 0
    assert after[table[0]] == 0
    assert after[table[1]] == pytest.approx(before[table[1]], rel=1e-6)
    assert after[table[1]] > 0
    assert {site: value for site, value in after.items() if value and site[0] is not None} == {}


def test_separated_leaves_are_intervened_on(state, intervene):
    made = state("post")
    (batch,) = made.batches(1)
    plain = made.task.loss(made.model, batch)[0]
    with intervene("rescale", made.model, where=BRANCHES, factor=3), separated(made.model):
        assert not torch.isclose(made.task.loss(made.model, batch)[0], plain)


@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_a_norm_is_measured_at_what_it_is_given(state, intervene, factor):
    """Of a rescaled sum the norm's 1/rms and gradient ratio are divided by the factor, and its output stays."""
    made = state("post")
    quantities = ("norm_inverse_rms", "norm_gradient_ratio")
    plain = [values(made, "norm_jacobian", quantity) for quantity in quantities]
    size = values(made, "hidden_norm", "hidden_norm")
    with intervene("rescale", made.model, where={"tensor": "sum"}, factor=factor):
        scaled = [values(made, "norm_jacobian", quantity) for quantity in quantities]
        sizes = values(made, "hidden_norm", "hidden_norm")
    for before, after in zip(plain, scaled, strict=True):
        assert after == pytest.approx({site: value / factor for site, value in before.items()}, rel=0.01)
    for site, value in sizes.items():
        assert value == pytest.approx(size[site] * (factor if site[3] == "sum" else 1), rel=0.01), site


def test_the_gradient_of_the_stream_is_cut_with_the_shrinkage(state, intervene):
    """Through a norm whose σ is 1 by force, the gradient keeps its size but for the two directions that it loses."""
    made = state("post")

    def ratios():
        found = values(made, "stream_gradient", "stream_gradient")
        return [found[(*site[:3], "sum", None)] / g for site, g in found.items() if site[3] == "out" and site[1]]

    shrunk = ratios()
    with intervene("equalize", made.model, where={"tensor": "sum"}, through="forward"):
        kept = ratios()
    assert max(shrunk) < 0.95
    assert all(0.8 < ratio <= 1.0 + 1e-6 for ratio in kept)
