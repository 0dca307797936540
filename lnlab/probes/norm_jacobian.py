"""``‖g_in‖ / ‖g_out‖`` and ``1 / σ_in`` of each token at every norm: what it does to the gradient (Xiong et al., 2020).

g_in = Jᵀ g_out is what goes back through the norm alone, not through the skip beside it. Of a layer norm with scale 1,

    J = (I - 1 1ᵀ/d - y yᵀ/(d σ²)) / σ,   y = x - mean(x),

has the singular values 1/σ (d - 2 times) and 0 (twice), so that the ratio is at most 1/σ and, of a gradient without a
preferred direction, sqrt((d - 2)/d)/σ. The epsilon lowers 1/σ to 1/sqrt(σ² + ε).
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from lnlab.nn.sites import Site, separated
from lnlab.nn.transformer import Layer, Stack
from lnlab.probes.probe import State, evaluating, probes, with_gradient
from lnlab.probes.support.token_masks import present
from lnlab.tables import Row

_QUANTITIES = (
    "norm_gradient_ratio",
    "norm_inverse_sigma",
    "norm_inverse_rms",
    "norm_ratio_over_bound",
    "norm_ratio_over_bound_max",
    "norm_growth_share",
)


@probes.register("norm_jacobian", table="sites", passes=with_gradient, quantities=_QUANTITIES)
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
    for site, (given, returned, x) in _tokens(state, batches, split).items():
        for quantity, value in _quantities(given, returned, x).items():
            yield {"quantity": quantity, **site.row(), "value": value}


def norms(model: nn.Module) -> list[tuple[Site, nn.Module]]:
    """Every norm of the stream with the address of its scale."""
    found: list[tuple[Site, nn.Module]] = []
    for name, module in model.named_modules():
        if isinstance(module, Layer):
            stack, _, number = name.split(".")
            for word, owned in module.placement.named_children():
                tensor = "scale" if word == "norms" else f"scale_{word}"
                pairs = zip(module.sublayers, owned.children(), strict=False)
                found += [(Site(stack, int(number) + 1, sublayer, tensor), norm) for sublayer, norm in pairs]
        elif isinstance(module, Stack) and module.final_norm is not None:
            found.append((Site(name, None, "final_norm", "scale"), module.final_norm))
    return found


@contextmanager
def _ends(model: nn.Module) -> Iterator[dict[Site, tuple[Tensor, Tensor]]]:
    """A dict that each forward pass fills with what every norm is given and what it gives back."""
    seen: dict[Site, tuple[Tensor, Tensor]] = {}
    with ExitStack() as hooks:
        for site, norm in norms(model):
            keep = lambda _m, x, y, site=site: seen.__setitem__(site, (x[0], y))  # noqa: E731
            hooks.callback(norm.register_forward_hook(keep).remove)
        yield seen


def _tokens(state: State, batches: int, split: str) -> dict[Site, tuple[Tensor, Tensor, Tensor]]:
    """Of every norm and all tokens that have a gradient: ‖g_in‖ and ‖g_out‖ (tokens), and x_in (tokens, width)."""
    found: dict[Site, list[tuple[Tensor, Tensor, Tensor]]] = {}
    if not norms(state.model):  # ReZero's
        return {}
    with evaluating(state.model), separated(state.model), torch.enable_grad(), _ends(state.model) as seen:
        for batch in state.batches(batches, split):
            loss, _ = state.task.loss(state.model, batch)
            here = present(batch)
            sites, ends = list(seen), list(seen.values())
            outer = torch.autograd.grad(
                loss, [y for _, y in ends], retain_graph=True, allow_unused=True, materialize_grads=True
            )
            for site, (x, y), g in zip(sites, ends, outer, strict=True):
                (inner,) = torch.autograd.grad(y, x, g, retain_graph=True)
                sizes = [t.double().norm(dim=-1)[here[site.stack]] for t in (inner, g)]
                held = sizes[1] != 0
                kept = (sizes[0][held], sizes[1][held], x.detach()[here[site.stack]][held].double())
                found.setdefault(site, []).append(kept)
            seen.clear()
    return {site: tuple(map(torch.cat, zip(*parts, strict=True))) for site, parts in found.items()}  # type: ignore[misc]


def _quantities(given: Tensor, returned: Tensor, x: Tensor) -> dict[str, float]:
    """By quantity; ``given`` is ‖g_in‖."""
    if not len(x):
        return {}
    ratio, sigma, rms = given / returned, x.std(-1, correction=0), x.square().mean(-1).sqrt()
    values = (ratio.mean(), (1 / sigma).mean(), (1 / rms).mean(), (ratio * sigma).mean(), (ratio * sigma).max())
    found = dict(zip(_QUANTITIES, (v.item() for v in values), strict=False))
    long = rms > 1
    return found | ({"norm_growth_share": (ratio[long] >= 1).double().mean().item()} if long.any() else {})
