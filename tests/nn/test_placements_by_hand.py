"""Every placement against its formula, by hand: f(x) = 2x + 1, g(x) = x², h(x) = 1 - x, and the norm n(x) = x / 10."""

import math

import pytest
import torch
from torch import nn

from lnlab.nn.placements import LayerSpec, placements


class Tenth(nn.Module):
    def forward(self, x):
        return x / 10


def f(x):
    return 2 * x + 1


def g(x):
    return x * x


def h(x):
    return 1 - x


def n(x):
    return x / 10


def make(
    kind: str, *, sublayers: int = 2, layer: int = 1, layers: int = 6, stack: str = "encoder", **given
) -> nn.Module:
    at = LayerSpec(stack, layer, layers, 6, sublayers, 1, Tenth)
    return placements.builder(placements.resolve({"kind": kind} | given))(at)


def value(kind: str, **given) -> float:
    return make(kind, **given)(torch.tensor([3.0]), f, g).item()


def test_sandwich_norms_both_ends_of_the_branch_and_b2t_adds_the_layers_input_before_the_last_norm_alone():
    x = 3 + n(f(n(3)))
    assert value("sandwich") == pytest.approx(x + n(g(n(x))))
    first = n(3 + f(3))
    assert value("b2t") == pytest.approx(n(3 + first + g(first)))
    second = n(first + g(first))
    found = make("b2t", sublayers=3)(torch.tensor([3.0]), f, g, h).item()
    assert found == pytest.approx(n(3 + second + h(second)))


def test_deepnorm_multiplies_the_stream_by_the_constant_of_both_depths_and_admin_the_skip_by_a_vector():
    alpha = 0.81 * 6 ** (5 / 16)
    x = n(alpha * 3 + f(3))
    assert value("deepnorm") == pytest.approx(n(alpha * x + g(x)))
    assert not list(make("deepnorm").parameters())
    omega = math.sqrt(13 / math.log(13) - 1)
    x = n(omega * 3 + f(3))
    assert value("admin") == pytest.approx(n(omega * x + g(x)))
    assert [p.shape for p in make("admin").omega] == [torch.Size([1])] * 2
    assert value("admin", start="linear") == pytest.approx(value("post"))


@pytest.mark.parametrize(("layer", "post"), [(1, True), (2, True), (3, False), (8, False)])
def test_mix_is_post_in_the_first_quarter_and_pre_after(layer, post):
    found = value("mix", layer=layer, layers=8)
    assert found == value("post" if post else "pre")
    assert make("mix", layer=layer, layers=8).final_norm is not post


@pytest.mark.parametrize(
    ("share", "layers", "expected"), [(0.25, 12, 3), (0.25, 6, 1), (0.29, 100, 29), (0, 4, 0), (1, 4, 4)]
)
def test_mix_counts_whole_layers_rounded_down(share, layers, expected):
    kinds = [type(make("mix", layer=i + 1, layers=layers, share=float(share))).__name__ for i in range(layers)]
    assert kinds == ["Post"] * expected + ["Pre"] * (layers - expected)


def test_rezero_and_plain_have_no_norm_and_no_skip_and_layerscale_gates_a_normed_branch():
    assert value("rezero") == 3.0
    placement = make("rezero", start=0.5)
    x = 3 + 0.5 * f(3)
    assert placement(torch.tensor([3.0]), f, g).item() == pytest.approx(x + 0.5 * g(x))
    assert [p.shape for p in placement.parameters()] == [torch.Size([])]
    assert value("plain") == pytest.approx(n(g(n(f(3)))))
    found = make("plain", sublayers=3)(torch.tensor([3.0]), f, g, h).item()
    assert found == pytest.approx(n(h(n(g(n(f(3)))))))
    placement = make("layerscale", start=0.25)
    x = 3 + 0.25 * f(n(3))
    assert placement(torch.tensor([3.0]), f, g).item() == pytest.approx(x + 0.25 * g(n(x)))
    assert [p.shape for p in make("layerscale", sublayers=3).parameters()] == [torch.Size([1])] * 3
    assert make("layerscale").gate[0].item() == pytest.approx(1e-4)


def test_fixup_has_a_scalar_before_and_a_scalar_after_each_branch_and_no_norm():
    placement = make("fixup")
    assert placement(torch.tensor([3.0]), f, g).item() == pytest.approx(3 + f(3) + g(3 + f(3)))
    with torch.no_grad():
        for number, (shift, scale) in enumerate(zip(placement.norms, placement.scale, strict=True)):
            shift.shift.fill_(0.5 + number)
            scale.fill_(2.0 - 3 * number)
    x = 3 + 2 * f(3 + 0.5)
    assert placement(torch.tensor([3.0]), f, g).item() == pytest.approx(x - g(x + 1.5))
    assert [p.shape for p in make("fixup", sublayers=3).parameters()] == [torch.Size([])] * 6


@pytest.mark.parametrize(
    ("stack", "sublayers", "start", "omega"),
    [
        ("encoder", 2, "log", 2.017),  # n = 12
        ("decoder", 3, "log", 2.335),  # n = 18
        ("encoder", 2, "constant", math.sqrt(12)),
        ("decoder", 3, "constant", math.sqrt(18)),
    ],
)
def test_admin_begins_at_the_published_closed_forms(stack, sublayers, start, omega):
    placement = make("admin", stack=stack, sublayers=sublayers, start=start)
    assert [w.item() for w in placement.omega] == pytest.approx([omega] * sublayers, abs=5e-4)


@pytest.mark.parametrize("entry", list(placements), ids=lambda entry: entry.name)
def test_every_norm_stands_where_its_tag_says(entry):
    """A norm of the stream bounds what goes on; a norm of the branch leaves the skip alone; else no norm is made."""
    made = []

    def norm() -> nn.Module:
        made.append(nn.LayerNorm(16))
        return made[-1]

    placement = entry.build(
        LayerSpec("encoder", 6, 6, 6, 2, 16, norm), **{k: p.default for k, p in entry.keywords.items()}
    )
    x = 1e4 * torch.randn(5, 16, generator=torch.Generator().manual_seed(0))
    grown = placement(x, torch.sin, torch.cos).norm() / x.norm() > 0.1
    expected = {"stream": False, "branch": True, "both": True, "nothing": True}
    assert bool(grown) is expected[entry.facts.norm_of]
    assert bool(made) is (entry.facts.norm_of != "nothing")


@pytest.mark.parametrize("layer", [1, 3])
def test_layernorm_scaling_divides_every_norm_by_the_root_of_the_layer(layer):
    x = 3 + f(n(3) / math.sqrt(layer))
    assert value("scaled_pre", layer=layer) == pytest.approx(x + g(n(x) / math.sqrt(layer)))


def test_the_reordered_norm_stands_behind_the_branch_and_hybrid_is_post_ln_without_its_second_norm():
    x = 3 + n(f(3))
    assert value("reordered") == pytest.approx(x + n(g(x)))
    x = n(3 + f(3))
    assert value("hybrid") == pytest.approx(x + g(x))
    assert value("hybrid", first="pre") == value("pre")
    assert value("hybrid", layer=2, first="pre") == value("hybrid")
