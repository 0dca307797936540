"""The maximal update parametrization: scales in the width n at which updates move activations equally.

Table 3 of Yang et al. (2022), for Adam, with all else fixed:

                          input weights, vectors   hidden weights   output weights
    initial variance      1 / fan_in               1 / fan_in       1 / fan_in²
    learning rate         1                        1 / fan_in       1 / fan_in

and queries meet keys over n / heads, not over its root. The fan_in of an embedding is the vocabulary, which does not
grow. Here an embedding is ``sqrt(n) table`` with entries N(0, 1/n): as their Lemma J.1 has it, this is N(0, 1) without
the factor if its rate is 1 / sqrt(n). Powers are of n over a base width, at which the parametrization is the standard
one. d_ff grows in proportion to n, and the number of heads stays.
"""

import math
from collections.abc import Callable
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn

from lnlab.nn.attention import DotProductAttention, DropoutRate, attentions
from lnlab.nn.inits import inits
from lnlab.nn.linear import LinearBuilder
from lnlab.nn.post_init import run_post_init_hooks
from lnlab.nn.sites import Site, first_uses, weights
from lnlab.randomness import Draw
from lnlab.registry import default

BaseWidth = Annotated[int, Field(ge=1, le=1_000_000)]


@attentions.register("mup")
class MupAttention(DotProductAttention):
    """``softmax(sqrt(base) q kᵀ / (width / heads)) v``: over d, not its root (Yang et al., 2022, Definition 4.1).

    base is ``base_width`` over the number of heads, so that at the base width it is scaled dot-product attention.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        linear: LinearBuilder = nn.Linear,
        *,
        base_width: BaseWidth = 64,
        dropout: DropoutRate = 0.0,
    ) -> None:
        super().__init__(width, heads, linear, dropout=dropout)
        # sqrt(base) / (width / heads), with base = base_width / heads.
        self.scale = math.sqrt(base_width * heads) / width

    def ready(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Return both unchanged."""
        return q, k


@inits.register("mup", untied=True)
@torch.no_grad()
def mup(
    model: nn.Module,
    draw: Draw,
    *,
    base_width: BaseWidth = 64,
    of: Annotated[Callable[..., None], inits] = default("xavier_normal"),
) -> None:
    """``Var(output) = base_width / width²``: all else as another init draws it (Yang et al., 2022, Table 3).

    That init has a variance of 1/width for the output's table, and one in proportion to 1/fan_in for the matrices of
    layers.
    """
    of(model, draw)
    for site, p in weights(model):
        if site.sublayer == "output":
            p.mul_(math.sqrt(base_width / p.shape[1]))
    run_post_init_hooks(model)


def rate_factors(model: nn.Module, base_width: int) -> dict[Site, float]:
    """Factor on the learning rate of each weight. A table tied to the output counts as an embedding (Table 8)."""
    uses = first_uses(model)
    ratio = base_width / next(p.shape[1] for site, p in uses if site.tensor == "table")
    factors = {}
    for site, p in uses:
        # The embedding's is the root, as its table is multiplied by √width (see the module).
        factors[site] = 1.0 if p.dim() < 2 else math.sqrt(ratio) if site.sublayer == "embedding" else ratio
    return factors
