"""``‖g_in‖ / ‖g_out‖`` and ``1 / σ_in`` of each token at every norm: its effect on the gradient (Xiong et al., 2020).

g_in = Jᵀ g_out is the gradient through the norm alone, without the skip beside it. For a layer norm with scale 1,

    J = (I - 1 1ᵀ/d - y yᵀ/(d σ²)) / σ,   y = x - mean(x),

has the singular values 1/σ (d - 2 times) and 0 (twice), so that the ratio is at most 1/σ and, for a gradient of random
direction, sqrt((d - 2)/d)/σ. The epsilon lowers 1/σ to 1/sqrt(σ² + ε).
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from lnlab.nn.sites import Site, separated
from lnlab.nn.transformer import Layer, stacks
from lnlab.probes.probe import State, evaluating, probes, with_gradient
from lnlab.probes.support.known_sites import at_all_sites
from lnlab.probes.support.token_masks import token_masks
from lnlab.tables import Row
from lnlab.vocabulary.norms import NORM_JACOBIAN

_QUANTITIES = tuple(NORM_JACOBIAN)


@probes.register(
    "norm_jacobian",
    table="sites",
    passes=with_gradient,
    quantities=NORM_JACOBIAN,
    sites=lambda model, _: at_all_sites(tuple(NORM_JACOBIAN), [site for site, _ in norm_modules(model)]),
)
def norm_jacobian(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 1,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``‖g_in‖/‖g_out‖, 1/σ_in``: how much a norm shrinks the gradient of a token (Xiong et al., 2020, Lemma 3).

    Means over tokens, at the address of the norm's scale: ``norm_gradient_ratio``; ``norm_inverse_sigma``, 1/σ_in;
    ``norm_inverse_rms``, √d/‖x_in‖; ``norm_ratio_over_bound``, the ratio times σ_in, and ``..._max``, the largest.
    ``norm_growth_share``: of the tokens with ‖x_in‖ > √d, the share whose gradient does not shrink. A token without a
    gradient is left out, and a quantity without tokens has no row; a model without norms has none. Dropout is off.
    """
    tokens_by_site: dict[Site, list[tuple[Tensor, Tensor, Tensor]]] = {}
    if not norm_modules(state.model):  # ReZero's
        return
    with evaluating(state.model), separated(state.model), torch.enable_grad(), record_norms(state.model) as seen:
        for batch in state.batches(batches, split):
            loss, _ = state.task.loss(state.model, batch)
            masks = token_masks(batch)
            sites = list(seen)
            pairs = list(seen.values())
            # The graph is kept, as every norm is differentiated by itself below.
            outer = torch.autograd.grad(
                loss, [y for _, y in pairs], retain_graph=True, allow_unused=True, materialize_grads=True
            )
            for site, (x, y), g in zip(sites, pairs, outer, strict=True):
                (inner,) = torch.autograd.grad(y, x, g, retain_graph=True)
                norm_in, norm_out = (t.double().norm(dim=-1)[masks[site.stack]] for t in (inner, g))
                nonzero = norm_out != 0
                tokens = (norm_in[nonzero], norm_out[nonzero], x.detach()[masks[site.stack]][nonzero].double())
                tokens_by_site.setdefault(site, []).append(tokens)
            seen.clear()  # so that the graph of this batch is freed before the next is built
    for site, parts in tokens_by_site.items():
        norm_in, norm_out, x_in = (torch.cat(columns) for columns in zip(*parts, strict=True))
        for quantity, value in norm_quantities(norm_in, norm_out, x_in).items():
            yield {"quantity": quantity, **site.row(), "value": value}


def norm_modules(model: nn.Module) -> list[tuple[Site, nn.Module]]:
    """Every norm of the stream with the address of its scale."""
    norm_sites: list[tuple[Site, nn.Module]] = []
    for name, stack in stacks(model).items():
        if stack.final_norm is not None:
            norm_sites.append((Site(name, None, "final_norm", "scale"), stack.final_norm))
        for number, layer in enumerate(stack.layers, 1):
            if not isinstance(layer, Layer):
                continue
            for group, owned in layer.placement.named_children():
                tensor = "scale" if group == "norms" else f"scale_{group}"
                pairs = zip(layer.sublayers, owned.children(), strict=False)
                norm_sites += [(Site(name, number, sublayer, tensor), norm) for sublayer, norm in pairs]
    return norm_sites


@contextmanager
def record_norms(model: nn.Module) -> Iterator[dict[Site, tuple[Tensor, Tensor]]]:
    """Yield a dict that each forward pass fills with the input and the output of every norm."""
    seen: dict[Site, tuple[Tensor, Tensor]] = {}
    with ExitStack() as hooks:
        for site, norm in norm_modules(model):
            record = lambda _m, x, y, site=site: seen.__setitem__(site, (x[0], y))  # noqa: E731
            hooks.callback(norm.register_forward_hook(record).remove)
        yield seen


def norm_quantities(norm_in: Tensor, norm_out: Tensor, x: Tensor) -> dict[str, float]:
    """The values by quantity, from ‖g_in‖ and ‖g_out‖ (tokens), and x_in (tokens, width)."""
    if not len(x):
        return {}
    ratio = norm_in / norm_out
    sigma = x.std(-1, correction=0)
    rms = x.square().mean(-1).sqrt()
    values = (ratio.mean(), (1 / sigma).mean(), (1 / rms).mean(), (ratio * sigma).mean(), (ratio * sigma).max())
    quantities = dict(zip(_QUANTITIES, (v.item() for v in values), strict=False))
    long = rms > 1
    return quantities | ({"norm_growth_share": (ratio[long] >= 1).double().mean().item()} if long.any() else {})
