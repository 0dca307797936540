"""No parameter is left out, counted twice, or shares its address with another."""

import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import lnlab
from lnlab.errors import LabError
from lnlab.nn.site import Site
from lnlab.outside.own_model.addresses import parameter_addresses
from tests.support.refusals import one_line


class Leaf(nn.Module):
    """A parameter of its own, in a list and in a dict, beside buffers, which are measured by nobody."""

    def __init__(self, name, size):
        super().__init__()
        self.register_parameter(name, nn.Parameter(torch.linspace(0.1, 1.0, size)))
        self.others = nn.ParameterList([nn.Parameter(torch.full((2, size), 0.5))])
        self.keyed = nn.ParameterDict({"1": nn.Parameter(torch.full((size, 2), 0.25))})
        self.register_buffer("running", torch.full((size,), 3.0))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64), persistent=False)


class Doubled(nn.Module):
    """A parametrization: the weight that its module reads is twice the parameter that it has."""

    def forward(self, x):
        return 2 * x


def parametrized(size):
    module = nn.Linear(size, 2)
    nn.utils.parametrize.register_parametrization(module, "weight", Doubled())
    return module


NAMES = st.sampled_from(["a", "0", "w1", "q", "weight", "layers", "output", "module", "self_attention", "1", "bias"])
SIZES = st.integers(1, 3)
LEAVES = st.one_of(
    st.builds(Leaf, NAMES, SIZES),
    st.builds(parametrized, SIZES),
    st.builds(lambda size: nn.utils.parametrizations.weight_norm(nn.Linear(size, 2)), SIZES),
    st.builds(nn.BatchNorm1d, SIZES),
    st.builds(nn.LayerNorm, SIZES),
    st.builds(lambda size: nn.MultiheadAttention(2 * size, 2, bias=False), SIZES),
    st.builds(lambda size: nn.TransformerEncoderLayer(2 * size, 2, 2), SIZES),
)


@st.composite
def trees(draw, depth=3):
    """A tree of modules, lists and dicts; some are used under two names, and some parameters are tied."""
    if depth == 0 or draw(st.booleans()):
        return draw(LEAVES)
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    children = {name: draw(trees(depth=depth - 1)) for name in names}
    kind = draw(st.sampled_from(["module", "list", "dict", "frozen"]))
    if kind == "list":
        return nn.ModuleList([*children.values(), *draw(st.sampled_from([[], [next(iter(children.values()))]]))])
    if kind == "dict":
        return nn.ModuleDict(children)
    node = nn.Module()
    for name, child in children.items():
        node.add_module(name, child)
    if draw(st.booleans()):
        node.add_module("again", next(iter(children.values())))
    if draw(st.booleans()):
        node.tied = next(list(children.values())[-1].parameters())
    return node.requires_grad_(kind != "frozen")


def every_square(model, _):
    """Its gradient in p is 2 (p + 1), however often p is registered."""
    return sum((p + 1).square().sum() for p in model.parameters())


@settings(max_examples=40)
@given(trees())
def test_every_parameter_is_measured_once(model):
    """By name, by size and by gradient; what curvature runs over is every one that is trained."""
    trained = [p for p in model.parameters() if p.requires_grad]
    of_trained = [{"kind": "gradient_norm", "biases": True}, {"kind": "sharpness", "steps": 2}]
    m = lnlab.measure(model, [None], every_square, probes=["parameter_size", *(of_trained if trained else [])])
    for quantity, shift, factor in (("parameter_norm", 0, 1), *([("gradient_norm", 1, 2)] if trained else [])):
        values, sites = by_parameter(m.frame(quantity))
        named = model.named_parameters()
        expected = {name: factor * (p + shift).norm().item() for name, p in named if not shift or p.requires_grad}
        assert {name: pytest.approx(x, rel=1e-5) for name, x in values.items()} == expected
        assert len(set(sites)) == len(sites)
    if trained:  # the Hessian is twice the identity
        squares = sum(p.square().sum().item() for p in trained)
        assert m.frame("normalized_sharpness")["value"].item() == pytest.approx(2 * squares, rel=1e-4, abs=1e-12)


@pytest.mark.parametrize("probe", ["gradient_norm", "hessian_spectrum", "sharpness"])
def test_a_model_that_is_frozen_whole_has_no_gradient(probe, golden):
    model = nn.Linear(2, 2).requires_grad_(False)
    with golden.raises(LabError):
        lnlab.measure(model, [None], every_square, probes=[probe])


def by_parameter(rows):
    """The norm of each parameter by its name, over the parts that it is told apart into, and all sites."""
    squares = {}
    for path, value in rows.select("path", "value").rows():
        name = path.partition("[")[0]
        squares[name] = squares.get(name, 0.0) + value**2
    site = [name for name in ("stack", "layer", "sublayer", "tensor") if name in rows.columns]
    return {name: x**0.5 for name, x in squares.items()}, rows.select(site).rows()


def test_the_table_of_patterns(nano, nano_sites):
    sites = {name: a.sites[0] for name, a in parameter_addresses(nano(), nano_sites).items()}
    assert sites["blocks.1.attn.qkv.weight"] == Site("decoder", 2, "self_attention", "qkv")
    assert sites["blocks.1.attn.qkv.bias"] == Site("decoder", 2, "self_attention", "bqkv")
    assert sites["blocks.0.fc.bias"] == Site("decoder", 1, "feed_forward", "b1")
    assert sites["blocks.0.ln_2.weight"] == Site("decoder", 1, "feed_forward", "scale")
    assert sites["blocks.0.ln_2.bias"] == Site("decoder", 1, "feed_forward", "shift")
    assert sites["wte.weight"] == Site("decoder", None, "embedding", "table")
    assert sites["ln_f.weight"] == Site(None, None, "ln_f", "weight")


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ({"blocks.{layer}.mlp": "feed_forward.w1"}, "'blocks.{layer}.mlp' in sites= matches no parameter"),
        ({"blocks.0.fc": "feed_forward.w1", "blocks.1.fc": "feed_forward.w1"}, "have one address, feed_forward w1"),
        ({"blocks.{layer}.fc": "feed_forward.w1", "blocks.0.fc": "a.b"}, "both match 'blocks.0.fc.weight'"),
        ({"blocks.{layer}.fc": "a.b.c"}, "the address 'a.b.c' in sites= cannot be read"),
        ({"{layer}.{layer}": "a.b"}, "has {layer} more than once"),
    ],
)
def test_a_wrong_pattern_is_one_message(nano, patterns, message):
    assert message in one_line(parameter_addresses, nano(), patterns)


def test_frames_have_addresses_and_paths(nano, nano_sites, tokens, language_loss):
    m = lnlab.measure(nano(), tokens, language_loss, probes=["gradient_norm"], sites=nano_sites)
    rows = m.frame("gradient_norm").filter(pl.col("path") == "blocks.1.proj.weight")
    assert rows.select("model", "seed", "layer", "sublayer", "tensor").unique().rows() == [
        ("model", 1, 2, "feed_forward", "w2")
    ]
