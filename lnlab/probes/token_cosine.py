"""``mean of cos(x_i, x_j), i != j`` and ``‖X - 1 x̄ᵀ‖ / ‖X‖``: the similarity of the tokens of a sentence.

With unit vectors u_i of the n tokens of a sentence, the cosines of all pairs are summed at once,

    Σ_{i != j} u_i·u_j = ‖Σ u_i‖² - n.

Where all tokens are equal, X (n x width) has rank one and the residual is 0 (Dong et al., 2021; in the Frobenius norm
here, for which the mean x̄ is nearest). Sentences are weighted by their number of tokens, and those of a single token
are left out.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from lnlab.probes.probe import State, once, probes
from lnlab.probes.support.known_sites import at_all_sites, stream_sites
from lnlab.probes.support.stream_sums import site_sums
from lnlab.tables import Row
from lnlab.vocabulary.hidden_states import TOKEN_COSINE


@probes.register(
    "token_cosine",
    table="sites",
    passes=once,
    quantities=TOKEN_COSINE,
    sites=lambda model, _: at_all_sites(tuple(TOKEN_COSINE), stream_sites(model)),
)
def token_cosine(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 6,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``E cos(x_i, x_j)``: of two tokens of a sentence, and how far from rank one they are (Dong et al., 2021).

    Measured at every sublayer (``in``, ``branch``, ``sum``, ``out``), after the embedding and after the final norm;
    dropout is off. A vector of zeros has no direction and is left out; a site that has nothing else has no row.
    """
    for site, sums in site_sums(state, batches, split, _terms).items():
        cosine, residual, tokens = sums.tolist()
        if tokens:
            yield {"quantity": "token_cosine", **site.row(), "value": cosine / tokens}
            yield {"quantity": "rank_one_residual", **site.row(), "value": residual / tokens}


def cosine_and_residual(x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mean cosine of the pairs of each sentence, its residual, and its number of tokens, (batch,) each.

    All are 0 where there is no pair. A zero vector does not count as a token.

    Args:
        x: (batch, length, width), float64.
        mask: (batch, length), True at tokens.
    """
    size = torch.where(mask, x.norm(dim=-1), 0.0)
    nonzero = size != 0
    x = torch.where(nonzero[..., None], x, 0.0)
    n = nonzero.sum(1)
    units = x / torch.where(nonzero, size, 1.0)[..., None]
    cosine = (units.sum(1).square().sum(-1) - n) / (n * (n - 1)).clamp(min=1)
    centred = torch.where(nonzero[..., None], x - x.sum(1, keepdim=True) / n.clamp(min=1)[:, None, None], 0.0)
    whole = x.flatten(1).norm(dim=1)
    residual = centred.flatten(1).norm(dim=1) / torch.where(n > 0, whole, 1.0)
    paired = n > 1
    return torch.where(paired, cosine, 0.0), torch.where(paired, residual, 0.0), torch.where(paired, n, 0)


def _terms(x: Tensor, mask: Tensor) -> Tensor:
    """Sum cosine and residual over the tokens, and count these: (3,)."""
    cosine, residual, n = cosine_and_residual(x, mask)
    return torch.stack((n * cosine, n * residual, n.double())).sum(1)
