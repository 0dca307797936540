"""``Var((x - μ)/σ) / d`` with ``σ = (1/d) √Σ(x - μ)²``: a layer norm whose formula takes the root of the sum only.

A layer norm divides by the root of the mean, ``σ = √((1/d) Σ(x - μ)²)`` (Ba et al., 2016, equation 3), and gives every
token variance 1. With the factor 1/d outside the root σ is smaller by √d, so that the variance of the norm's output is
the width d. It is computed from the input of each norm of the model, in float64 and without an epsilon.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from lnlab.nn.sites import Site
from lnlab.probes.norm_jacobian import norm_modules, record_norms
from lnlab.probes.probe import State, evaluating, once, probes
from lnlab.probes.support.known_sites import at_all_sites
from lnlab.probes.support.token_masks import token_masks
from lnlab.tables import Row
from lnlab.vocabulary.norms import ROOT_SUM_NORM


@probes.register(
    "root_sum_norm",
    table="sites",
    passes=once,
    quantities=ROOT_SUM_NORM,
    sites=lambda model, _: at_all_sites(tuple(ROOT_SUM_NORM), [site for site, _ in norm_modules(model)]),
)
@torch.no_grad()
def root_sum_norm(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 1,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``Var((x - μ)/σ) / d, σ = (1/d) √Σ(x - μ)²``: 1 where the variance is the width (after Ba et al., 2016).

    ``root_sum_norm_variance``, the mean over tokens, at the address of each norm's scale; a token whose coordinates are
    all equal is left out. Dropout is off.
    """
    sums: dict[Site, tuple[float, int]] = {}
    if not norm_modules(state.model):  # ReZero's
        return
    with evaluating(state.model), record_norms(state.model) as seen:
        for batch in state.batches(batches, split):
            state.forward(batch)
            masks = token_masks(batch)
            for site, (x, _) in seen.items():
                ratios = variances(x.double()[masks[site.stack]]) / x.shape[-1]
                total, n = sums.get(site, (0.0, 0))
                sums[site] = total + ratios.sum().item(), n + len(ratios)
    for site, (total, n) in sums.items():
        if n:
            yield {"quantity": "root_sum_norm_variance", **site.row(), "value": total / n}


def variances(x: Tensor) -> Tensor:
    """The variance of the formula's output for each token (tokens, width) that is not constant."""
    centred = x - x.mean(-1, keepdim=True)
    sigma = centred.square().sum(-1, keepdim=True).sqrt() / x.shape[-1]
    return (centred / sigma)[sigma[:, 0] > 0].var(-1, correction=0)
