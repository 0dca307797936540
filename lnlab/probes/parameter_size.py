"""``‖p‖, sqrt(mean p²), mean p, max |p|``: the size of every parameter, and so the effect of an init or a gate.

A parameter is measured wherever it is used, so that a table that serves an embedding and the output has two sites. The
computation is in float64.
"""

from collections.abc import Iterator

from lnlab.nn.sites import parameter_uses
from lnlab.probes.probe import State, probes
from lnlab.probes.support.known_sites import at_all_sites, parameter_sites
from lnlab.tables import Row
from lnlab.vocabulary.parameters import PARAMETER_SIZE

_QUANTITIES = tuple(PARAMETER_SIZE)


@probes.register(
    "parameter_size",
    table="sites",
    passes=lambda _: 0.0,
    quantities=PARAMETER_SIZE,
    sites=lambda model, _: at_all_sites(_QUANTITIES, parameter_sites(model)),
    any_model=lambda _: True,
    on_ranks=True,
)
def parameter_size(state: State) -> Iterator[Row]:
    """``‖p‖, sqrt(E p²), E p, max |p|``: of every matrix, table, bias, scale and gate (Glorot and Bengio, 2010).

    ``parameter_norm`` is the Frobenius norm, and ``parameter_max`` the largest absolute value.
    """
    for site, parameter in parameter_uses(state.model):
        p = parameter.detach().double()
        values = (p.norm(), p.square().mean().sqrt(), p.mean(), p.abs().max())
        for quantity, value in zip(_QUANTITIES, values, strict=True):
            yield {"quantity": quantity, **site.row(), "value": value.item()}
