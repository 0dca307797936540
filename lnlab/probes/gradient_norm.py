"""``‖Σ_b n_b g_b / Σ_b n_b‖``: the norm of the expected gradient at every weight (Xiong et al., 2020, Section 3.4).

g_b is the gradient of the loss per token of batch b and n_b its number of tokens, so that the mean is over the tokens
of all batches. Its square is biased upward by the noise: with K equal batches E‖mean g‖² = ‖μ‖² + tr(Σ)/K. Without the
products of a batch with itself there is no bias,

    u = (‖Σ n_b g_b‖² - Σ ‖n_b g_b‖²) / ((Σ n_b)² - Σ n_b²),

which is (‖Σ g_b‖² - Σ ‖g_b‖²) / (K (K - 1)) for equal batches. It may be negative. The noise share is 1 - u / ‖mean
g‖². Gradients are summed in float32, and their squares in float64. A bias whose gradient is 0 up to rounding, such as
that of keys, has no norm, and its noise share is rounding noise (``rounding``).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.nn.sites import Site, addressed, separated, values_by_site
from lnlab.probes.probe import State, evaluating, probes, reads_next_update, with_gradient
from lnlab.probes.rounding import noise_masks
from lnlab.probes.support.known_sites import at_all_sites, parameter_sites
from lnlab.probes.support.loss_gradients import accumulator, gradients_of
from lnlab.probes.support.training_state import next_update_gradient
from lnlab.registry import Choice
from lnlab.tables import Row
from lnlab.vocabulary.gradients import GRADIENT_NORM

SAFE = (1e-10, 1e18)
"""Norms whose squares, and those of all entries that matter, are normal float32 numbers."""

_QUANTITIES = tuple(GRADIENT_NORM)

_norm = torch.linalg.vector_norm


def _measured(choice: Choice) -> tuple[str, ...]:
    """The norms that there will be: noise needs two batches, and the next update's gradient is one alone."""
    if choice["batches"] == "step":
        return ("gradient_norm", "gradient_rms")
    return _QUANTITIES[: 5 if choice["batches"] > 1 else 3]


@probes.register(
    "gradient_norm",
    table="sites",
    passes=with_gradient,
    quantities=GRADIENT_NORM,
    ahead=reads_next_update,
    revision=lambda choice: 2 if choice["biases"] else None,
    sites=lambda model, choice: {
        **at_all_sites(_measured(choice), parameter_sites(model, matrices=not choice["biases"])),
        **(at_all_sites(_QUANTITIES[5:], parameter_sites(model, vectors=True)) if choice["biases"] else {}),
    },
    any_model=lambda _: True,
    on_ranks=True,
)
def gradient_norm(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] | Literal["step"] = 6,
    split: Literal["train", "validation", "test"] = "train",
    biases: bool = False,
) -> Iterator[Row]:
    """``‖E[dL/dW]‖``: norm of the expected gradient at every weight, and its noise (Xiong et al., 2020, Figure 3).

    The loss is the task's, label smoothing included, per token; dropout is off. The parts of a tied table's gradient
    are separate. ``biases`` adds the vectors: biases, and the norms' scales and shifts; one whose gradient is nothing
    but rounding has ``gradient_unresolved_share`` alone, the share of such entries. With one batch there is no estimate
    of the noise, and no row for it.

    ``batches: step`` is the gradient that the next update will use, before clipping and with dropout, at the cost of
    its norms alone: then there are ``gradient_norm`` and ``gradient_rms``, of a tied table as a whole at every use.

    Raises:
        LabError: the next update's gradient is requested, and there will be no update.
    """
    if batches == "step":
        named = next_update_gradient(state)
        entries = [(site, g) for site, g in values_by_site(state.model, named) if biases or g.dim() > 1]
        _require_matrices(entries, named)
        sites, gradients = zip(*entries, strict=True)
        norm = frobenius_norms(gradients)
        rms = norm / torch.tensor([g.numel() for g in gradients], dtype=torch.float64).sqrt()
        values = {"gradient_norm": norm.tolist(), "gradient_rms": rms.tolist()}
        shares = _shares(state, named) if biases else {}
    else:
        # With a row for each batch of all ranks, of which this one fills in its own.
        tokens = torch.zeros(batches, dtype=torch.float64)
        with evaluating(state.model), separated(state.model) as leaves, torch.enable_grad():
            selected = [(site, p) for site, p in leaves if biases or p.dim() > 1]
            _require_matrices(selected, leaves)
            sites, parameters = zip(*selected, strict=True)
            sums = [accumulator(p) for p in parameters]
            norms = torch.zeros(batches, len(parameters), dtype=torch.float64)
            for k, batch in zip(state.ranks.positions(batches), state.batches(batches, split), strict=True):
                loss, count = state.task.loss(state.model, batch)
                parts = gradients_of(loss, parameters)
                torch._foreach_add_(sums, parts)
                norms[k] = frobenius_norms(parts)
                tokens[k] = count
                del loss, parts  # so that the next batch gets their memory and not fresh pages
            norms, tokens, *sums = state.ranks.sum(norms, tokens, *sums)
            names = {id(p): name for name, _, p in addressed(state.model)}
            shares = _shares(state, {names[id(p)]: s for p, s in zip(parameters, sums, strict=True)}) if biases else {}
        elements = torch.tensor([p.numel() for p in parameters], dtype=torch.float64)
        values = norms_and_noise(frobenius_norms(sums), norms, tokens, elements)
    for i, site in enumerate(sites):
        if shares.get(site) != 1.0:
            for quantity, value in values.items():
                yield {"quantity": quantity, **site.row(), "value": value[i]}
    for site, share in shares.items():
        yield {"quantity": _QUANTITIES[5], **site.row(), "value": share}


