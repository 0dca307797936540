"""The init of PyTorch's Transformer, against PyTorch's Transformer."""

import math

import pytest
import torch
from torch import nn

from lnlab.nn.sites import parameter_uses

LAYERS, WIDTH, D_FF = 3, 48, 80


@pytest.fixture(scope="module")
def theirs():
    """Its encoder by the name of each parameter in a layer: the tensor of every layer."""
    torch.manual_seed(0)
    layers = nn.Transformer(WIDTH, 2, LAYERS, 1, D_FF, batch_first=True).encoder.layers
    return {name: [layer.state_dict()[name] for layer in layers] for name in layers[0].state_dict()}


@pytest.fixture
def ours(setting, build):
    model = build(setting(layers=LAYERS, width=WIDTH, d_ff=D_FF), init="torch_transformer")
    by_tensor = {}
    for site, p in parameter_uses(model):
        if site.stack == "encoder" and site.layer:
            by_tensor.setdefault(site.tensor, []).append(p.detach())
    return by_tensor


PAIRS = [("w1", "linear1.weight"), ("w2", "linear2.weight"), ("o", "self_attn.out_proj.weight")]
PAIRS += [("b1", "linear1.bias"), ("b2", "linear2.bias"), ("bo", "self_attn.out_proj.bias")]


@pytest.mark.parametrize(("tensor", "name"), PAIRS)
def test_bounds_are_theirs(ours, theirs, tensor, name):
    """The largest of 48 uniform numbers or more is within 12 % of the bound."""
    found, expected = (torch.stack(x).abs().max().item() for x in (ours[tensor], theirs[name]))
    assert found == pytest.approx(expected, rel=0.12)


@pytest.mark.parametrize("tensor", ["q", "k", "v"])
def test_q_k_v_are_thirds_of_one_matrix(ours, theirs, tensor):
    expected = torch.stack(theirs["self_attn.in_proj_weight"]).abs().max().item()
    assert torch.stack(ours[tensor]).abs().max().item() == pytest.approx(expected, rel=0.01)
    assert expected == pytest.approx(math.sqrt(6 / (4 * WIDTH)), rel=0.01)
    assert not any(b.any() for b in ours[f"b{tensor}"])


@pytest.mark.parametrize(("tensor", "name"), [("b1", "linear1.bias"), ("b2", "linear2.bias"), ("w1", "linear1.weight")])
def test_layers_share_biases_and_no_matrix_as_copies_do(ours, theirs, tensor, name):
    for each in (ours[tensor], theirs[name]):
        assert torch.equal(each[0], each[1]) == torch.equal(each[1], each[2]) == (tensor != "w1")


def test_stacks_do_not_share_biases_and_a_gate_that_is_one_number_is_left_alone(setting, build):
    model = build(setting(), init="torch_transformer")
    one, two = (p for site, p in parameter_uses(model) if site.tensor == "b1" and site.layer == 1)
    assert not torch.equal(one, two)
    model = build(setting({"kind": "rezero", "start": 0.1}), init="torch_transformer")
    assert [layer.placement.alpha.item() for layer in model.encoder.layers] == [pytest.approx(0.1)] * 2


def test_the_tutorial_draws_tables_as_matrices(setting, build):
    """By torch's own ``xavier_uniform_`` of an embedding of as many rows; all else as above."""
    chosen = setting(layers=LAYERS, width=WIDTH, d_ff=D_FF, tied="none")
    plain, tutorial = (build(chosen, init=init) for init in ("torch_transformer", "pytorch_tutorial"))
    theirs = nn.init.xavier_uniform_(nn.Embedding(len(tutorial.output.table), WIDTH).weight).abs().max().item()
    for (site, p), (_, q) in zip(parameter_uses(tutorial), parameter_uses(plain), strict=True):
        if site.tensor == "table":
            assert p.detach().abs().max().item() == pytest.approx(theirs, rel=0.01)
            assert not p[0].any()
        else:
            assert torch.equal(p, q)
