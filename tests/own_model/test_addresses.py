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
from lnlab.own_model.addresses import parameter_addresses


class Leaf(nn.Module):
    """A parameter of its own, in a list, or by the name that an address could have."""

    def __init__(self, name, size):
        super().__init__()
        self.register_parameter(name, nn.Parameter(torch.linspace(0.1, 1.0, size)))
        self.others = nn.ParameterList([nn.Parameter(torch.full((2, size), 0.5))])


NAMES = st.sampled_from(["a", "0", "w1", "q", "weight", "layers", "output", "module", "self_attention", "1", "bias"])
LEAVES = st.builds(Leaf, NAMES.filter(lambda name: name != "others"), st.integers(1, 3))


@st.composite
def trees(draw, depth=3):
    """A tree of modules; some are used under two names, and some parameters are tied."""
    if depth == 0 or draw(st.booleans()):
        return draw(LEAVES)
    node = nn.Module()
    for name in draw(st.lists(NAMES, min_size=1, max_size=3, unique=True)):
        node.add_module(name, draw(trees(depth=depth - 1)))
    children = list(node.children())
    if draw(st.booleans()):
        node.add_module("again", children[0])
    if draw(st.booleans()):
        node.tied = next(children[-1].parameters())
    return node


def every_square(model, _):
    """Its gradient in p is 2 p, however often p is registered."""
    return sum(p.square().sum() for p in model.parameters())


@settings(max_examples=40, deadline=None)
@given(trees())
def test_every_parameter_is_measured_once(model):
    probes = ["parameter_size", {"kind": "gradient_norm", "biases": True}]
    m = lnlab.measure(model, [None], every_square, probes=probes)
    expected = {name: 2 * p.norm().item() for name, p in model.named_parameters()}
    for quantity, factor in (("parameter_norm", 2), ("gradient_norm", 1)):
        rows = m.frame(quantity)
        assert sorted(rows["path"]) == sorted(expected)
        assert {
            path: pytest.approx(factor * x, rel=1e-5) for path, x in rows.select("path", "value").rows()
        } == expected
        assert rows.select("stack", "layer", "sublayer", "tensor").is_unique().all()


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
    with pytest.raises(LabError) as raised:
        parameter_addresses(nano(), patterns)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_frames_have_addresses_and_paths(nano, nano_sites, tokens, language_loss):
    m = lnlab.measure(nano(), tokens, language_loss, probes=["gradient_norm"], sites=nano_sites)
    rows = m.frame("gradient_norm").filter(pl.col("path") == "blocks.1.proj.weight")
    assert rows.select("model", "seed", "layer", "sublayer", "tensor").unique().rows() == [
        ("model", 1, 2, "feed_forward", "w2")
    ]
