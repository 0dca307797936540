"""Addresses of weights and activations, and that looking leaves no trace."""

from itertools import product

import pytest
import torch
from torch import nn

from lnlab.errors import LabError
from lnlab.nn.attention import SoftmaxAttention, attentions
from lnlab.nn.norms import norms
from lnlab.nn.parts import Parts
from lnlab.nn.placements import placements
from lnlab.nn.sites import Site, activations, parameter_uses, separated, values_by_site, weights
from lnlab.nn.transformer import ModelShape, Stack

SUBLAYERS = {
    "encoder": ("self_attention", "feed_forward"),
    "decoder": ("self_attention", "cross_attention", "feed_forward"),
}
MATRICES = {"self_attention": "q k v o", "cross_attention": "q k v o", "feed_forward": "w1 w2"}


def tensors(pairs, **where) -> str:
    """The tensors of the sites that agree, in order."""
    return " ".join(s.tensor for s, _ in pairs if all(getattr(s, key) == value for key, value in where.items()))


def test_weights_vectors_and_norms_of_a_small_model_are_all_there_in_order_and_layers_count_from_one(setting, build):
    expected = []
    for stack, sublayers in SUBLAYERS.items():
        expected.append(Site(stack, None, "embedding", "table"))
        expected += [Site(stack, 1, sublayer, t) for sublayer in sublayers for t in MATRICES[sublayer].split()]
    expected.append(Site(None, None, "output", "table"))
    assert [site for site, _ in weights(build(setting(layers=1)))] == expected
    pairs = weights(build(setting(layers=3)))
    assert {site.layer for site, _ in pairs if site.stack == "decoder"} == {None, 1, 2, 3}
    pairs = parameter_uses(build(setting("pre", layers=1)))
    assert tensors(pairs, stack="decoder", sublayer="cross_attention") == "q bq k bk v bv o bo scale shift"
    assert tensors(pairs, stack="encoder", sublayer="feed_forward") == "w1 b1 w2 b2 scale shift"
    assert tensors(pairs, stack="encoder", sublayer="final_norm") == "scale shift"
    assert len(pairs) == len({site for site, _ in pairs})
    model = build(setting(layers=1))
    beside = {s.sublayer: p for s, p in parameter_uses(model) if s.stack == "decoder" and s.tensor == "scale"}
    for sublayer, norm in zip(SUBLAYERS["decoder"], model.decoder.layers[0].placement.norms, strict=True):
        assert beside[sublayer] is norm.weight


def test_parameters_of_a_placement_and_norms_of_queries_have_addresses(setting, build):
    model = build(setting(layers=1))
    placement = model.encoder.layers[0].placement
    placement.alpha = nn.Parameter(torch.zeros(()))
    placement.omega = nn.ParameterList([nn.Parameter(torch.ones(4)), nn.Parameter(torch.ones(4))])
    found = {site for site, _ in parameter_uses(model)}
    assert {Site("encoder", 1, None, "alpha"), Site("encoder", 1, "feed_forward", "omega")} < found
    pairs = parameter_uses(build(setting(layers=1, attention="qk_layer_norm")))
    found = tensors(pairs, stack="encoder", sublayer="self_attention").split()
    assert found[8:12] == ["scale_q", "shift_q", "scale_k", "shift_k"]


NORMS, PLACEMENTS, ATTENTIONS = ([entry.name for entry in registry] for registry in (norms, placements, attentions))


@pytest.mark.parametrize(
    ("placement", "norm", "attention"),
    [
        pytest.param(*pieces, marks=() if number % 6 == 0 else pytest.mark.nightly)
        for number, pieces in enumerate(
            dict.fromkeys(
                [
                    *product(PLACEMENTS, NORMS, ["softmax"]),
                    *product(PLACEMENTS, ["layer"], ATTENTIONS),
                    *product(["pre"], NORMS, ATTENTIONS),
                ]
            )
        )
    ],
)
def test_no_two_parameters_share_an_address(setting, build, placement, norm, attention):
    """Two parameters are of two pieces at most, so that every pair of pieces is enough."""
    with torch.device("meta"):
        pairs = parameter_uses(build(setting(placement, norm=norm, attention=attention)))
    assert len(pairs) == len({site for site, _ in pairs})


@pytest.mark.parametrize("placement", ["sandwich", "layerscale", "admin", "deepnorm", "b2t", "mix", "rezero", "plain"])
def test_the_stream_is_followed_through_every_placement(setting, build, batch, placement):
    """What a layer gives on is the placement of its branches, by address, on what the layer before gave."""
    model = build(setting(placement)).double()
    with torch.no_grad():
        for p in model.parameters():
            p += 0.1 * torch.linspace(-1, 1, p.numel(), dtype=torch.float64).reshape(p.shape)
        with activations(model) as seen:
            model(batch)
    for stack, sublayers in SUBLAYERS.items():
        x = seen[Site(stack, None, "embedding", "out")]
        for number, layer in enumerate(getattr(model, stack).layers, 1):
            branches = [seen[Site(stack, number, name, "branch")] for name in sublayers]
            x = layer.placement(x, *(lambda _, branch=branch: branch for branch in branches))
            torch.testing.assert_close(seen[Site(stack, number, sublayers[-1], "out")], x)


