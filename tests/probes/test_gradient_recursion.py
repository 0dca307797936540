"""The recursions hold in whole models to rounding, and what is printed otherwise does not."""

import pytest
import torch

from lnlab.errors import LabError
from lnlab.nn.sites import parameter_uses
from lnlab.probes.gradient_recursion import gradient_recursion


@pytest.mark.parametrize("placement", ["post", "pre"])
@pytest.mark.parametrize("norm", ["layer", "rms", "none"])
def test_the_recursion_is_the_gradient_to_rounding_at_every_layer(state, values, placement, norm):
    found = values(gradient_recursion(state(placement, layers=3, norm=norm), batches=2), "recursion_error")
    assert found.keys() == {(stack, n, None, "in") for stack in ("encoder", "decoder") for n in (1, 2, 3)}
    assert max(found.values()) < 1e-12


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_it_holds_where_scales_and_biases_are_not_those_of_the_init(state, values, placement):
    made = state(placement)
    with torch.no_grad():
        for site, p in parameter_uses(made.model):
            if site.tensor in ("scale", "shift", "b1", "b2", "bv"):
                p += torch.linspace(-0.5, 0.5, p.numel())
    assert max(values(gradient_recursion(made), "recursion_error").values()) < 1e-12


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_without_attention_it_is_not_the_gradient(state, values, placement):
    found = values(gradient_recursion(state(placement)), "recursion_error_without_attention")
    assert min(found.values()) > 0.1


def test_two_products_apart_are_the_gradient_without_a_norm_and_not_of_post_ln(state, values):
    rows = list(gradient_recursion(state("post")))
    assert min(values(rows, "recursion_error_separated").values()) > 0.05
    assert not values(gradient_recursion(state("pre")), "recursion_error_separated")
    # LN' = 1 commutes with everything.
    found = values(gradient_recursion(state("post", norm="none")), "recursion_error_separated")
    assert max(found.values()) < 1e-12
    rows = list(gradient_recursion(state("pre", cross_attention=False)))
    assert {row["stack"] for row in rows} == {"decoder"}


def test_other_placements_and_norms_of_many_tokens_are_the_users_mistake(state, golden):
    with golden.raises(LabError):
        list(gradient_recursion(state("rezero")))
    with golden.raises(LabError):
        list(gradient_recursion(state(norm="batch")))
