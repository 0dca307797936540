"""``|g_i| < sqrt(n) u max_W rms(dL/dW)``: entries of a gradient that are only rounding noise.

A symmetry of the loss makes some gradients 0, such as those of the biases of keys, to which softmax is invariant, or of
biases before a batch norm. The stored numbers are then rounding noise. Adam divides them by themselves, so that steps,
rates and ratios of such entries say nothing of the model.

The error of a sum of n terms t is at most γ_n Σ|t|, γ_n = n u/(1 - n u), with the unit round-off u (Higham, 2002,
Section 4.2), and about sqrt(n) u Σ|t| where rounding errors are independent (Higham and Mary, 2019). The bias of a
matrix has the gradient Σ_t δ_t, and row i of the matrix Σ_t δ_ti x_t. The gradient that the branch of a sublayer sends
back is a difference of terms as large as those of its largest gradient. So an entry of a vector is unresolved where it
is below the noise, sqrt(n) u times the largest root mean square of a matrix of its sublayer, n = 65,536, and at the
same time small against the row that has the same δ_i. The entry of a unit without activity, whose row is as small, is
not noise. The shift of a norm is compared with its scale in place of the row.

Only vectors are tested. Matrices and tables sum outer products of tokens that differ, which no such symmetry cancels.
The rows of words in no batch are exactly 0, and those of rare words are small and exact.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from lnlab.nn.sites import Site, parameter_uses, values_by_site
from lnlab.probes.probe import State
from lnlab.tables import Row

TERMS = 2**16
"""n: the tokens of a large batch. Below a batch norm noise was 96 u of the largest matrix."""
_SMALL = 1 / 16
"""A share of the gradient of its row: real gradients of biases are about as large, noise was below 0.004 of it."""
MOMENTS = ("max_exp_avg_sq", "exp_avg_sq", "sum")
"""The names of the mean or sum of squared gradients in the state of optimizers."""

_norm = torch.linalg.vector_norm


def last_noise_masks(state: State, fallback: Callable[[], Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Make ``noise_masks`` from the gradients that led to a state in training.

    Their size is taken from the optimizer's second moments. An optimizer without them is gradient descent, whose
    updates are proportional to gradients. ``fallback`` gives these updates, or their sums.
    """
    return noise_masks(state.model, second_moment_roots(state) or {name: x.abs() for name, x in fallback().items()})


def second_moment_roots(state: State) -> dict[str, Tensor]:
    """sqrt(v) by parameter name, without ε and up to a factor. It is empty without an optimizer that has a v."""
    if state.optimizer is None:
        return {}
    memories = {name: state.optimizer.state.get(p, {}) for name, p in state.model.named_parameters()}
    return {name: m[key].sqrt() for name, m in memories.items() if (key := next(filter(m.__contains__, MOMENTS), ""))}


def noise_masks(model: nn.Module, sizes: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Masks of entries whose gradient is only rounding noise, (entries,), boolean, by the names of biases and shifts.

    Args:
        model: its sites determine which parameters share a sublayer.
        sizes: the magnitudes of each gradient's entries by parameter name, in any unit.
    """
    limits = _limits(model, sizes)
    masks = {}
    for name, size in sizes.items():
        partner = sizes.get(f"{name.removesuffix('bias')}weight") if name.endswith("bias") else None
        if partner is not None and size.dim() == 1 and name in limits:
            masks[name] = (size < limits[name]) & (size < _SMALL * _rows(partner, len(size)))
    return masks


def resolved_entries(x: Tensor, mask: Tensor | None) -> Tensor:
    """The entries of a parameter's tensor that are not noise, flat. Without a mask x is returned unchanged."""
    return x if mask is None or not mask.any() else x[~mask]


def without_noise(diagonal: Tensor, state: State, chosen: Sequence[Tensor], masks: Mapping[str, Tensor]) -> Tensor:
    """Adam's P of the chosen parameters, concatenated, (entries,), with 0 where a gradient is only rounding noise."""
    names = {id(p): name for name, p in state.model.named_parameters()}
    by_name = [masks.get(names[id(p)]) for p in chosen]
    flat = [diagonal.new_zeros(p.numel()) if m is None else m for m, p in zip(by_name, chosen, strict=True)]
    return diagonal.masked_fill(torch.cat([part.flatten().bool() for part in flat]), 0.0)


def unresolved_shares(quantity: str, model: nn.Module, masks: Mapping[str, Tensor]) -> Iterator[Row]:
    """The share of the entries of each bias and shift that were left out."""
    for site, mask in values_by_site(model, masks):
        yield {"quantity": quantity, **site.row(), "value": mask.double().mean().item()}


def _limits(model: nn.Module, sizes: Mapping[str, Tensor]) -> dict[str, float]:
    """The noise in the sublayer of each parameter, by its name. A sublayer without a matrix is left out."""
    names = {id(p): name for name, p in model.named_parameters()}
    sites = {
        names[id(p)]: (replace(site, tensor=""), p)  # the sublayer
        for site, p in parameter_uses(model)
        if names[id(p)] in sizes
    }
    largest: dict[Site, float] = {}
    for name, (sublayer, p) in sites.items():
        if p.dim() > 1:
            unit = torch.finfo(p.dtype).eps / 2
            rms = float(_norm(sizes[name], dtype=torch.float64)) / p.numel() ** 0.5
            largest[sublayer] = max(largest.get(sublayer, 0.0), TERMS**0.5 * unit * rms)
    return {name: largest[sublayer] for name, (sublayer, _) in sites.items() if sublayer in largest}


def _rows(partner: Tensor, length: int) -> Tensor:
    """The root mean square of each row of a matrix, or of a norm's whole scale: (length,).

    A row is the weights of one entry of the bias, such as a whole kernel of a convolution or a column of a transposed
    matrix.
    """
    if partner.dim() > 1:
        matrix = partner.flatten(1) if partner.shape[0] == length else partner.flatten(0, -2).T
        rows: Tensor = _norm(matrix, dim=-1) / matrix.shape[-1] ** 0.5
        return rows
    whole: Tensor = _norm(partner) / length**0.5
    return whole.expand(length)
