"""``‖Δθ‖ / ‖θ‖``: how far the last update moved every parameter, against what it was (You et al., 2017).

Equal learning rates are not equal steps where parametrizations differ; the ratio of update to weight compares them. In
float64, of differences that were taken in the model's own precision.
"""

from collections.abc import Iterator

from torch import Tensor

from lnlab.nn.sites import parameters, placed
from lnlab.probes.probe import State, probes
from lnlab.probes.training import last_update
from lnlab.tables import Row

QUANTITIES = ("update_rms", "update_over_rate_rms", "update_to_weight")


@probes.register("update_size", table="sites", passes=lambda _: 0.0, quantities=QUANTITIES, trained=True, update=True)
def update_size(state: State) -> Iterator[Row]:
    """``sqrt(E Δθ²), sqrt(E Δθ²)/lr, ‖Δθ‖/‖θ‖``: of the last update, at every parameter (You et al., 2017).

    θ is what it was before the update; a parameter that was 0 has no ratio, and a rate of 0 nothing over it. A tied
    table's whole update is at every use.

    Raises:
        LabError: no update was made.
    """
    update, lr = last_update(state)
    weights = dict(parameters(state.model))
    for site, delta in placed(state.model, update):
        for quantity, value in _values(delta.double(), weights[site].detach().double(), lr).items():
            yield {"quantity": quantity, **site.row(), "value": value}


def _values(delta: Tensor, now: Tensor, lr: float) -> dict[str, float]:
    rms, before = delta.square().mean().sqrt().item(), (now - delta).norm().item()
    values = {QUANTITIES[0]: rms}
    if lr:
        values[QUANTITIES[1]] = rms / lr
    if before:
        values[QUANTITIES[2]] = delta.norm().item() / before
    return values
