"""The numbers that ReZero's authors print, digit by digit: their modules, seed and draws, our layers and our probe.

``ReZero-Deep_Fast_Transformer.ipynb`` (Bachlechner et al., 2021): width 16, 4 heads, d_ff 64, four tokens of noise, ten
draws. Their layers keep the biases that ``Linear`` draws, and every layer is a copy of the first until Xavier resets
the matrices, so that layers share their biases.
"""

import copy
from statistics import fmean

import pytest
import torch
from torch import nn

from lnlab.nn.attention import attentions
from lnlab.nn.inits import inits
from lnlab.nn.models import models
from lnlab.nn.norms import norms
from lnlab.nn.parts import parts_of
from lnlab.nn.placements import placements
from lnlab.nn.sites import parameter_uses
from lnlab.probes.io_jacobian import io_jacobian
from lnlab.probes.probe import State
from lnlab.randomness import Draw
from lnlab.tasks.random_tokens import RandomTokens

LAYERS, TOKENS, WIDTH, HEADS, D_FF = 12, 4, 16, 4, 64
ARMS = {"post": {}, "pre": {}, "rezero": {"start": 0.1}}
PRINTED = {"post": "0.810", "pre": "10.242", "rezero": "1.059"}


class Theirs(nn.Module):
    """What a layer draws, in its order."""

    def __init__(self) -> None:
        super().__init__()
        self.self_attn = nn.MultiheadAttention(WIDTH, HEADS)
        self.linear1 = nn.Linear(WIDTH, D_FF)
        self.linear2 = nn.Linear(D_FF, WIDTH)


def drawn() -> list[dict[str, torch.Tensor]]:
    """The layers of a fresh encoder of theirs, each as its tensors by our names."""
    first = Theirs()
    layers = nn.ModuleList(copy.deepcopy(first) for _ in range(LAYERS))
    for p in layers.parameters():
        if p.dim() > 1:
            nn.init.xavier_uniform_(p)
    return [by_our_names(layer) for layer in layers]


def by_our_names(layer: Theirs) -> dict[str, torch.Tensor]:
    q, k, v = layer.self_attn.in_proj_weight.chunk(3)
    attention = {"q": q, "k": k, "v": v, "o": layer.self_attn.out_proj.weight}
    one, two = layer.linear1, layer.linear2
    return attention | {"w1": one.weight, "b1": one.bias, "w2": two.weight, "b2": two.bias}


def state(placement: str, layers: list[dict[str, torch.Tensor]], x: torch.Tensor) -> State:
    """Our model with their weights, whose embedding gives ``x``."""
    task = RandomTokens(Draw(0), 8, 1, TOKENS, "distinct", None)
    chosen = {"norm": norms.resolve("layer"), "attention": attentions.resolve("softmax")}
    stack = chosen | {"layers": LAYERS, "placement": placements.resolve({"kind": placement, **ARMS[placement]})}
    choice = models.resolve({"kind": "encoder", "d_model": WIDTH, "heads": HEADS, "d_ff": D_FF})
    model = models.builder(choice)(task.size, {"encoder": parts_of(stack)})
    inits["fairseq"].build(model, Draw(0))
    with torch.no_grad():
        for site, p in parameter_uses(model):
            if site.layer and site.tensor in layers[site.layer - 1]:
                p.copy_(layers[site.layer - 1][site.tensor])
    model.encoder.embedding.forward = lambda _tokens: x.double()
    return State(model.eval(), task, Draw(0), 0)


def mean_square(measured: State) -> float:
    """Of the last layer's output; Pre-LN's final norm, which theirs lacks, has a row of its own."""
    rows = io_jacobian(measured, batches=1)
    (found,) = (r["value"] for r in rows if (r["quantity"], r["sublayer"]) == ("jacobian_mean_square", None))
    return found


@pytest.fixture(scope="module")
def means() -> dict[str, float]:
    """Over ten draws, in which the three arms take turns."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        draws = [(torch.randn(TOKENS, 1, WIDTH), {arm: drawn() for arm in ARMS}) for _ in range(10)]
    return {arm: fmean(mean_square(state(arm, layers[arm], x.transpose(0, 1))) for x, layers in draws) for arm in ARMS}


@pytest.mark.parametrize("placement", ARMS)
def test_the_printed_digits(means, placement):
    assert f"{means[placement]:.3f}" == PRINTED[placement]
