"""``P(‖x‖² > (1 + ε) E‖x‖²)``: the frequency of tokens whose squared norm is far above its mean (Xiong et al., 2020).

A variable Z >= 0 is (ε, δ)-bounded if P((Z - EZ)/EZ <= ε) >= 1 - δ (Definition 1). The relative spread of the squared
norm of d independent coordinates is sqrt(2/d), so that one ε for all widths would measure the width. ε is therefore
scaled by sqrt(512/d), as the paper measured (0.1, 0.125) at width 512.
"""

from collections.abc import Iterator
from math import nan, sqrt
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from lnlab.nn.sites import Site, activations
from lnlab.probes.probe import State, evaluating, once, probes
from lnlab.probes.support.known_sites import at_all_sites, stream_sites
from lnlab.probes.support.token_masks import stream_masks
from lnlab.tables import Row
from lnlab.vocabulary.hidden_states import NORM_CONCENTRATION

WIDTH = 512
"""The width of the paper's models."""


@probes.register(
    "norm_concentration",
    table="sites",
    passes=once,
    quantities=NORM_CONCENTRATION,
    sites=lambda model, _: at_all_sites(tuple(NORM_CONCENTRATION), stream_sites(model)),
    any_stream=True,
)
def norm_concentration(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 1,
    split: Literal["train", "validation", "test"] = "train",
    epsilon: Annotated[float, Field(gt=0)] = 0.1,
) -> Iterator[Row]:
    """``P(‖x‖² > (1 + ε√(512/d)) E‖x‖²)``: share of tokens far above the mean (Xiong et al., 2020, Definition 1).

    ``norm_excess_share``, over the tokens of all batches, at every sublayer (``in``, ``branch``, ``sum``, ``out``),
    after the embedding and after the final norm; dropout is off.
    """
    parts_by_site: dict[Site, tuple[list[Tensor], int]] = {}
    with evaluating(state.model), torch.no_grad(), activations(state.model) as seen:
        for batch in state.batches(batches, split):
            state.forward(batch)
            mask = stream_masks(state, batch)
            for site, x in seen.items():
                squares = x.double().square().sum(-1)[mask(site, x)]
                parts_by_site.setdefault(site, ([], x.shape[-1]))[0].append(squares)
    for site, (parts, width) in parts_by_site.items():
        yield {"quantity": "norm_excess_share", **site.row(), "value": excess_share(torch.cat(parts), width, epsilon)}


def excess_share(squares: Tensor, width: int, epsilon: float) -> float:
    """The share of ``squares`` (tokens,) above (1 + ε√(512/d)) times their mean, or NaN if the mean is not finite."""
    mean = squares.mean()
    share = (squares > (1 + epsilon * sqrt(WIDTH / width)) * mean).double().mean().item()
    return share if mean.isfinite() else nan
