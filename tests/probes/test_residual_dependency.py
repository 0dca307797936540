"""Dependencies against unrolling by hand, the stream itself, and the closed laws of Post-LN and Pre-LN."""

import pytest
import torch
from torch import nn

from lnlab.errors import LabError
from lnlab.nn.placements import LayerSpec
from lnlab.nn.sites import Site, activations, parameter_uses
from lnlab.probes.residual_dependency import normed_parts, parts_of_stream, residual_dependency
from lnlab.probes.support.token_masks import token_masks

SUBLAYERS = {
    "encoder": ("self_attention", "feed_forward"),
    "decoder": ("self_attention", "cross_attention", "feed_forward"),
}


def disturbed(made):
    """Scales, shifts and biases away from 1 and 0, in float64."""
    made.model.double()
    with torch.no_grad():
        for _, p in parameter_uses(made.model):
            p += 0.1 * torch.linspace(-1, 1, p.numel(), dtype=torch.float64).reshape(p.shape)
    return made


def seen_in(made, stack):
    """The activations of a stack, tokens alone."""
    (batch,) = made.batches(1)
    with activations(made.model) as seen, torch.no_grad():
        made.model(batch)
    return {site: x[token_masks(batch)[stack]] for site, x in seen.items() if site.stack == stack}


class Gated(nn.Module):
    """``norm(omega x + outer(alpha f(x)))``, and the layer's input once more at its top: all a placement may do."""

    final_norm = False

    def __init__(self, at):
        super().__init__()
        self.norms = nn.ModuleList(at.norm() for _ in range(at.sublayers))
        self.outer = nn.ModuleList(at.norm() for _ in range(at.sublayers))
        self.omega = nn.ParameterList(torch.linspace(0.5, 2, at.width) for _ in range(at.sublayers))
        self.alpha = nn.Parameter(torch.tensor(0.7))

    def forward(self, x, *sublayers):
        bottom = x
        for f, norm, outer, omega in zip(sublayers, self.norms, self.outer, self.omega, strict=True):
            x = norm(omega * x + self.alpha * outer(f(x)))
        return bottom + x


def regated(made):
    """The same model with the placement above; the norm of the stack follows each sublayer."""
    for stack, names in SUBLAYERS.items():
        for number, layer in enumerate(getattr(made.model, stack).layers, 1):
            layer.placement = Gated(LayerSpec(stack, number, 2, 2, len(names), 16, lambda: nn.LayerNorm(16)))
    return made


@pytest.mark.parametrize("norm", ["layer", "rms", "none"])
@pytest.mark.parametrize("placement", ["post", "pre", "gated", "fixup"])
@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_parts_add_up_to_the_stream_after_every_sublayer(state, stack, placement, norm):
    """With trained scales, shifts and biases; float64."""
    made = state("post" if placement == "gated" else placement, norm=norm)
    made = disturbed(regated(made) if placement == "gated" else made)
    seen = seen_in(made, stack)
    with torch.no_grad():
        found = dict(parts_of_stream(stack, getattr(made.model, stack), seen))
    assert [(site.layer, site.sublayer) for site in found] == [(n, s) for n in (1, 2) for s in SUBLAYERS[stack]]
    for site, parts in found.items():
        torch.testing.assert_close(parts.sum(0), seen[site], rtol=1e-9, atol=1e-9)


def test_post_ln_is_unrolled_by_hand(state, values):
    """Every part times scale/σ of the whole, without its mean, at each norm: a loop over tokens and parts."""
    made = disturbed(state("post"))
    rows = list(residual_dependency(made, batches=1))
    seen = seen_in(made, "encoder")
    parts = [seen[Site("encoder", None, "embedding", "out")]]
    for n, layer in enumerate(made.model.encoder.layers, 1):
        for sublayer, norm in zip(SUBLAYERS["encoder"], layer.placement.norms, strict=True):
            parts.append(seen[Site("encoder", n, sublayer, "branch")])
            whole = seen[Site("encoder", n, sublayer, "sum")]
            sigma = (whole.var(-1, correction=0, keepdim=True) + norm.eps).sqrt()
            parts = [(p - p.mean(-1, keepdim=True)) / sigma * norm.weight for p in parts]
            row = torch.stack([sum(token.std(correction=0) for token in p) for p in parts])
            beta = [
                r["value"]
                for r in rows
                if r["quantity"] == "residual_dependency" and (r["layer"], r["sublayer"]) == (n, sublayer)
                if r["stack"] == "encoder"
            ]
            assert beta == pytest.approx((row / row.norm()).tolist(), rel=1e-6)
            assert values(rows, "own_dependency")["encoder", n, sublayer, "out"] == pytest.approx(beta[-1])


def test_rows_have_unit_length_and_own_dependencies_are_their_ends(state):
    rows = list(residual_dependency(state("pre"), batches=2))
    for stack, sublayers in SUBLAYERS.items():
        for i, (n, s) in enumerate([(n, s) for n in (1, 2) for s in sublayers], 1):
            here = [r for r in rows if (r["stack"], r["layer"], r["sublayer"]) == (stack, n, s)]
            beta = {r["index"]: r["value"] for r in here if r["quantity"] == "residual_dependency"}
            assert list(beta) == list(range(i + 1))
            assert sum(b**2 for b in beta.values()) == pytest.approx(1)
            own = {r["quantity"]: r["value"] for r in here if "index" not in r}
            assert own == pytest.approx({"own_dependency": beta[i], "own_dependency_inverse_sq": beta[i] ** -2})


def test_a_branch_of_zeros_has_no_inverse_and_without_the_matrix_the_other_rows_are_the_same(state, values):
    made = state("pre")
    with torch.no_grad():
        made.model.encoder.layers[0].feed_forward.w2.weight.zero_()
    rows = list(residual_dependency(made))
    site = ("encoder", 1, "feed_forward", "out")
    assert values(rows, "own_dependency")[site] == 0
    assert site not in values(rows, "own_dependency_inverse_sq")
    every = list(residual_dependency(state("pre")))
    fewer = list(residual_dependency(state("pre"), matrix=False))
    assert fewer == [row for row in every if row["quantity"] != "residual_dependency"]


def test_a_norm_that_is_not_linear_in_its_parts_is_the_users_mistake(golden):
    with golden.raises(LabError):
        normed_parts(nn.Tanh(), torch.ones(2, 3))