def _require_matrices(selected: Sequence[tuple[Site, Tensor]], trained: Collection[object]) -> None:
    """Refuse a model in which nothing is trained, and one without trained matrices, such as one of gates alone."""
    if not trained:
        what = "gradient_norm: no parameter of the model is trained, so none has a gradient"
        raise LabError(Issue("unsupported", "", what, "leave the probe out, or let some parameters require gradients"))
    if not selected:
        what = "gradient_norm: no matrix of the model is trained: its trained parameters are vectors or scalars"
        raise LabError(
            Issue("unsupported", "", what, "write {'kind': 'gradient_norm', 'biases': True} to measure these")
        )


def _shares(state: State, gradients: Mapping[str, Tensor]) -> dict[Site, float]:
    """Return the share of entries that are rounding noise, by the site of a bias or shift."""
    masks = noise_masks(state.model, {name: g.abs() for name, g in gradients.items()})
    return {site: mask.double().mean().item() for site, mask in values_by_site(state.model, masks)}


def frobenius_norms(gradients: Sequence[Tensor]) -> Tensor:
    """Return the Frobenius norm of each gradient: (sites,), float64 on the CPU."""
    # Norms of rows in float32 and of these in float64 are as accurate as float64 throughout (1e-8), and three times as
    # fast. But squares leave float32's range long before values do, so that extreme gradients are squared in float64.
    rows = [
        _norm(g, dim=-1, dtype=torch.promote_types(g.dtype, torch.float32)) if g.dim() else g.abs() for g in gradients
    ]
    norms = torch.stack([_norm(row, dtype=torch.float64) for row in rows]).cpu()
    if norms.min() > SAFE[0] and norms.max() < SAFE[1]:
        return norms
    return torch.stack([_norm(g, dtype=torch.float64) for g in gradients]).cpu()


def norms_and_noise(total: Tensor, norms: Tensor, n: Tensor, elements: Tensor) -> dict[str, list[float]]:
    """Return the quantities from ‖Σ n_b g_b‖ (sites), ‖n_b g_b‖ (batches, sites) and n_b (batches)."""
    norm = total / n.sum()
    quantities = {
        "gradient_norm": norm,
        "gradient_norm_mean": (norms / n[:, None]).mean(0),
        "gradient_rms": norm / elements.sqrt(),
    }
    if len(n) > 1:
        unbiased = (total.square() - norms.square().sum(0)) / (n.sum().square() - n.square().sum())
        quantities |= {"gradient_norm_unbiased_sq": unbiased, "gradient_noise_share": 1 - unbiased / norm.square()}
    return {quantity: values.tolist() for quantity, values in quantities.items()}
