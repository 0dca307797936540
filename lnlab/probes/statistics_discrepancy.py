"""``E|μ_run - μ_batch| / σ_batch`` and ``E|σ_run / σ_batch - 1|``: batch norm in training against evaluation.

In training a batch norm uses mean and variance of the batch, in evaluation its running ones. Where the statistics of
batches vary, such as those of sentences of all lengths, the two are different functions (Wang et al., 2022). σ is the
divisor of the norm, sqrt(var + ε), and both expectations are over batches and coordinates. Each norm has its input as
in training, where the norms before it use the batch's statistics, too.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import sqrt
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from lnlab.nn.batch_norm import BatchNorm
from lnlab.nn.modes import in_mode
from lnlab.nn.pooled import masked_moments
from lnlab.nn.sites import Site
from lnlab.probes.norm_jacobian import norm_modules
from lnlab.probes.probe import State, evaluating, probes
from lnlab.probes.support.known_sites import at_all_sites, of_the_model
from lnlab.tables import Row
from lnlab.vocabulary.norms import STATISTICS_DISCREPANCY

_QUANTITIES = tuple(STATISTICS_DISCREPANCY)


@probes.register(
    "statistics_discrepancy",
    table="sites",
    passes=lambda choice: 2.0 * choice["batches"],
    quantities=STATISTICS_DISCREPANCY,
    sites=lambda model, _: {
        **at_all_sites(_QUANTITIES[:2], [site for site, norm in norm_modules(model) if isinstance(norm, BatchNorm)]),
        **of_the_model(_QUANTITIES[2:]),
    },
    trained=True,
)
@torch.no_grad()
def statistics_discrepancy(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 8,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``E|μ_run - μ_batch|/σ_batch, E|σ_run/σ_batch - 1|``: training-inference discrepancy (Wang et al., 2022).

    ``mean_discrepancy`` and ``variance_discrepancy`` stand at the scale of each batch norm; other norms have none.
    ``output_discrepancy`` is the model's: ``‖F_run - F_batch‖ / ‖F_batch‖`` of its logits, 0 without batch norms.
    Dropout is off.
    """
    by_site: dict[Site, list[Tensor]] = {}
    moved = size = 0.0
    for batch in state.batches(batches, split):
        with evaluating(state.model), _record_discrepancies(state.model, by_site):
            trained = state.model(batch).double()
        with in_mode(state.model, training=False, remembered=True):
            moved += (state.model(batch).double() - trained).square().sum().item()
        size += trained.square().sum().item()
    for site, values in by_site.items():
        for quantity, value in zip(_QUANTITIES, torch.stack(values).mean(0).tolist(), strict=False):
            yield {"quantity": quantity, **site.row(), "value": value}
    yield {"quantity": _QUANTITIES[2], "value": sqrt(moved / size) if size else 0.0}


@contextmanager
def _record_discrepancies(model: nn.Module, by_site: dict[Site, list[Tensor]]) -> Iterator[None]:
    """Make each batch norm append both discrepancies of its input to those of its site inside the block."""
    with ExitStack() as hooks:
        for site, norm in norm_modules(model):
            if isinstance(norm, BatchNorm):
                record = lambda n, x, site=site: by_site.setdefault(site, []).append(discrepancies(n, x[0]))  # noqa: E731
                hooks.callback(norm.register_forward_pre_hook(record).remove)
        yield


def discrepancies(norm: BatchNorm, x: Tensor) -> Tensor:
    """Both discrepancies of a batch (batch, length, width) from the running mean and variance: (2,), float64.

    Padding is left out, or counted, as in the norm.
    """
    mean, variance, _ = masked_moments(x.double(), None if norm.naive else norm.present, (0, 1))
    batch, remembered = ((v.double() + norm.eps).sqrt() for v in (variance, norm.running_var))
    return torch.stack((((norm.running_mean - mean) / batch).abs().mean(), (remembered / batch - 1).abs().mean()))