def test_a_parameter_outside_every_site_is_an_error(golden):
    with golden.raises(LabError):
        parameter_uses(nn.Linear(2, 2))


@pytest.mark.parametrize(
    ("tied", "shared"), [("none", []), ("target", ["decoder", None]), ("all", ["encoder", "decoder", None])]
)
def test_each_use_of_a_tied_table_has_a_site(setting, build, tied, shared):
    model = build(setting(tied=tied))
    uses = {site.stack: p for site, p in weights(model) if site.tensor == "table"}
    assert [stack for stack, p in uses.items() if sum(p is q for q in uses.values()) > 1] == shared
    with separated(model) as leaves:
        assert len({id(p) for _, p in leaves}) == len(leaves)
        assert [p.data_ptr() for _, p in leaves] == [p.data_ptr() for _, p in parameter_uses(model)]


def test_what_is_known_by_name_is_placed_at_every_use_and_nothing_else_is(setting, build):
    model = build(setting(tied="all"))
    table = next(name for name, p in model.named_parameters() if p is model.output.table)
    found = values_by_site(model, {"encoder.layers.1.feed_forward.w2.bias": "b", table: "t", "nobody": "x"})
    tables = [Site(stack, None, word, "table") for stack, word in (("encoder", "embedding"), ("decoder", "embedding"))]
    bias = Site("encoder", 2, "feed_forward", "b2")
    assert dict(found) == dict.fromkeys([*tables, Site(None, None, "output", "table")], "t") | {bias: "b"}
    assert len(found) == 4


def test_separated_restores_the_model_after_an_error(setting, build):
    model = build(setting(tied="all"))
    before = [id(p) for _, p in parameter_uses(model)]

    def fail_inside():
        with separated(model):
            assert not set(before) & {id(p) for p in model.parameters()}
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail_inside()
    assert [id(p) for _, p in parameter_uses(model)] == before


@pytest.mark.parametrize("placement", ["post", "pre"])
@pytest.mark.parametrize("norm", [{"kind": "layer", "eps": 1e-5}, {"kind": "none"}], ids=["layer", "none"])
def test_activations_follow_the_formula(setting, build, batch, placement, norm):
    model = build(setting(placement, norm=norm)).double()
    with activations(model) as seen, torch.no_grad():
        model(batch)
    for stack, sublayers in SUBLAYERS.items():
        x = seen[Site(stack, None, "embedding", "out")]
        for number, layer in enumerate(getattr(model, stack).layers, 1):
            for name, n in zip(sublayers, layer.placement.norms, strict=True):
                given, branch, total, out = (seen[Site(stack, number, name, t)] for t in ("in", "branch", "sum", "out"))
                assert torch.equal(given, x if placement == "post" else n(x))
                assert torch.equal(total, x + branch)
                assert torch.equal(out, n(total) if placement == "post" else total)
                assert name != "feed_forward" or torch.equal(branch, layer.feed_forward(given))
                x = out
        final = seen.get(Site(stack, None, "final_norm", "out"))
        assert (final is None) == (placement == "post")
        assert final is None or torch.equal(final, getattr(model, stack).final_norm(x))


class Sandwich(nn.Module):
    """``x + outer(f(inner(x)))``: norms at both ends of the branch."""

    final_norm = False

    def __init__(self, at):
        super().__init__()
        self.inner = nn.ModuleList(at.norm() for _ in range(at.sublayers))
        self.outer = nn.ModuleList(at.norm() for _ in range(at.sublayers))

    def forward(self, x, *sublayers):
        for f, inner, outer in zip(sublayers, self.inner, self.outer, strict=True):
            x = x + outer(f(inner(x)))
        return x


class Gated(nn.Module):
    """``x + alpha f(x)``: no norm at all."""

    final_norm = False

    def __init__(self, at):
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(0.5))

    def forward(self, x, *sublayers):
        for f in sublayers:
            x = x + self.alpha * f(x)
        return x


@pytest.mark.parametrize("placement", [Sandwich, Gated])
def test_activations_of_placements_that_nobody_registered(placement):
    """The sum of a sublayer is found by what happens next, whatever the formula."""
    parts = Parts(2, nn.LayerNorm, placement, SoftmaxAttention)
    model = nn.Module()
    model.encoder = Stack("encoder", parts, None, ModelShape(size=9, width=16, heads=2, d_ff=8)).eval()
    nn.init.normal_(model.encoder.embedding.table)
    with activations(model) as seen, torch.no_grad():
        out = model.encoder(torch.tensor([[1, 2, 3]]), torch.ones(1, 1, 1, 3, dtype=torch.bool))
    stream = seen[Site("encoder", None, "embedding", "out")]
    for number, layer in enumerate(model.encoder.layers, 1):
        for i, name in enumerate(SUBLAYERS["encoder"]):
            branch, total, after = (seen[Site("encoder", number, name, t)] for t in ("branch", "sum", "out"))
            own = layer.placement
            torch.testing.assert_close(
                total, stream + (own.outer[i](branch) if placement is Sandwich else own.alpha * branch)
            )
            assert torch.equal(total, after)
            stream = after
    assert torch.equal(stream, out)
