"""The initial values of PyTorch's own Transformer: Xavier for matrices, and biases in the feed-forward network.

``xavier_uniform_`` resets parameters of more than one dimension, q, k and v being one matrix of 3d x d. The biases of
attention are 0. Those of ``Linear`` stay as they were drawn, U(-1/√fan_in, 1/√fan_in), once for all layers of a stack,
since its layers are copies of one.
"""

from dataclasses import replace

from torch import Generator, Tensor, nn

from lnlab.nn.inits import InitDistribution, fairseq, fill_parameter, inits, xavier
from lnlab.nn.masks import PAD_TOKEN
from lnlab.nn.sites import parameter_uses, weights
from lnlab.randomness import Draw

MATRIX = {"b1": "w1", "b2": "w2"}
"""The matrix whose output each of these biases is added to."""


@inits.register("torch_transformer")
def torch_transformer(model: nn.Module, draw: Draw) -> None:
    """``U(-1/√fan_in, 1/√fan_in)``: b1, b2, alike in all layers of a stack; the rest as fairseq (Paszke et al., 2019).

    As ``torch.nn.Transformer`` after its ``_reset_parameters``, except for the tables, which are N(0, 1/d).
    """
    fairseq(model, draw)
    _biases(model, draw)


@inits.register("pytorch_tutorial")
def pytorch_tutorial(model: nn.Module, draw: Draw) -> None:
    """``U(-ga, ga), a² = 6 / (fan_in + fan_out)``: tables too, the rest as torch_transformer (Paszke et al., 2019).

    PyTorch's translation tutorial calls ``xavier_uniform_`` on every parameter of two dimensions, those of embeddings
    among them, so that an embedding of V words has the variance 2 / (V + d) and not 1 / d.
    """
    fairseq(model, draw)
    first = {id(p): (site, p) for site, p in reversed(parameter_uses(model)) if site.tensor == "table"}
    for site, p in first.values():
        fill_parameter(p, draw, site, xavier("uniform"))
        p.data[PAD_TOKEN] = 0
    _biases(model, draw)


def _biases(model: nn.Module, draw: Draw) -> None:
    """Draw the biases of the feed-forward networks as ``Linear`` does."""
    fan_in = {site: p.shape[1] for site, p in weights(model)}
    for site, p in parameter_uses(model):
        if site.tensor in MATRIX:
            width = fan_in[replace(site, tensor=MATRIX[site.tensor])]
            # By the address of the first layer, of which torch's other layers are copies.
            fill_parameter(p, draw, replace(site, layer=1), uniform_within(width**-0.5))


def uniform_within(bound: float) -> InitDistribution:
    """``U(-bound, bound)``."""

    def fill_in_place(tensor: Tensor, generator: Generator) -> None:
        tensor.uniform_(-bound, bound, generator=generator)

    return fill_in_place
