"""``‖Δθ‖ / ‖θ‖``: the relative size of the last update of every parameter (You et al., 2017).

Equal learning rates are not equal steps where parametrizations differ. The ratio of update to weight compares them. It
is computed in float64 from differences in the model's own precision. An entry whose gradient is 0 up to rounding, such
as the bias of a key, is left out, as its moves are rounding noise (``rounding``).
"""

from collections.abc import Iterator

from lnlab.nn.sites import parameter_uses, values_by_site
from lnlab.probes.probe import State, probes
from lnlab.probes.rounding import last_noise_masks, resolved_entries, unresolved_shares
from lnlab.probes.support.known_sites import at_all_sites, parameter_sites
from lnlab.probes.support.training_state import last_update
from lnlab.tables import Row
from lnlab.vocabulary.parameters import UPDATE_SIZE

_QUANTITIES = tuple(UPDATE_SIZE)


@probes.register(
    "update_size",
    version=2,
    table="sites",
    passes=lambda _: 0.0,
    quantities=UPDATE_SIZE,
    sites=lambda model, _: {
        **at_all_sites(_QUANTITIES[:3], parameter_sites(model)),
        **at_all_sites(_QUANTITIES[3:], parameter_sites(model, vectors=True)),
    },
    trained=True,
    update=True,
    any_model=lambda _: True,
)
def update_size(state: State) -> Iterator[Row]:
    """``sqrt(E Δθ²), sqrt(E Δθ²)/lr, ‖Δθ‖/‖θ‖``: of the last update, at every parameter (You et al., 2017).

    θ is what it was before the update; a parameter that was 0 has no ratio, and a rate of 0 nothing over it. A tied
    table's whole update is at every use. ``update_unresolved_share`` is the share of a bias or shift that is left out,
    as its gradient is below its rounding noise; a parameter of such entries alone has nothing else.

    Raises:
        LabError: no update was made.
    """
    update, lr = last_update(state)
    weights = dict(parameter_uses(state.model))
    masks = last_noise_masks(state, lambda: update)
    moved = {name: (resolved_entries(delta, masks.get(name)), masks.get(name)) for name, delta in update.items()}
    for site, (delta, mask) in values_by_site(state.model, moved):
        if delta.numel():
            change = delta.double()
            before = (resolved_entries(weights[site].detach(), mask).double() - change).norm().item()
            rms = change.square().mean().sqrt().item()
            yield {"quantity": _QUANTITIES[0], **site.row(), "value": rms}
            if lr:
                yield {"quantity": _QUANTITIES[1], **site.row(), "value": rms / lr}
            if before:
                yield {"quantity": _QUANTITIES[2], **site.row(), "value": change.norm().item() / before}
    yield from unresolved_shares(_QUANTITIES[3], state.model, masks)
