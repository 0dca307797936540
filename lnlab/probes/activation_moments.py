"""``E x, Var x, E σ(token)`` along the stream, and ``Var f / Var(x + f)`` at every branch (Liu et al., 2020).

Mean and variance are over every coordinate of every token, without padding. σ is the standard deviation of one token's
coordinates, by which a layer norm divides. The probe ``hidden_norm`` measures E‖x‖²/d, which is Var x + (mean x)².
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from lnlab.nn.sites import Site
from lnlab.probes.probe import State, once, probes
from lnlab.probes.support.known_sites import at_all_sites, stream_sites
from lnlab.probes.support.stream_sums import site_sums
from lnlab.tables import Row
from lnlab.vocabulary.hidden_states import ACTIVATION_MOMENTS

_QUANTITIES = tuple(ACTIVATION_MOMENTS)


@probes.register(
    "activation_moments",
    table="sites",
    passes=once,
    quantities=ACTIVATION_MOMENTS,
    # Without the share, which has no number where the sum is constant.
    sites=lambda model, _: at_all_sites(_QUANTITIES, stream_sites(model)),
    any_stream=True,
)
def activation_moments(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 6,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``E x, Var x, E σ``: and ``Var f / Var(x + f)``, a block's dependency on its branch (Liu et al., 2020).

    The first three are measured at every sublayer (``in``, ``branch``, ``sum``, ``out``), after the embedding and after
    the final norm; the share at every sublayer's ``branch``, over the variance of its ``sum``. Dropout is off.
    """
    moments: dict[Site, tuple[float, float, float]] = {}
    for site, sums in site_sums(state, batches, split, _terms).items():
        mean, square, sigma, _ = (sums / sums[3]).tolist()
        # The difference keeps its digits where the mean is large, as `site_sums` adds in float64.
        moments[site] = mean, square - mean**2, sigma
    for site, values in moments.items():
        for quantity, value in zip(_QUANTITIES, values, strict=False):
            yield {"quantity": quantity, **site.row(), "value": value}
        total = moments.get(replace(site, tensor="sum"))  # a model from elsewhere may have no such point
        if site.tensor == "branch" and total is not None and total[1]:
            yield {"quantity": _QUANTITIES[3], **site.row(), "value": values[1] / total[1]}


def _terms(x: Tensor, mask: Tensor) -> Tensor:
    """Sums over tokens of the mean coordinate, the mean square, σ, and 1: (4,)."""
    variance, mean = torch.var_mean(x[mask], -1, correction=0)
    return torch.stack((mean, variance + mean.square(), variance.sqrt(), torch.ones_like(mean))).sum(1)
