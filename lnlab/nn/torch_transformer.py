"""A Transformer as PyTorch's own modules begin: Xavier for every matrix, and biases in the feed-forward network.

``xavier_uniform_`` resets what has more than one dimension, q, k and v being one matrix of 3d x d. The biases of
attention are 0; those of ``Linear`` stay as they were drawn, U(-1/√fan_in, 1/√fan_in), once for all layers of a stack,
since its layers are copies of one.
"""

from dataclasses import replace

from torch import Generator, Tensor, nn

from lnlab.nn.inits import Law, drawn, fairseq, inits
from lnlab.nn.sites import parameters, weights
from lnlab.randomness import Draw

MATRIX = {"b1": "w1", "b2": "w2"}
"""The matrix whose output each of these biases is added to."""


@inits.register("torch_transformer")
def torch_transformer(model: nn.Module, draw: Draw) -> None:
    """``U(-1/√fan_in, 1/√fan_in)``: b1, b2, alike in all layers of a stack; the rest as fairseq (Paszke et al., 2019).

    As ``torch.nn.Transformer`` after its ``_reset_parameters``, but for the tables, which are N(0, 1/d).
    """
    fairseq(model, draw)
    fan_in = {site: p.shape[1] for site, p in weights(model)}
    for site, p in parameters(model):
        if site.tensor in MATRIX:
            width = fan_in[replace(site, tensor=MATRIX[site.tensor])]
            drawn(p, draw, replace(site, layer=1), within(width**-0.5))


def within(bound: float) -> Law:
    """``U(-bound, bound)``."""

    def law(tensor: Tensor, generator: Generator) -> None:
        tensor.uniform_(-bound, bound, generator=generator)

    return law
