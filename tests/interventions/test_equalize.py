"""σ held constant: before a layer norm no value moves, and what cuts the shrinkage is the gradient's factor."""

import pytest
import torch

from lnlab.nn.sites import Site

SUM = Site("encoder", 1, "feed_forward", "sum")
WHERE = {"stack": "encoder", "layer": 1, "sublayer": "feed_forward", "tensor": "sum"}


def sigma(x):
    return x.std(-1, correction=0, keepdim=True)


@pytest.mark.parametrize("through", ["both", "forward"])
def test_before_a_layer_norm_every_value_stays(model, intervene, batch, through):
    """But for the norm's epsilon, 1e-5 of a variance of about 1.4."""
    made = model("post")
    before = made(batch)
    with intervene("equalize", made, where={"tensor": "sum"}, through=through):
        torch.testing.assert_close(made(batch), before, rtol=1e-4, atol=1e-4)


def test_through_both_the_gradient_stays_and_a_token_whose_coordinates_are_alike(model, intervene, batch, gradients):
    made = model("post")
    before = gradients(made, made(batch))
    with intervene("equalize", made, where={"tensor": "sum"}):
        after = gradients(made, made(batch))
    for site, gradient in before.items():
        torch.testing.assert_close(after[site], gradient, rtol=1e-3, atol=1e-6)
    made = model("post")
    with intervene("rescale", made, where=WHERE, factor=0), intervene("equalize", made, where=WHERE):
        assert made(batch).isfinite().all()


def test_through_forward_the_jacobian_of_sum_and_norm_is_the_projection_without_1_over_sigma(model, intervene):
    """``I - 1 1ᵀ/d - n nᵀ/d`` with n the normed token, where the norm alone has 1/σ times that."""
    made = model("post")
    norm, x = made.encoder.layers[0].placement.norms[1], torch.randn(16, dtype=torch.float64) * 3 + 1

    def normed(x):
        return norm(x[None, None])[0, 0]

    n = normed(x).detach()
    projection = torch.eye(16, dtype=torch.float64) - 1 / 16 - torch.outer(n, n) / 16
    torch.testing.assert_close(torch.autograd.functional.jacobian(normed, x), projection / sigma(x), rtol=0, atol=1e-4)
    with intervene("equalize", made, where=WHERE, through="forward"):
        torch.testing.assert_close(torch.autograd.functional.jacobian(normed, x), projection, rtol=0, atol=1e-4)


def test_a_branch_has_unit_variance_and_sigma_is_a_constant(model, by_hand, intervene, batch, gradients):
    made = model("pre")
    site = Site("decoder", 2, "feed_forward", "branch")
    plain = by_hand(made, "pre")
    plain(batch)
    constant = sigma(plain.seen[site])
    formula = by_hand(made, "pre", {site: lambda x: x / constant})(batch)
    with intervene(
        "equalize", made, where={"stack": "decoder", "layer": "last", "sublayer": "feed_forward", "tensor": "branch"}
    ):
        torch.testing.assert_close(made(batch), formula, rtol=1e-10, atol=1e-12)
        found = gradients(made, made(batch))
    for s, gradient in gradients(made, formula).items():
        torch.testing.assert_close(found[s], gradient, rtol=1e-9, atol=1e-12)
