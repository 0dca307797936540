"""``lr / width``: the rates of the maximal update parametrization, whose best rate does not depend on the width."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn
from torch.optim import Optimizer

from lnlab.interventions.intervention import interventions
from lnlab.interventions.updates import require_optimizer, scaled_rates
from lnlab.nn.mup import BaseWidth, rate_factors
from lnlab.nn.sites import parameter_uses


@interventions.register("mup_rates", acts_on="update")
@contextmanager
def mup_rates(model: nn.Module, optimizer: Optimizer | None, *, base_width: BaseWidth = 64) -> Iterator[None]:
    """``lr base_width / width``: Adam at matrices and output, its root at embeddings (Yang et al., 2022, Table 3).

    Vectors keep the common rate. The embedding's share is the root, as it is multiplied by √width.
    """
    factors = rate_factors(model, base_width)
    uses = dict(parameter_uses(model))
    with scaled_rates(require_optimizer(optimizer), {uses[site]: factor for site, factor in factors.items()}):
        yield
