"""``1/(sqrt(v̂) + ε)`` and ``|m̂|/sqrt(v̂)``: Adam's scale of the gradient at every entry (Kingma and Ba, 2015).

With the moments m and v after t updates, m̂ = m/(1 - β1^t) and v̂ = v/(1 - β2^t). Entries move by the product of the
rate, m̂ and 1/(sqrt(v̂) + ε). |m̂|/sqrt(v̂) is the size of that step in units of the rate: 1 at the first update, and
0.155 in the median (0.229 in root mean square) for β1 = 0.9 and gradients that are independent noise. Entries whose
gradient is 0 up to rounding, such as the biases of keys, are left out, as both numbers would be rounding noise
(``rounding``).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from lnlab.curvature.preconditioned import second_moment
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.nn.sites import values_by_site
from lnlab.probes.probe import State, probes
from lnlab.probes.rounding import noise_masks, resolved_entries, unresolved_shares
from lnlab.probes.support.known_sites import at_all_sites, of_the_model, parameter_sites
from lnlab.probes.support.training_state import require
from lnlab.tables import Row
from lnlab.vocabulary.adam_moments import ADAPTIVE_RATE

_QUANTITIES = tuple(ADAPTIVE_RATE)
_NEAR = 10
"""An entry is near ε where sqrt(v̂) is below 10 ε."""


@probes.register(
    "adaptive_rate",
    version=2,
    table="sites",
    passes=lambda _: 0.0,
    quantities=ADAPTIVE_RATE,
    sites=lambda model, _: {
        **at_all_sites(_QUANTITIES[:5], parameter_sites(model)),
        **of_the_model(_QUANTITIES[5:6]),
        **at_all_sites(_QUANTITIES[6:], parameter_sites(model, vectors=True)),
    },
    trained=True,
    any_model=lambda _: True,
)
def adaptive_rate(state: State) -> Iterator[Row]:
    """``1/(sqrt(v̂) + ε), |m̂|/sqrt(v̂)``: Adam's rate of each entry, in units of the rate (Kingma and Ba, 2015).

    Of the entries of every parameter: median, smallest and largest rate; ``near_epsilon_share``, of those with sqrt(v̂)
    below 10 ε, where Adam is no longer indifferent to the scale of the loss; ``moment_ratio``, the median of
    |m̂|/sqrt(v̂) where v̂ is not 0, and ``total_moment_ratio``, of all matrices and tables together. Medians are the
    lower of two; an optimizer without m, schedule-free AdamW, has no ratios. The moments are those that the last update
    used, their bias corrected for all updates made. ``adaptive_rate_unresolved_share`` is the share of a bias or shift
    that is left out, as its gradient is below its rounding noise; a parameter of such entries alone has nothing else.

    Raises:
        LabError: the optimizer has no second moments.
    """
    by_name = _moments(state)
    masks = noise_masks(state.model, {name: moments.root for name, moments in by_name.items()})
    for site, moments in values_by_site(state.model, {name: m.without(masks.get(name)) for name, m in by_name.items()}):
        if not moments.root.numel():
            continue
        rates = 1 / (moments.root + moments.eps)
        near = (moments.root < _NEAR * moments.eps).double().mean()
        values = [rates.median(), rates.min(), rates.max(), near]
        values += [moments.ratios.median()] if len(moments.ratios) else []  # none where no entry has had a gradient
        for quantity, value in zip(_QUANTITIES, values, strict=False):
            yield {"quantity": quantity, **site.row(), "value": value.item()}
    ratios = torch.cat([moments.ratios for moments in by_name.values() if moments.root.dim() > 1])
    if len(ratios):
        yield {"quantity": _QUANTITIES[5], "value": ratios.median().item()}
    yield from unresolved_shares(_QUANTITIES[6], state.model, masks)


@dataclass(frozen=True)
class Moments:
    """The moments of one parameter: m̂, if the optimizer has it, and sqrt(v̂) of its entries, and ε."""

    mean: Tensor | None
    root: Tensor
    eps: float

    @cached_property
    def ratios(self) -> Tensor:
        """|m̂|/sqrt(v̂) of the entries that have had a gradient: (entries,)."""
        if self.mean is None:
            return self.root.new_zeros(0)
        seen = self.root > 0
        return self.mean[seen].abs() / self.root[seen]

    def without(self, mask: Tensor | None) -> "Moments":
        """The moments of the entries that the mask leaves."""
        mean = None if self.mean is None else resolved_entries(self.mean, mask)
        return Moments(mean, resolved_entries(self.root, mask), self.eps)


def _moments(state: State) -> dict[str, Moments]:
    """Return the moments of every parameter that has been updated, by name."""
    optimizer = require(state.optimizer, "an optimizer")
    names = {id(p): name for name, p in state.model.named_parameters()}
    by_name = {}
    for group in optimizer.param_groups:
        for p in group["params"]:
            memory = optimizer.state.get(p, {})
            v = second_moment(memory, group)
            if v is None or id(p) not in names:
                continue
            mean = None  # schedule-free AdamW has no first moment
            if "exp_avg" in memory:
                mean = memory["exp_avg"] / (1 - group["betas"][0] ** float(memory["step"]))
            # In place, as `second_moment` has divided: this v is not the optimizer's.
            by_name[names[id(p)]] = Moments(mean, v.sqrt_(), group["eps"])
    if not by_name:
        what = f"adaptive_rate needs second moments, and the optimizer {type(optimizer).__name__} has none"
        raise LabError(Issue("unsupported", "", what, "measure it with an optimizer of Adam's family, after an update"))
    return by_name
