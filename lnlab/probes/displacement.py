"""``‖θ_t - θ_0‖``: the distance of the parameters from their initial values (Nagarajan and Kolter, 2019).

States of two runs at the same step may be at very different distances from their start: over the first 100 of 4,000
steps of warm-up the sums of learning rates differ by a factor of 79. So states are compared at this distance as well as
at a step. The computation is in float64. Entries whose gradient is 0 up to rounding, such as the biases of keys, move
only by rounding noise and are left out (``rounding``).
"""

import math
from collections.abc import Iterator

from lnlab.nn.sites import values_by_site
from lnlab.probes.probe import State, probes
from lnlab.probes.rounding import last_noise_masks, resolved_entries, unresolved_shares
from lnlab.probes.support.known_sites import at_all_sites, of_the_model, parameter_sites
from lnlab.probes.support.training_state import initial
from lnlab.tables import Row
from lnlab.vocabulary.parameters import DISPLACEMENT

_QUANTITIES = tuple(DISPLACEMENT)


@probes.register(
    "displacement",
    version=2,
    table="sites",
    passes=lambda _: 0.0,
    quantities=DISPLACEMENT,
    sites=lambda model, _: {
        **at_all_sites(_QUANTITIES[:2], parameter_sites(model)),
        **of_the_model(_QUANTITIES[2:4]),
        **at_all_sites(_QUANTITIES[4:], parameter_sites(model, vectors=True)),
    },
    trained=True,
    initial=True,
    any_model=lambda _: True,
)
def displacement(state: State) -> Iterator[Row]:
    """``‖θ_t - θ_0‖, ‖θ_t - θ_0‖/‖θ_0‖``: distance from the initial parameters (Nagarajan and Kolter, 2019).

    Of every parameter at its site, and as ``total`` of all of them as one vector, a tied table once. A parameter that
    began at 0 has no relative distance. ``displacement_unresolved_share`` is the share of a bias or shift that is left
    out, as its gradients are below their rounding noise; a parameter of such entries alone has nothing else.

    Raises:
        LabError: the state does not know where it began.
    """
    start = initial(state)
    now = {name: p.detach() for name, p in state.model.named_parameters()}
    masks = last_noise_masks(state, lambda: {name: p - start[name] for name, p in now.items()})
    norms_by_name: dict[str, tuple[float, float]] = {}
    for name, p in now.items():
        moved, began = (resolved_entries(x, masks.get(name)).double() for x in (p, start[name]))
        if moved.numel():
            norms_by_name[name] = (moved - began).norm().item(), began.norm().item()
    for site, norms in values_by_site(state.model, norms_by_name):
        for quantity, value in zip(_QUANTITIES, _with_ratio(*norms), strict=False):
            yield {"quantity": quantity, **site.row(), "value": value}
    total = _with_ratio(*(math.hypot(*column) for column in zip(*norms_by_name.values(), strict=True)))
    for quantity, value in zip(_QUANTITIES[2:4], total, strict=False):
        yield {"quantity": quantity, "value": value}
    yield from unresolved_shares(_QUANTITIES[4], state.model, masks)


def _with_ratio(moved: float, start: float) -> list[float]:
    return [moved, moved / start] if start else [moved]
