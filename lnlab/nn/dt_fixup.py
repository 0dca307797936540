"""DT-Fixup: T-Fixup's bound for fixed inputs, from their measured norms (Xu et al., 2021).

With inputs of fixed size, an update of all weights changes the output by Θ(1) for any number of layers N if v, o, w1
and w2 (and the vectors of relations) have the size

    (N (4 mu² + 2 mu + 2))^(-1/2)    with relation-aware attention,
    N^(-1/2) / (2 mu)                without,

where mu is the largest norm of an input vector of the layers: the maximum over every token of the training split. A
single outlier determines it. The probe ``input_norm`` shows how far it lies above the mean and the 99th percentile.
"""

from collections.abc import Callable
from typing import Annotated

import torch
from torch import nn

from lnlab.nn.data import Batches, input_norms
from lnlab.nn.inits import depths, inits
from lnlab.nn.post_init import run_post_init_hooks
from lnlab.nn.sites import weights
from lnlab.randomness import Draw
from lnlab.registry import default

SCALED = ("v", "o", "w1", "w2")


@inits.register("dt_fixup", norm_of="nothing", reads=lambda _: None, passes=lambda _: 0.0, two_matrices=True)
def dt_fixup(
    model: nn.Module,
    draw: Draw,
    batches: Batches,
    *,
    of: Annotated[Callable[..., None], inits] = default("xavier_normal"),
    relational: bool = False,
) -> None:
    """``N^(-1/2) / (2 mu)``: times another init's v o w1 w2, mu the longest input of the stack (Xu et al., 2021).

    N counts the layers of the stack, and mu is its own, over every token of the training split. ``relational`` has the
    factor of relation-aware attention, (N (4 mu² + 2 mu + 2))^(-1/2). For models without norms.
    """
    of(model, draw)
    gain = relational_gain if relational else vanilla_gain
    mu = longest_inputs(model, batches)
    gains = {name: gain(layers, mu[name]) for name, (layers, _) in depths(model).items()}
    with torch.no_grad():
        for site, p in weights(model):
            if site.tensor in SCALED:
                p.mul_(gains[str(site.stack)])
    run_post_init_hooks(model)


def longest_inputs(model: nn.Module, batches: Batches) -> dict[str, float]:
    """``max_j ‖x_j‖`` over every token of the training split, by stack."""
    longest: dict[str, float] = {}
    for batch in batches(None):
        for name, norms in input_norms(model, batch).items():
            longest[name] = max(longest.get(name, 0.0), norms.max().item())
    return longest


def vanilla_gain(layers: int, mu: float) -> float:
    """``N^(-1/2) / (2 mu)``."""
    gain: float = layers**-0.5 / (2 * mu)
    return gain


def relational_gain(layers: int, mu: float) -> float:
    """``(N (4 mu² + 2 mu + 2))^(-1/2)``."""
    gain: float = (layers * (4 * mu**2 + 2 * mu + 2)) ** -0.5
    return gain
